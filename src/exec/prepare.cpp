// Checking expressions and preparing them for a chunk: lanes, overflow proofs, sorted IN lists.
#include <algorithm>
#include <cmath>
#include <string>

#include "basalt/core/error.h"
#include "codec/strings/regexp.h"
#include "exec/calendar.h"
#include "exec/evaluate.h"
#include "exec/expr_kind.h"
#include "exec/scalar.h"
#include "exec/string_tests.h"

namespace basalt::exec {

namespace {

Lane lane_of_type(Physical type, const Bounds& bounds) {
  switch (type) {
    case Physical::kF32: return Lane::kF32;
    case Physical::kF64: return Lane::kF64;
    case Physical::kBytes: return Lane::kBytes;
    default: return lane_for({bounds.low.integer, bounds.high.integer});
  }
}

bool is_arithmetic(ExprOp op) {
  return op == ExprOp::kAdd || op == ExprOp::kSubtract || op == ExprOp::kMultiply || op == ExprOp::kNegate;
}

// Functions of numbers that compute in the lane of their result.
bool is_number_function(ExprOp op) {
  switch (op) {
    case ExprOp::kCast:
    case ExprOp::kTryCast:
    case ExprOp::kDivide:
    case ExprOp::kIntegerDivide:
    case ExprOp::kModulo:
    case ExprOp::kAbs:
    case ExprOp::kRound:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kTruncate: return true;
    default: return false;
  }
}

// Functions of dates that compute in 64 bits, whatever their results are.
bool makes_moments(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::kDateTrunc:
    case ExprOp::kDateDiff:
    case ExprOp::kDateSub:
    case ExprOp::kAddTime:
    case ExprOp::kMomentToTime:
    case ExprOp::kAddInterval:
    case ExprOp::kDateToMoment:
    case ExprOp::kRescaleMoment:
    case ExprOp::kTruncateMoment: return true;
    default: return false;
  }
}

bool is_choice(ExprOp op) {
  return op == ExprOp::kCase || op == ExprOp::kCoalesce || op == ExprOp::kGreatest || op == ExprOp::kLeast;
}
// Whether an argument of a choice is a value and not a condition.
bool is_chosen(const Expr& choice, size_t arg) {
  return choice.op != ExprOp::kCase || arg % 2 == 1 || arg + 1 == choice.args.size();
}

// An operation may throw by itself even if its arguments do not.
bool own_overflow(const Expr& expr, const StatisticsList& stats, const Bounds& bounds) {
  if (!bounds.may_throw || is_choice(expr.op) || expr.args.empty()) return false;
  // Arguments that throw have been clamped to their limits, so the proof is repeated with them as plain columns.
  Expr shallow = expr;
  std::vector<Statistics> known(expr.args.size());
  StatisticsList list;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    if (expr.args[i].op == ExprOp::kLiteral) {
      list.push_back(nullptr);
      continue;
    }
    const Bounds arg = bounds_of(expr.args[i], stats);
    known[i].rows = 1;
    known[i].min = arg.low;
    known[i].max = arg.high;
    Expr column;
    column.op = ExprOp::kColumn;
    column.type = expr.args[i].type;
    column.column = static_cast<uint32_t>(i);
    shallow.args[i] = column;
    list.push_back(&known[i]);
  }
  return bounds_of(shallow, list).may_throw;
}

void prepare_list(Step& step, const Expr& expr) {
  for (size_t i = 1; i < expr.args.size(); ++i) {
    const Value& item = expr.args[i].literal;
    if (item.null) continue;
    if (item.type == Physical::kBytes) {
      step.strings.push_back(item.bytes);
    } else if (is_float(item.type)) {
      step.reals.push_back(item.real);
    } else {
      step.integers.push_back(item.integer);
    }
  }
  std::sort(step.integers.begin(), step.integers.end());
  std::sort(step.strings.begin(), step.strings.end());
}

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, "expression: " + what); }

void check_arity(const Expr& expr, size_t least, size_t most) {
  if (expr.args.size() < least || expr.args.size() > most) {
    fail("an operation has " + std::to_string(expr.args.size()) + " arguments");
  }
}

