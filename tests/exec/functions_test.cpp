// Functions of single values in the interpreter against their plain meaning, row by row: with and without statistics,
// errors raised for the rows that count and no others; and the edges of each by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "exec/calendar.h"
#include "exec/expression_values.h"
#include "exec/scalar.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

std::string show(const Value& value) {
  if (value.null) return "NULL";
  if (is_float(value.type)) return std::to_string(value.real);
  if (value.type == Physical::kBytes) return "'" + value.bytes + "'";
  return format_value(Value::of_integer(Physical::kI128, value.integer), {TypeKind::kInt128});
}

bool same_value(const Value& a, const Value& b) {
  if (a.null || b.null) return a.null == b.null;
  if (is_float(a.type)) return (std::isnan(a.real) && std::isnan(b.real)) || a.real == b.real;
  return a.integer == b.integer && a.bytes == b.bytes;
}

// How many rows raise an error.
uint64_t expect_plain_meaning(const Expr& expr, const std::vector<const Column*>& columns) {
  SCOPED_TRACE(to_string(expr, {}));
  std::vector<Value> expected;
  std::vector<uint8_t> quiet;
  for (uint64_t row = 0; row < columns[0]->length; ++row) {
    try {
      expected.push_back(evaluate_row(expr, columns, row));
      quiet.push_back(1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
      expected.push_back(Value::of_null(expr.type));
      quiet.push_back(0);
    }
  }
  const auto raising = static_cast<uint64_t>(std::count(quiet.begin(), quiet.end(), 0));
  for (const bool statistics : {false, true}) {
    const std::vector<Value> got = values_of(expr, columns, statistics, quiet);
    for (size_t row = 0; row < got.size(); ++row) {
      if (quiet[row] != 0 && !same_value(got[row], expected[row])) {
        ADD_FAILURE() << "row " << row << ": " << show(got[row]) << " instead of " << show(expected[row]);
        return raising;
      }
    }
    if (raising > 0) {
      EXPECT_THROW(values_of(expr, columns, statistics), Error);
    }
  }
  return raising;
}

// A number of the column's type made of it and others of its type.
Expr random_number(Random& random, const std::vector<const Column*>& columns, uint32_t index, int depth) {
  const Physical type = physical_of(columns[index]->type);
  const auto operand = [&]() -> Expr {
    if (depth > 0 && below(random, 2) == 0) return random_number(random, columns, index, depth - 1);
    if (below(random, 4) == 0) {
      if (is_float(type)) return real_expr(type, static_cast<float>(below(random, 2000)) / 8.0F - 100);
      const Value value = value_at(*columns[index], below(random, columns[index]->length));
      return value.null ? null_expr(type) : integer_expr(type, value.integer);
    }
    uint32_t other = index;
    for (uint32_t c = 0; c < columns.size(); ++c) {
      if (physical_of(columns[c]->type) == type && below(random, 2) == 0) other = c;
    }
    return column_expr(other, type);
  };
  switch (below(random, 9)) {
    case 0: return make_expr(ExprOp::kIntegerDivide, type, {operand(), operand()});
    case 1: return make_expr(ExprOp::kModulo, type, {operand(), operand()});
    case 2: return make_expr(ExprOp::kAbs, type, {operand()});
    case 3: return make_expr(ExprOp::kGreatest, type, {operand(), operand(), operand()});
    case 4: return make_expr(ExprOp::kLeast, type, {operand(), operand()});
    case 5:
    case 6: {
      const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::kRound) + static_cast<int>(below(random, 4)));
      Expr rounded = make_expr(op, type, {operand()});
      if (is_integer(type)) rounded.power_of_ten = static_cast<int32_t>(1 + below(random, 4));
      if (is_float(type) && op == ExprOp::kRound) rounded.power_of_ten = static_cast<int32_t>(below(random, 7)) - 3;
      return rounded;
    }
    case 7: return make_expr(ExprOp::kNegate, type, {operand()});
    default: {
      if (is_float(type)) return make_expr(ExprOp::kDivide, type, {operand(), operand()});
      const Expr condition = make_expr(ExprOp::kLess, Physical::kU8, {operand(), operand()});
      return make_expr(ExprOp::kCase, type, {condition, operand(), operand()});
    }
  }
}