void check_same_type(const Expr& expr, Physical type) {
  for (const Expr& arg : expr.args) {
    if (arg.type != type) {
      fail(std::string("arguments of different types, ") + words_for(arg.type) + " and " + words_for(type));
    }
  }
}

void check_number(const Expr& expr) {
  if (!is_integer(expr.type) && !is_float(expr.type)) fail("arithmetic on " + std::string(to_string(expr.type)));
}

void check_column(const Expr& expr, const std::vector<PipelineColumn>& columns) {
  check_arity(expr, 0, 0);
  if (expr.column >= columns.size()) fail("column " + std::to_string(expr.column) + " does not exist");
  if (physical_of(columns[expr.column].type) != expr.type) {
    fail("column " + columns[expr.column].name + " is not of type " + to_string(expr.type));
  }
}

void check_literal(const Expr& expr) {
  check_arity(expr, 0, 0);
  if (expr.literal.null) return;
  if (expr.literal.type != expr.type) fail("a literal of another type than its expression");
  if (!is_integer(expr.type)) return;
  const IntegerRange range = range_of(expr.type);
  if (expr.literal.integer < range.low || expr.literal.integer > range.high) fail("a literal beyond its type");
}

void check_arithmetic(const Expr& expr, size_t arity) {
  check_arity(expr, arity, arity);
  check_number(expr);
  check_same_type(expr, expr.type);
}

void check_rounding(const Expr& expr) {
  check_arithmetic(expr, 1);
  const bool digits_of_float = is_float(expr.type) && expr.op == ExprOp::kRound;
  const int32_t most = digits_of_float ? 400 : is_float(expr.type) ? 0 : 38;
  if (expr.power_of_ten > most || expr.power_of_ten < (digits_of_float ? -most : 0)) {
    fail("rounding to 10^" + std::to_string(expr.power_of_ten));
  }
}

void check_in_list(const Expr& expr) {
  check_same_type(expr, expr.args[0].type);
  for (size_t i = 1; i < expr.args.size(); ++i) {
    if (expr.args[i].op != ExprOp::kLiteral) fail("IN with something else than literals");
  }
}

bool fits_64_bits(Physical type) {
  return is_integer(type) && width_of(type) <= sizeof(int64_t) && type != Physical::kU64;
}

// A number, then literals that say what is asked.
void check_numbers(const Expr& expr, size_t arity) {
  check_arity(expr, arity, arity);
  if (!fits_64_bits(expr.args[0].type)) fail("a set of other numbers");
  for (size_t i = 1; i < expr.args.size(); ++i) {
    const bool number = expr.args[i].op == ExprOp::kLiteral && expr.args[i].type == Physical::kI64;
    if (!number || expr.args[i].literal.null) fail("a set that is not there");
  }
}

void check_like(const Expr& expr) {
  check_arity(expr, 2, 2);
  check_same_type(expr, Physical::kBytes);
  if (expr.args[1].op != ExprOp::kLiteral) fail("LIKE with a pattern that is not a literal");
  if (!expr.args[1].literal.null) LikePattern(expr.args[1].literal.bytes);
}

void check_regexp(const Expr& expr) {
  check_arity(expr, 2, 2);
  check_same_type(expr, Physical::kBytes);
  const std::optional<StringTest> test = string_test_of(expr);
  if (!test || expr.args[0].op != ExprOp::kColumn) fail("a regular expression over something else than a column");
  if (std::string reason = make_automaton(*test).reason; !reason.empty()) fail("a regular expression: " + reason);
}

bool is_constant(const Expr& expr, Physical type) {
  return expr.op == ExprOp::kLiteral && expr.type == type && !expr.literal.null;
}

void check_text_function(const Expr& expr) {
  const bool suffix = expr.op == ExprOp::kSuffix || expr.op == ExprOp::kDropSuffix;
  const bool trim = expr.op == ExprOp::kTrim;
  const bool one = expr.op == ExprOp::kUpper || expr.op == ExprOp::kLower;
  const size_t arity = one ? 1 : suffix || expr.op == ExprOp::kPosition ? 2 : 3;
  if (expr.op == ExprOp::kConcat) {
    check_arity(expr, 1, ~size_t{0});
  } else {
    check_arity(expr, arity, arity);
  }
  if (suffix && (!is_constant(expr.args[1], Physical::kI64) || expr.args[1].literal.integer < 0)) {
    fail("the end of a string without its length");
  }
  if (trim && (!is_constant(expr.args[1], Physical::kBytes) || !is_constant(expr.args[2], Physical::kI64))) {
    fail("something else than constants trimmed");
  }
  for (size_t i = 0; i < (suffix || trim ? 1 : expr.args.size()); ++i) {
    if (expr.args[i].type != Physical::kBytes) fail("a function of strings over something else");
  }
  if (expr.type != (expr.op == ExprOp::kPosition ? Physical::kI64 : Physical::kBytes)) {
    fail("a function of strings of another type");
  }
}

void check_substring(const Expr& expr) {
  check_arity(expr, 3, 3);
  if (expr.type != Physical::kBytes || expr.args[0].type != Physical::kBytes) fail("a substring of no string");
  for (size_t i = 1; i < 3; ++i) {
    const Expr& arg = expr.args[i];
    const bool number = arg.op == ExprOp::kLiteral && arg.type == Physical::kI64 && !arg.literal.null;
    if (!number || arg.literal.integer < 0) fail("a substring whose place is not a literal");
  }
}

bool is_moment(const Expr& expr) { return expr.type == Physical::kI64; }
bool is_date_or_moment(const Expr& expr) { return expr.type == Physical::kI32 || is_moment(expr); }

// Arguments from `first` on are numbers that the operation is made of; parts lie below `end`, others have none.
void check_date_function(const Expr& expr, size_t arity, size_t first, int64_t end = 0) {
  check_arity(expr, arity, arity);
  for (size_t i = 0; i < first; ++i) {
    if (!is_date_or_moment(expr.args[i]) || expr.args[i].type != expr.args[0].type) fail("a date of another type");
  }
  for (size_t i = first; i < arity; ++i) {
    const Expr& arg = expr.args[i];
    if (arg.op != ExprOp::kLiteral || !is_moment(arg) || arg.literal.null)
      fail("a date function without its constants");
    if (end > 0 && (arg.literal.integer < 0 || arg.literal.integer >= end)) fail("no such part of a date");
  }
}

void check_add_interval(const Expr& expr) {
  constexpr size_t kCount = 4;
  if (expr.args.size() <= kCount) return check_date_function(expr, kCount, 1);
  check_arity(expr, kCount + 1, kCount + 1);
  if (!is_moment(expr.args[kCount])) fail("an interval that is taken no number of times");
  Expr once = expr;
  once.args.pop_back();
  check_date_function(once, kCount, 1);
}

void check_units(const Expr& expr) {
  check_arity(expr, 1, 1);
  const bool from_date = expr.op == ExprOp::kDateToMoment;
  const bool to_date = expr.op == ExprOp::kMomentToDate;
  if (expr.args[0].type != (from_date ? Physical::kI32 : Physical::kI64)) fail("units of something else than time");
  if (expr.type != (to_date ? Physical::kI32 : Physical::kI64)) fail("units of something else than time");
  const bool truncates = expr.op == ExprOp::kTruncateMoment;
  if (from_date && expr.factor < 1) fail("a day without units");
  if (expr.power_of_ten > 18 || expr.power_of_ten < (truncates ? 0 : -18)) fail("units that far apart");
}

Physical type_of_date_function(ExprOp op) {
  switch (op) {
    case ExprOp::kEpoch: return Physical::kF64;
    case ExprOp::kAddDays:
    case ExprOp::kMomentToDate:
    case ExprOp::kLastDay:
    case ExprOp::kMakeDate: return Physical::kI32;
    default: return Physical::kI64;
  }
}