TEST(Functions, OfNumbersEqualTheirPlainMeaning) {
  Random random(31);
  uint64_t raised = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<Column> columns;
    const uint64_t rows = 1 + below(random, 700);
    for (const DataType& type : all_types()) {
      for (int copy = 0; copy < 2; ++copy) columns.push_back(random_column(random, type, rows));
    }
    std::vector<const Column*> pointers;
    for (const Column& column : columns) pointers.push_back(&column);
    for (uint32_t index = 0; index < columns.size(); ++index) {
      const Physical type = physical_of(columns[index].type);
      if (type == Physical::kBytes) continue;
      raised += expect_plain_meaning(random_number(random, pointers, index, 2), pointers);
      const Expr sign = make_expr(ExprOp::kSign, Physical::kI8, {random_number(random, pointers, index, 0)});
      raised += expect_plain_meaning(sign, pointers);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(raised, 0u);
}

TEST(Functions, OfBitsAndDoublesEqualTheirPlainMeaning) {
  Random random(35);
  uint64_t raised = 0;
  for (int round = 0; round < 40; ++round) {
    const uint64_t rows = 1 + below(random, 300);
    for (const DataType& of : all_types()) {
      const Physical type = physical_of(of);
      const Column a = random_column(random, of, rows);
      const Column b = random_column(random, of, rows);
      const Expr x = column_expr(0, type);
      const Expr y = column_expr(1, type);
      if (is_integer(type)) {
        const Expr few = integer_expr(type, static_cast<int64_t>(below(random, width_of(type) * 8)));
        for (const ExprOp op : {ExprOp::kBitAnd, ExprOp::kBitOr, ExprOp::kBitXor, ExprOp::kShiftRight}) {
          raised += expect_plain_meaning(make_expr(op, type, {x, below(random, 3) == 0 ? few : y}), {&a, &b});
        }
        raised += expect_plain_meaning(make_expr(ExprOp::kShiftLeft, type, {x, few}), {&a, &b});
      } else if (type == Physical::kF64) {
        for (const ExprOp op :
             {ExprOp::kSquareRoot, ExprOp::kExp, ExprOp::kLn, ExprOp::kLog2, ExprOp::kLog10, ExprOp::kPower}) {
          Expr expr = make_expr(op, type, {x});
          if (op == ExprOp::kPower) expr.args.push_back(y);
          raised += expect_plain_meaning(expr, {&a, &b});
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(raised, 0u);
}

// By hand, as DuckDB has them.
TEST(Functions, WholePartsLieBetweenMoments) {
  const auto moment = [](int year, int month, int day, int hour) {
    return exec::days_from_civil(year, month, day) * exec::kMicrosPerDay + hour * exec::kMicrosPerHour;
  };
  const Column starts = make_fixed<int64_t>(
      {TypeKind::kTimestamp},
      {moment(2020, 1, 31, 10), moment(2020, 3, 31, 10), moment(2020, 1, 31, 8), INT64_MAX, moment(1999, 2, 28, 0)});
  const Expr end = integer_expr(Physical::kI64, moment(2020, 2, 29, 9));
  const auto between = [&](exec::DatePart part) {
    const Expr number = integer_expr(Physical::kI64, static_cast<int64_t>(part));
    std::vector<std::string> out;
    const Expr expr = make_expr(ExprOp::kDateSub, Physical::kI64, {column_expr(0, Physical::kI64), end, number});
    for (const Value& value : values_of(expr, {&starts}, true)) out.push_back(show(value));
    return out;
  };
  using Shown = std::vector<std::string>;
  EXPECT_EQ(between(exec::DatePart::kMonth), (Shown{"0", "-1", "1", "NULL", "252"}));
  EXPECT_EQ(between(exec::DatePart::kYear), (Shown{"0", "0", "0", "NULL", "21"}));
  EXPECT_EQ(between(exec::DatePart::kDay), (Shown{"28", "-31", "29", "NULL", "7671"}));
  EXPECT_EQ(between(exec::DatePart::kWeek), (Shown{"4", "-4", "4", "NULL", "1095"}));
}

TEST(Functions, CastsEqualTheirPlainMeaning) {
  Random random(32);
  uint64_t raised = 0;
  for (int round = 0; round < 60; ++round) {
    for (const DataType& from : all_types()) {
      const Physical source = physical_of(from);
      if (source == Physical::kBytes) continue;
      const Column column = random_column(random, from, 1 + below(random, 300));
      const DataType to = all_types()[below(random, all_types().size())];
      const Physical target = physical_of(to);
      if (target == Physical::kBytes) continue;
      Expr cast = make_expr(below(random, 3) == 0 ? ExprOp::kTryCast : ExprOp::kCast, target, {column_expr(0, source)});
      const int32_t before = from.kind == TypeKind::kDecimal ? from.scale : 0;
      int32_t after = 0;
      if (to.kind == TypeKind::kDecimal) {
        after = static_cast<int32_t>(below(random, to.precision));
        cast.limit = exec::power_of_ten(to.precision) - 1;
      }
      cast.power_of_ten = is_float(source) ? after : is_float(target) ? before : after - before;
      raised += expect_plain_meaning(cast, {&column});
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(raised, 0u);
}

// Dates or moments of a few thousand years, some infinite, some NULL.
Column random_moments(Random& random, const DataType& type, uint64_t rows) {
  const bool is_date = type.kind == TypeKind::kDate;
  const int64_t years = 1 + static_cast<int64_t>(below(random, 3) == 0 ? below(random, 9000) : below(random, 9));
  const bool infinite = below(random, 3) == 0;
  std::vector<int64_t> moments;
  std::vector<int32_t> dates;
  for (uint64_t i = 0; i < rows; ++i) {
    const int64_t days = static_cast<int64_t>(below(random, static_cast<uint64_t>(years) * 366)) - years * 180;
    const int64_t end = below(random, 2) == 0 ? 1 : -1;
    const bool ends = infinite && below(random, 20) == 0;
    dates.push_back(static_cast<int32_t>(ends ? end * INT32_MAX : days));
    moments.push_back(ends ? end * INT64_MAX
                           : days * exec::kMicrosPerDay + static_cast<int64_t>(below(random, 86400000000)));
  }
  Column column = is_date ? make_fixed(type, dates) : make_fixed(type, moments);
  std::vector<uint64_t> nulls;
  for (uint64_t i = 0; i < rows && below(random, 30) != 0; i += 7) nulls.push_back(i);
  if (below(random, 2) == 0) set_nulls(column, nulls);
  return column;
}

Expr part_expr(Random& random) {
  return integer_expr(Physical::kI64, static_cast<int64_t>(below(random, exec::kDateParts)));
}

Expr random_date_function(Random& random, Physical type) {
  const Expr a = column_expr(0, type);
  const auto number = [&](int64_t most) {
    return integer_expr(Physical::kI64, static_cast<int64_t>(below(random, static_cast<uint64_t>(2 * most))) - most);
  };
  switch (below(random, 7)) {
    case 0: return make_expr(ExprOp::kDateTrunc, Physical::kI64, {a, part_expr(random)});
    case 1: return make_expr(ExprOp::kDateDiff, Physical::kI64, {a, column_expr(1, type), part_expr(random)});
    case 2: {
      std::vector<Expr> args{a, number(100), number(1000), number(200000000000)};
      if (below(random, 2) == 0) {
        const Expr of_year = integer_expr(Physical::kI64, static_cast<int64_t>(exec::DatePart::kDayOfYear));
        args.push_back(make_expr(ExprOp::kDatePart, Physical::kI64, {column_expr(1, type), of_year}));
      }
      return make_expr(ExprOp::kAddInterval, Physical::kI64, std::move(args));
    }
    case 3: return make_expr(ExprOp::kEpoch, Physical::kF64, {a});
    case 4:
      if (type == Physical::kI64) return make_expr(ExprOp::kMomentToDate, Physical::kI32, {a});
      return make_expr(ExprOp::kAddDays, Physical::kI32, {a, number(5000)});
    default: return make_expr(ExprOp::kDatePart, Physical::kI64, {a, part_expr(random)});
  }
}

TEST(Functions, OfDatesEqualTheStandardCalendar) {
  Random random(33);
  for (int round = 0; round < 300; ++round) {
    const DataType type{round % 2 == 0 ? TypeKind::kDate : TypeKind::kTimestamp};
    const uint64_t rows = 1 + below(random, 300);
    const Column a = random_moments(random, type, rows);
    const Column b = random_moments(random, type, rows);
    expect_plain_meaning(random_date_function(random, physical_of(type)), {&a, &b});
    if (HasFailure()) return;
  }
}

Expr random_text_function(Random& random) {
  static const char* const kTexts[] = {"a", "", "b", "AIR", "1", "\xF4\x8F\xBF\xBF", "ab"};
  const auto text = [&]() -> Expr {
    switch (below(random, 4)) {
      case 0: return bytes_expr(kTexts[below(random, std::size(kTexts))]);
      case 1: return column_expr(1, Physical::kBytes);
      default: return column_expr(0, Physical::kBytes);
    }
  };
  const auto number = [&](uint64_t end) {
    return integer_expr(Physical::kI64, static_cast<int64_t>(below(random, end)));
  };
  const auto filling = [&] { return bytes_expr(below(random, 2) == 0 ? "-\xC3\xA4+" : "a"); };
  switch (below(random, 10)) {
    case 5: return make_expr(ExprOp::kDropSuffix, Physical::kBytes, {text(), number(9)});
    case 6:
      return make_expr(below(random, 2) == 0 ? ExprOp::kLeftPad : ExprOp::kRightPad, Physical::kBytes,
                       {text(), number(20), filling()});
    case 7: return make_expr(ExprOp::kRepeat, Physical::kBytes, {text(), number(4)});
    case 8: {
      const auto piece = static_cast<int64_t>(below(random, 9)) - 4;
      return make_expr(ExprOp::kSplitPart, Physical::kBytes, {text(), filling(), integer_expr(Physical::kI64, piece)});
    }
    case 9: return make_expr(ExprOp::kCodePoint, Physical::kI64, {text()});
    case 0: return make_expr(ExprOp::kSuffix, Physical::kBytes, {text(), number(9)});
    case 1: return make_expr(ExprOp::kConcat, Physical::kBytes, {text(), text(), text()});
    case 2:
      return make_expr(ExprOp::kTrim, Physical::kBytes,
                       {text(),
                        bytes_expr(below(random, 2) == 0 ? "abR1"
                                                         : "\xF4\x8F\xBF\xBF"
                                                           "2"),
                        number(4)});
    case 3: return make_expr(ExprOp::kPosition, Physical::kI64, {text(), text()});
    default: return make_expr(ExprOp::kReplace, Physical::kBytes, {text(), text(), text()});
  }
}

TEST(Functions, OfStringsEqualTheirPlainMeaning) {
  Random random(34);
  for (int round = 0; round < 200; ++round) {
    const uint64_t rows = 1 + below(random, 100);
    const Column a = random_column(random, {TypeKind::kUtf8}, rows);
    const Column b = random_column(random, {TypeKind::kUtf8}, rows);
    Expr expr = random_text_function(random);
    if (expr.type == Physical::kBytes && below(random, 3) == 0) {
      expr = make_expr(ExprOp::kConcat, Physical::kBytes, {expr, random_text_function(random)});
      if (expr.args[1].type != Physical::kBytes) expr.args.pop_back();
    }
    expect_plain_meaning(expr, {&a, &b});
    if (HasFailure()) return;
  }
}

std::vector<std::string> shown(const Expr& expr, const Column& column) {
  std::vector<std::string> out;
  for (const Value& value : values_of(expr, {&column}, true)) out.push_back(show(value));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Functions, LeastIntegersHaveNoQuotientByMinusOne) {
  const Column column = make_fixed<int8_t>({TypeKind::kInt8}, {-128});
  const Expr divided = make_expr(ExprOp::kIntegerDivide, Physical::kI8,
                                 {column_expr(0, Physical::kI8), integer_expr(Physical::kI8, -1)});
  try {
    values_of(divided, {&column}, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Overflow in division of -128 / -1");
  }
  try {
    values_of(make_expr(ExprOp::kAbs, Physical::kI8, {column_expr(0, Physical::kI8)}), {&column}, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Overflow on abs(-128)");
  }
}

std::string error_of(const Expr& expr, const Column& column) {
  try {
    values_of(expr, {&column}, true);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Functions, CastsFailInTheWordsOfDuckDB) {
  const Column whole = make_fixed<int32_t>({TypeKind::kInt32}, {300});
  Expr cast = make_expr(ExprOp::kCast, Physical::kI8, {column_expr(0, Physical::kI32)});
  EXPECT_EQ(error_of(cast, whole),
            "Type INT32 with value 300 can't be cast because the value is out of range for the destination type INT8");
  cast.type = Physical::kI16;
  cast.limit = 99;
  EXPECT_EQ(error_of(cast, whole), "Could not cast value 300 to DECIMAL(2,0)");
  cast.from_scale = 1;
  cast.power_of_ten = -1;
  cast.limit = 9;
  EXPECT_EQ(error_of(cast, whole), "Casting value \"30.0\" to type DECIMAL(1,0) failed: value is out of range!");
  cast.type = Physical::kU8;
  cast.limit = 0;
  const Column negative = make_fixed<int32_t>({TypeKind::kInt32}, {-157});
  EXPECT_EQ(error_of(cast, negative), "Failed to cast decimal value -16 to type UINT8");
  const Column real = make_fixed<double>({TypeKind::kFloat64}, {300.7});
  cast = make_expr(ExprOp::kCast, Physical::kI8, {column_expr(0, Physical::kF64)});
  EXPECT_EQ(error_of(cast, real),
            "Type DOUBLE with value 300.7 can't be cast because the value is out of range for the destination type "
            "INT8");
  cast.type = Physical::kI16;
  cast.limit = 999;
  cast.power_of_ten = 2;
  EXPECT_EQ(error_of(cast, real), "Could not cast value 300.700000 to DECIMAL(3,2)");
}

TEST(Functions, FloatsRoundHalvesToEvenAndWrapAtTheEnd) {
  const Column reals = make_fixed<double>({TypeKind::kFloat64}, {0.5, 1.5, 2.5, -0.5, -1.5, 127.4, 127.5});
  const Expr cast = make_expr(ExprOp::kCast, Physical::kI8, {column_expr(0, Physical::kF64)});
  EXPECT_EQ(shown(cast, reals), (Texts{"0", "2", "2", "0", "-2", "127", "-128"}));
}

TEST(Functions, MomentsBeyondTheirRangeAreErrors) {
  const Column days = make_fixed<int32_t>({TypeKind::kDate}, {2000000 * 365});
  Expr moment = make_expr(ExprOp::kDateToMoment, Physical::kI64, {column_expr(0, Physical::kI32)});
  moment.factor = exec::kMicrosPerDay;
  EXPECT_EQ(error_of(moment, days), "Type INT32 with value 2000642-02-12 can't be cast to the destination type INT64");
  const Expr month = integer_expr(Physical::kI64, static_cast<int64_t>(exec::DatePart::kMonth));
  EXPECT_EQ(error_of(make_expr(ExprOp::kDateTrunc, Physical::kI64, {column_expr(0, Physical::kI32), month}), days),
            "Date and time not in timestamp range");
  const Column last = make_fixed<int32_t>({TypeKind::kDate}, {INT32_MAX - 1});
  const Expr one = integer_expr(Physical::kI64, 1);
  EXPECT_EQ(error_of(make_expr(ExprOp::kAddDays, Physical::kI32, {column_expr(0, Physical::kI32), one}), last),
            "Date out of range");
}

TEST(Functions, UnitsOfTimeRoundAndTruncate) {
  const Column moments =
      make_fixed<int64_t>({TypeKind::kTimestamp}, {-1500000, -1400000, 1500000, INT64_MAX, -INT64_MAX});
  Expr change = make_expr(ExprOp::kRescaleMoment, Physical::kI64, {column_expr(0, Physical::kI64)});
  change.power_of_ten = -6;
  EXPECT_EQ(shown(change, moments), (Texts{"-2", "-1", "2", "9223372036854775807", "-9223372036854775807"}));
  change.op = ExprOp::kTruncateMoment;
  change.power_of_ten = 6;
  EXPECT_EQ(shown(change, moments), (Texts{"-1", "-1", "1", "9223372036854775807", "-9223372036854775807"}));
}

TEST(Functions, HalvesGoAwayFromZero) {
  const Column decimals = make_fixed<int32_t>({TypeKind::kDecimal, 9, 2}, {250, 249, -250, -249, 150, -50, 0, 49});
  Expr expr = make_expr(ExprOp::kRound, Physical::kI32, {column_expr(0, Physical::kI32)});
  expr.power_of_ten = 2;
  EXPECT_EQ(shown(expr, decimals), (Texts{"3", "2", "-3", "-2", "2", "-1", "0", "0"}));
  expr.op = ExprOp::kFloor;
  EXPECT_EQ(shown(expr, decimals), (Texts{"2", "2", "-3", "-3", "1", "-1", "0", "0"}));
  expr.op = ExprOp::kCeil;
  EXPECT_EQ(shown(expr, decimals), (Texts{"3", "3", "-2", "-2", "2", "0", "0", "1"}));
}

TEST(Functions, UnsignedNegationWrapsAround) {
  const Column column = make_fixed<uint8_t>({TypeKind::kUInt8}, {5, 0, 255});
  EXPECT_EQ(shown(make_expr(ExprOp::kNegate, Physical::kU8, {column_expr(0, Physical::kU8)}), column),
            (Texts{"251", "0", "1"}));
}

TEST(Functions, GreatestSkipsNullAndTakesNaN) {
  Column column = make_fixed<double>({TypeKind::kFloat64}, {1, std::numeric_limits<double>::quiet_NaN(), 7, 0});
  set_nulls(column, {3});
  const Expr five = real_expr(Physical::kF64, 5);
  const Expr value = column_expr(0, Physical::kF64);
  EXPECT_EQ(shown(make_expr(ExprOp::kGreatest, Physical::kF64, {value, five}), column),
            (Texts{"5.000000", "nan", "7.000000", "5.000000"}));
  EXPECT_EQ(shown(make_expr(ExprOp::kLeast, Physical::kF64, {value, null_expr(Physical::kF64)}), column),
            (Texts{"1.000000", "nan", "7.000000", "NULL"}));
}

TEST(Functions, ErrorsOfBranchesNotTakenAreNotRaised) {
  const Column column = make_fixed<int32_t>({TypeKind::kInt32}, {1, 2147483647, 3});
  const Expr value = column_expr(0, Physical::kI32);
  const Expr more = make_expr(ExprOp::kAdd, Physical::kI32, {value, integer_expr(Physical::kI32, 1)});
  const Expr small = make_expr(ExprOp::kLess, Physical::kU8, {value, integer_expr(Physical::kI32, 100)});
  EXPECT_EQ(shown(make_expr(ExprOp::kCase, Physical::kI32, {small, more, value}), column),
            (Texts{"2", "2147483647", "4"}));
  EXPECT_THROW(shown(make_expr(ExprOp::kCase, Physical::kI32, {small, value, more}), column), Error);
  EXPECT_EQ(shown(make_expr(ExprOp::kCoalesce, Physical::kI32, {value, more}), column),
            (Texts{"1", "2147483647", "3"}));
  EXPECT_THROW(shown(make_expr(ExprOp::kGreatest, Physical::kI32, {value, more}), column), Error);
}

}  // namespace
}  // namespace basalt::test