void check_dates(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::kDatePart:
    case ExprOp::kDateTrunc: check_date_function(expr, 2, 1, kDateParts); break;
    case ExprOp::kDateDiff:
    case ExprOp::kDateSub: check_date_function(expr, 3, 2, kDateParts); break;
    case ExprOp::kLastDay: check_date_function(expr, 1, 1); break;
    case ExprOp::kMakeDate:
      check_arity(expr, 3, 3);
      check_same_type(expr, Physical::kI64);
      break;
    case ExprOp::kAddTime:
      check_arity(expr, 2, 2);
      if (!is_moment(expr.args[1])) fail("a time of the day that is none");
      break;
    case ExprOp::kAddInterval: check_add_interval(expr); break;
    case ExprOp::kEpoch: check_date_function(expr, 1, 1); break;
    case ExprOp::kAddDays:
      check_arity(expr, 2, 2);
      if (expr.args[0].type != Physical::kI32 || !is_moment(expr.args[1])) fail("days added to something else");
      break;
    default: check_units(expr); break;
  }
  if (expr.type != type_of_date_function(expr.op)) fail("a date function of another type");
}

void check_choice(const Expr& expr) {
  if (expr.op == ExprOp::kCase && (expr.args.size() < 3 || expr.args.size() % 2 == 0)) {
    fail("CASE with " + std::to_string(expr.args.size()) + " arguments");
  }
  check_arity(expr, 1, ~size_t{0});
  for (size_t i = 0; i < expr.args.size(); ++i) {
    const Physical type = is_chosen(expr, i) ? expr.type : Physical::kU8;
    if (expr.args[i].type != type) fail("a choice among values of different types");
  }
}

void check_cast(const Expr& expr) {
  check_arity(expr, 1, 1);
  check_number(expr);
  check_number(expr.args[0]);
  const bool between_integers = is_integer(expr.type) && is_integer(expr.args[0].type);
  if (expr.power_of_ten < (between_integers ? -38 : 0) || expr.power_of_ten > 38) {
    fail("a cast by 10^" + std::to_string(expr.power_of_ten));
  }
  if (expr.factor < 1 || (expr.factor != 1 && (!between_integers || expr.power_of_ten < 0))) {
    fail("a cast by a factor of " + std::to_string(expr.factor));
  }
  if (is_float(expr.args[0].type) && is_integer(expr.type) && expr.limit == 0 && expr.power_of_ten != 0) {
    fail("a cast to a decimal without its digits");
  }
  if (expr.power_of_ten <= 0) return;
  int128_t product = 0;
  if (__builtin_mul_overflow(power_of_ten(expr.power_of_ten), static_cast<int128_t>(expr.factor), &product)) {
    fail("a cast by a factor beyond 128 bits");
  }
}

void check_number_function(const Expr& expr) {
  if (expr.op == ExprOp::kAbs) return check_arithmetic(expr, 1);
  if (expr.op != ExprOp::kSign) return check_rounding(expr);
  check_arity(expr, 1, 1);
  check_number(expr.args[0]);
  if (expr.type != Physical::kI8) fail("a sign that is not of 8 bits");
}

void check_regexp_replace(const Expr& expr) {
  check_arity(expr, 4, 4);
  const std::vector<Expr>& args = expr.args;
  const bool constants = is_constant(args[1], Physical::kBytes) && is_constant(args[2], Physical::kBytes) &&
                         is_constant(args[3], Physical::kI64);
  if (!constants || expr.type != Physical::kBytes || args[0].type != Physical::kBytes) {
    fail("regexp_replace of something else than a string and constants");
  }
  try {
    const strings::Regexp regexp(args[1].literal.bytes, strings::Regexp::For::kMatches);
    strings::check_replacement(args[2].literal.bytes, regexp.groups());
  } catch (const Error& error) {
    fail(std::string("a regular expression: ") + error.what());
  }
}

bool is_count(const Expr& expr) { return is_constant(expr, Physical::kI64) && expr.literal.integer >= 0; }

// Functions of one string and constants that make another, and of one code point.
void check_made_text(const Expr& expr) {
  const std::vector<Expr>& args = expr.args;
  const bool cuts = expr.op == ExprOp::kSplitPart;
  const bool of_number = expr.op == ExprOp::kChr;
  const bool alone = of_number || expr.op == ExprOp::kCodePoint;
  const size_t arity = alone ? 1 : expr.op == ExprOp::kRepeat ? 2 : 3;
  check_arity(expr, arity, arity);
  if (args[0].type != (of_number ? Physical::kI64 : Physical::kBytes))
    fail("a function of strings over something else");
  if (expr.type != (expr.op == ExprOp::kCodePoint ? Physical::kI64 : Physical::kBytes)) {
    fail("a function of strings of another type");
  }
  if (alone) return;
  const size_t text = cuts ? 1 : 2;
  const bool has_text = arity < 3 || (is_constant(args[text], Physical::kBytes) && !args[text].literal.bytes.empty());
  const bool has_number = cuts ? is_constant(args[2], Physical::kI64) : is_count(args[1]);
  if (!has_text || !has_number) fail("a function of strings without its constants");
}

void check_text(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
    case ExprOp::kRepeat:
    case ExprOp::kSplitPart:
    case ExprOp::kCodePoint:
    case ExprOp::kChr: return check_made_text(expr);
    default: break;
  }
  if (expr.op == ExprOp::kRegexpReplace) return check_regexp_replace(expr);
  if (expr.op == ExprOp::kSubstring) return check_substring(expr);
  if (expr.op != ExprOp::kLength && expr.op != ExprOp::kByteLength) return check_text_function(expr);
  check_arity(expr, 1, 1);
  check_same_type(expr, Physical::kBytes);
  if (expr.type != Physical::kI64) fail("a length that is not of 64 bits");
}

}  // namespace

std::shared_ptr<const Automaton> Automata::of(const Expr& predicate) {
  const auto [place, added] = known_.try_emplace(&predicate);
  if (added) {
    if (const std::optional<StringTest> test = string_test_of(predicate))
      place->second = make_automaton(*test).automaton;
  }
  return place->second;
}

Step prepare(const Expr& expr, const StatisticsList& stats, Automata& automata) {
  Step step;
  step.expr = &expr;
  const Bounds bounds = bounds_of(expr, stats);
  if (expr.op == ExprOp::kIn) {
    step.args.push_back(prepare(expr.args[0], stats, automata));
    prepare_list(step, expr);
  } else {
    for (const Expr& arg : expr.args) step.args.push_back(prepare(arg, stats, automata));
  }
  if (is_predicate(expr.op)) {
    step.lane = Lane::kBool;
    step.range = {0, 1};
    step.automaton = automata.of(expr);
    return step;
  }
  if (is_integer(expr.type)) step.range = {bounds.low.integer, bounds.high.integer};
  step.lane = lane_of_type(expr.type, bounds);
  if (makes_moments(expr)) step.lane = Lane::kI64;
  if (kind_of(expr.op) == ExprKind::kBitOperation) step.lane = lane_for(range_of(expr.type));
  step.null_if_out_of_range = expr.op == ExprOp::kTryCast;
  if (step.null_if_out_of_range) {
    Expr strict = expr;
    strict.op = ExprOp::kCast;
    step.may_throw = own_overflow(strict, stats, bounds_of(strict, stats));
  } else {
    step.may_throw = own_overflow(expr, stats, bounds);
  }
  if (step.may_throw && is_arithmetic(expr.op) && is_integer(step.lane)) {
    step.lane = Lane::kI128;
  } else if (is_integer(step.lane) && (is_arithmetic(expr.op) || is_number_function(expr.op))) {
    // Intermediate lanes are never narrower than what they are computed from.
    for (const Step& arg : step.args) {
      if (is_integer(arg.lane)) step.lane = std::max(step.lane, arg.lane);
    }
  } else if (is_integer(step.lane) && is_choice(expr.op)) {
    for (size_t i = 0; i < step.args.size(); ++i) {
      const Step& arg = step.args[i];
      if (is_chosen(expr, i) && is_integer(arg.lane)) step.lane = std::max(step.lane, arg.lane);
    }
  }
  return step;
}

bool same_expression(const Expr& a, const Expr& b) {
  if (a.op != b.op || a.type != b.type || a.column != b.column || a.limit != b.limit ||
      a.power_of_ten != b.power_of_ten || a.factor != b.factor || a.args.size() != b.args.size()) {
    return false;
  }
  if (a.op == ExprOp::kLiteral) {
    if (a.literal.null != b.literal.null || a.literal.integer != b.literal.integer ||
        a.literal.bytes != b.literal.bytes || std::signbit(a.literal.real) != std::signbit(b.literal.real) ||
        !sql_equal(a.literal.real, b.literal.real)) {
      return false;
    }
  }
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (!same_expression(a.args[i], b.args[i])) return false;
  }
  return true;
}

std::vector<uint32_t> columns_of(const Expr& expr) {
  std::vector<uint32_t> out;
  if (expr.op == ExprOp::kColumn) out.push_back(expr.column);
  for (const Expr& arg : expr.args) {
    const std::vector<uint32_t> more = columns_of(arg);
    out.insert(out.end(), more.begin(), more.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<const Expr*> conjuncts_of(const Expr& predicate) {
  if (predicate.op != ExprOp::kAnd) return {&predicate};
  std::vector<const Expr*> out;
  for (const Expr& arg : predicate.args) {
    const std::vector<const Expr*> more = conjuncts_of(arg);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

void check_expression(const Expr& expr, const std::vector<PipelineColumn>& columns) {
  for (const Expr& arg : expr.args) check_expression(arg, columns);
  constexpr size_t kMany = ~size_t{0};
  if (is_predicate(expr.op) && expr.type != Physical::kU8) fail("a predicate that is not boolean");
  switch (kind_of(expr.op)) {
    case ExprKind::kColumn: check_column(expr, columns); break;
    case ExprKind::kLiteral: check_literal(expr); break;
    case ExprKind::kArithmetic: check_arithmetic(expr, expr.op == ExprOp::kNegate ? 1 : 2); break;
    case ExprKind::kDivision:
      check_arithmetic(expr, 2);
      if (expr.op == ExprOp::kDivide && !is_float(expr.type)) fail("a division of integers that is to be exact");
      break;
    case ExprKind::kNumberFunction: check_number_function(expr); break;
    case ExprKind::kMathFunction:
      check_arity(expr, expr.op == ExprOp::kPower ? 2 : 1, expr.op == ExprOp::kPower ? 2 : 1);
      check_same_type(expr, Physical::kF64);
      if (expr.type != Physical::kF64) fail("a function of doubles of another type");
      break;
    case ExprKind::kBitOperation:
      check_arithmetic(expr, 2);
      if (!is_integer(expr.type)) fail("bits of something else than integers");
      break;
    case ExprKind::kCast: check_cast(expr); break;
    case ExprKind::kDateFunction: check_dates(expr); break;
    case ExprKind::kComparison:
    case ExprKind::kDistinct:
      check_arity(expr, 2, 2);
      check_same_type(expr, expr.args[0].type);
      break;
    case ExprKind::kIn:
      check_arity(expr, 1, kMany);
      check_in_list(expr);
      break;
    case ExprKind::kMember: check_numbers(expr, 5); break;
    case ExprKind::kLookUp:
      check_numbers(expr, 7);
      if (!fits_64_bits(expr.type)) fail("other values of numbers");
      break;
    case ExprKind::kPattern: expr.op == ExprOp::kLike ? check_like(expr) : check_regexp(expr); break;
    case ExprKind::kTextFunction: check_text(expr); break;
    case ExprKind::kConnective:
      check_arity(expr, 1, kMany);
      check_same_type(expr, Physical::kU8);
      break;
    case ExprKind::kNot:
      check_arity(expr, 1, 1);
      check_same_type(expr, Physical::kU8);
      break;
    case ExprKind::kNullTest: check_arity(expr, 1, 1); break;
    case ExprKind::kCase:
    case ExprKind::kCoalesce:
    case ExprKind::kExtreme: check_choice(expr); break;
  }
}

}  // namespace basalt::exec
