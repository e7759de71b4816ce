// decide() is never wrong: whatever it says of a predicate holds for every row the statistics describe.
#include <gtest/gtest.h>

#include <cmath>

#include "basalt/exec/expressions.h"
#include "exec/random_expr.h"
#include "exec/set_places.h"
#include "exec/zone_filter.h"
#include "file/statistics.h"

namespace basalt::test {
namespace {

// Statistics as the writer defines them: NaN apart, strings cut at 64 bytes with the maximum rounded up.
Statistics statistics_of(const Column& column, uint64_t begin, uint64_t end) {
  Statistics out;
  out.rows = end - begin;
  out.min = out.max = Value::of_null(physical_of(column.type));
  for (uint64_t row = begin; row < end; ++row) {
    const Value value = value_at(column, row);
    if (value.null) {
      ++out.null_count;
      continue;
    }
    if (is_float(value.type) && std::isnan(value.real)) {
      out.has_nan = true;
      continue;
    }
    if (out.min.null || compare(value, out.min) < 0) out.min = value;
    if (out.max.null || compare(value, out.max) > 0) out.max = value;
  }
  if (!out.min.null && out.min.type == Physical::kBytes && out.min.bytes.size() > 64) {
    out.min.bytes.resize(64);
    out.min_exact = false;
  }
  if (!out.max.null && out.max.type == Physical::kBytes && out.max.bytes.size() > 64) {
    out.max_exact = false;
    std::string& bytes = out.max.bytes;
    bytes.resize(64);
    while (!bytes.empty() && static_cast<uint8_t>(bytes.back()) == 0xFF) bytes.pop_back();
    if (bytes.empty()) {
      out.max = Value::of_null(Physical::kBytes);
    } else {
      bytes.back() = static_cast<char>(static_cast<uint8_t>(bytes.back()) + 1);
    }
  }
  return out;
}

void check_decision(const Expr& predicate, const std::vector<const Column*>& columns, uint64_t begin, uint64_t end,
                    const std::vector<const Statistics*>& stats, std::array<uint64_t, 3>& seen) {
  const Decision decision = decide(predicate, stats);
  ++seen[static_cast<size_t>(decision)];
  if (decision == Decision::kUnknown) return;
  for (uint64_t row = begin; row < end; ++row) {
    bool result = false;
    try {
      result = holds(predicate, columns, row);
    } catch (const Error&) {
      // A conjunct that statistics decide hides the error of another.
      ASSERT_EQ(decision, Decision::kNone);
      continue;
    }
    ASSERT_EQ(result, decision == Decision::kAll)
        << to_string(predicate, {}) << " row " << row << " decided " << static_cast<int>(decision);
  }
}

TEST(Decide, NeverWrongOnRandomTables) {
  Random random(7);
  std::array<uint64_t, 3> seen{};
  for (int round = 0; round < 400; ++round) {
    const uint64_t rows = 1 + below(random, 300);
    std::vector<Column> columns;
    for (const DataType& type : all_types()) columns.push_back(random_column(random, type, rows));
    std::vector<const Column*> pointers;
    for (const Column& column : columns) pointers.push_back(&column);
    const uint64_t begin = below(random, rows);
    const uint64_t end = begin + 1 + below(random, rows - begin);
    std::vector<Statistics> stats;
    for (const Column& column : columns) stats.push_back(statistics_of(column, begin, end));
    std::vector<const Statistics*> list;
    for (const Statistics& s : stats) list.push_back(below(random, 20) == 0 ? nullptr : &s);
    for (int i = 0; i < 40; ++i) {
      const Expr predicate = random_predicate(random, pointers, 2, i % 4 == 0);
      check_decision(predicate, pointers, begin, end, list, seen);
      if (HasFatalFailure()) return;
    }
  }
  for (const uint64_t count : seen) EXPECT_GT(count, 500u);
}

// The same predicate with every column behind a COALESCE, so that its bounds are computed.
Expr computed(const Expr& expr) {
  if (expr.op == ExprOp::kColumn) return make_expr(ExprOp::kCoalesce, expr.type, {expr});
  Expr out = expr;
  for (Expr& arg : out.args) arg = computed(arg);
  return out;
}

// Also statistics that say less than the rows do.
Statistics forgetful(Random& random, Statistics stats) {
  switch (below(random, 8)) {
    case 0: stats.min.null = true; break;
    case 1: stats.max.null = true; break;
    case 2: stats.min.null = stats.max.null = true; break;
    case 3: stats.null_count = stats.rows; break;
    case 4: stats.rows = stats.null_count = 0; break;
    case 5: stats.has_nan = true; break;
    case 6: stats.max = stats.min; break;
    default: break;
  }
  return stats;
}

// Columns of which some rows are a chunk of so many zones.
struct RandomChunk {
  std::vector<Column> columns;
  std::vector<const Column*> pointers;
  std::vector<ColumnChunkInfo> infos;
  std::vector<const ColumnChunkInfo*> list;

  RandomChunk(Random& random, uint64_t zones) {
    constexpr uint64_t kRows = 20;  // the zones' length is not known to statistics
    for (const DataType& type : all_types()) columns.push_back(random_column(random, type, zones * kRows));
    for (const Column& column : columns) {
      pointers.push_back(&column);
      ColumnChunkInfo& info = infos.emplace_back();
      info.stats = forgetful(random, statistics_of(column, 0, column.length));
      const uint64_t known = below(random, 4) == 0 ? below(random, zones) : zones;
      for (uint64_t zone = 0; zone < known; ++zone) {
        const bool again = zone > 0 && below(random, 3) == 0;
        info.zones.push_back(again ? info.zones.back()
                                   : forgetful(random, statistics_of(column, zone * kRows, (zone + 1) * kRows)));
      }
      if (below(random, 3) > 0) info.zone_bounds = format_v1::zone_bounds(info.zones);
    }
    for (const ColumnChunkInfo& info : infos) list.push_back(below(random, 20) == 0 ? nullptr : &info);
  }

  std::vector<const Statistics*> chunk() const {
    std::vector<const Statistics*> out;
    for (const ColumnChunkInfo* info : list) out.push_back(info == nullptr ? nullptr : &info->stats);
    return out;
  }
  std::vector<const Statistics*> zone(size_t zone) const {
    std::vector<const Statistics*> out;
    for (const ColumnChunkInfo* info : list) {
      out.push_back(info == nullptr || zone >= info->zones.size() ? nullptr : &info->zones[zone]);
    }
    return out;
  }
};

TEST(Decide, ColumnsAndLiteralsAreDecidedAsComputedValues) {
  Random random(11);
  for (int round = 0; round < 100; ++round) {
    const RandomChunk chunk(random, 1);
    for (int i = 0; i < 200; ++i) {
      const Expr predicate = random_predicate(random, chunk.pointers, 2, i % 4 == 0);
      ASSERT_EQ(decide(predicate, chunk.zone(0)), decide(computed(predicate), chunk.zone(0)))
          << to_string(predicate, {});
    }
  }
}

TEST(Decide, ZonesAreDecidedOneByOne) {
  Random random(12);
  std::array<uint64_t, 3> seen{};
  constexpr uint64_t kZones = 5;
  for (int round = 0; round < 200; ++round) {
    const RandomChunk chunk(random, kZones);
    for (int i = 0; i < 60; ++i) {
      Expr predicate = random_predicate(random, chunk.pointers, i % 3, i % 4 == 0);
      if (i % 2 == 0) {  // some conjuncts more, to have several of one column
        std::vector<Expr> parts{std::move(predicate)};
        for (uint64_t more = below(random, 12); more > 0; --more) {
          parts.push_back(random_predicate(random, chunk.pointers, 0, false));
        }
        predicate = make_expr(ExprOp::kAnd, Physical::kU8, std::move(parts));
      }
      exec::ZoneFilter filter(&predicate);
      const std::vector<Decision>& zones = filter.decide_zones(chunk.list, kZones * kZoneRows - below(random, 3));
      ASSERT_EQ(zones.size(), kZones);
      const Decision whole = decide(predicate, chunk.chunk());
      for (size_t zone = 0; zone < kZones; ++zone) {
        const Decision expected = whole == Decision::kUnknown ? decide(predicate, chunk.zone(zone)) : whole;
        ASSERT_EQ(zones[zone], expected) << to_string(predicate, {}) << " zone " << zone;
        ++seen[static_cast<size_t>(expected)];
      }
    }
  }
  for (const uint64_t count : seen) EXPECT_GT(count, 500u);
}

// Integers whose bounds lie together, beside every way to compare them and sets that they may be in.
TEST(Decide, BoundsThatLieTogetherSayTheSame) {
  Random random(13);
  constexpr uint64_t kZones = 40;
  for (int round = 0; round < 500; ++round) {
    ColumnChunkInfo info;
    info.stats.rows = kZones * 10;
    info.stats.min = Value::of_integer(Physical::kI32, -1000);
    info.stats.max = Value::of_integer(Physical::kI32, 1000);
    for (uint64_t zone = 0; zone < kZones; ++zone) {
      Statistics& stats = info.zones.emplace_back();
      stats.rows = 10;
      const auto least = static_cast<int64_t>(below(random, 2001)) - 1000;
      stats.min = Value::of_integer(Physical::kI32, least);
      stats.max = Value::of_integer(Physical::kI32, least + static_cast<int64_t>(below(random, 100)));
    }
    ColumnChunkInfo together = info;
    together.zone_bounds = format_v1::zone_bounds(info.zones);
    ASSERT_EQ(together.zone_bounds.size(), 2 * kZones);
    const Expr column = column_expr(0, Physical::kI32);
    const auto number = [&] { return integer_expr(Physical::kI32, static_cast<int64_t>(below(random, 2400)) - 1200); };
    constexpr ExprOp kOps[] = {ExprOp::kLess, ExprOp::kLessEqual, ExprOp::kGreater, ExprOp::kGreaterEqual,
                               ExprOp::kEqual};
    Expr predicate = make_expr(kOps[below(random, 5)], Physical::kU8, {column, number()});
    if (round % 3 == 0) {
      const exec::SetPlace set{static_cast<int64_t>(below(random, 2400)) - 1200,
                               static_cast<int64_t>(below(random, 300)), 0};
      predicate = make_expr(ExprOp::kAnd, Physical::kU8, {predicate, exec::member_of(column, 0, set)});
    }
    exec::ZoneFilter one(&predicate);
    exec::ZoneFilter other(&predicate);
    EXPECT_EQ(one.decide_zones({&info}, kZones * kZoneRows), other.decide_zones({&together}, kZones * kZoneRows))
        << to_string(predicate, {});
  }
}

struct DecideCase : testing::Test {
  Statistics stats;
  std::vector<const Statistics*> list{&stats};
  Expr column = column_expr(0, Physical::kI32);

  void SetUp() override {
    stats.rows = 100;
    stats.min = Value::of_integer(Physical::kI32, 10);
    stats.max = Value::of_integer(Physical::kI32, 20);
  }
  Decision compared(ExprOp op, int64_t literal) {
    const Expr value = integer_expr(Physical::kI32, literal);
    return decide(make_expr(op, Physical::kU8, {column, value}), list);
  }
};

TEST_F(DecideCase, ComparesWithLiterals) {
  EXPECT_EQ(compared(ExprOp::kLess, 10), Decision::kNone);
  EXPECT_EQ(compared(ExprOp::kLess, 11), Decision::kUnknown);
  EXPECT_EQ(compared(ExprOp::kLess, 21), Decision::kAll);
  EXPECT_EQ(compared(ExprOp::kLessEqual, 20), Decision::kAll);
  EXPECT_EQ(compared(ExprOp::kGreater, 20), Decision::kNone);
  EXPECT_EQ(compared(ExprOp::kGreaterEqual, 10), Decision::kAll);
  EXPECT_EQ(compared(ExprOp::kEqual, 9), Decision::kNone);
  EXPECT_EQ(compared(ExprOp::kEqual, 15), Decision::kUnknown);
  EXPECT_EQ(compared(ExprOp::kNotEqual, 21), Decision::kAll);
}

TEST_F(DecideCase, NullsForbidAll) {
  stats.null_count = 1;
  EXPECT_EQ(compared(ExprOp::kLess, 21), Decision::kUnknown);
  EXPECT_EQ(compared(ExprOp::kLess, 10), Decision::kNone);
  EXPECT_EQ(decide(make_expr(ExprOp::kIsNull, Physical::kU8, {column}), list), Decision::kUnknown);
  stats.null_count = 0;
  EXPECT_EQ(decide(make_expr(ExprOp::kIsNull, Physical::kU8, {column}), list), Decision::kNone);
  EXPECT_EQ(decide(make_expr(ExprOp::kIsNotNull, Physical::kU8, {column}), list), Decision::kAll);
  stats.null_count = 100;
  EXPECT_EQ(decide(make_expr(ExprOp::kIsNull, Physical::kU8, {column}), list), Decision::kAll);
  EXPECT_EQ(compared(ExprOp::kLess, 21), Decision::kNone);
}

TEST(Decide, PrefixesOfPatterns) {
  Statistics stats;
  stats.rows = 100;
  stats.min = Value::of_bytes("PROMO BRASS");
  stats.max = Value::of_bytes("PROMO TIN");
  const auto like = [&](const char* pattern) {
    return decide(make_expr(ExprOp::kLike, Physical::kU8, {column_expr(0, Physical::kBytes), bytes_expr(pattern)}),
                  {&stats});
  };
  EXPECT_EQ(like("PROMO%"), Decision::kAll);
  EXPECT_EQ(like("PROMO %"), Decision::kAll);
  EXPECT_EQ(like("PROMO%TIN"), Decision::kUnknown);
  EXPECT_EQ(like("PROMO C%"), Decision::kUnknown);
  EXPECT_EQ(like("SMALL%"), Decision::kNone);
  EXPECT_EQ(like("ECONOMY%"), Decision::kNone);
  EXPECT_EQ(like("PROMO A"), Decision::kNone);
  EXPECT_EQ(like("%TIN"), Decision::kUnknown);
  EXPECT_EQ(like("%"), Decision::kAll);
  stats.null_count = 1;
  EXPECT_EQ(like("PROMO%"), Decision::kUnknown);
  EXPECT_EQ(like("SMALL%"), Decision::kNone);
}

TEST_F(DecideCase, SeesThroughCasts) {
  Expr cast = make_expr(ExprOp::kCast, Physical::kI64, {column});
  cast.factor = 86400000000;
  const auto before = [&](int64_t moment) {
    return decide(make_expr(ExprOp::kLess, Physical::kU8, {cast, integer_expr(Physical::kI64, moment)}), list);
  };
  EXPECT_EQ(before(10 * int64_t{86400000000}), Decision::kNone);
  EXPECT_EQ(before(20 * int64_t{86400000000} + 1), Decision::kAll);
  EXPECT_EQ(before(15 * int64_t{86400000000}), Decision::kUnknown);
}

TEST_F(DecideCase, InListsWithNull) {
  const auto in = [&](std::vector<Expr> list_items) {
    list_items.insert(list_items.begin(), column);
    return make_expr(ExprOp::kIn, Physical::kU8, list_items);
  };
  const Expr far = integer_expr(Physical::kI32, 99);
  EXPECT_EQ(decide(in({far}), list), Decision::kNone);
  EXPECT_EQ(decide(make_expr(ExprOp::kNot, Physical::kU8, {in({far})}), list), Decision::kAll);
  // NOT IN with a NULL in the list is never true.
  EXPECT_EQ(decide(make_expr(ExprOp::kNot, Physical::kU8, {in({far, null_expr(Physical::kI32)})}), list),
            Decision::kNone);
}

TEST(Decide, NanIsTheLargest) {
  Statistics stats;
  stats.rows = 10;
  stats.has_nan = true;
  stats.min = Value::of_real(Physical::kF64, 1);
  stats.max = Value::of_real(Physical::kF64, 2);
  const Expr column = column_expr(0, Physical::kF64);
  const auto decided = [&](ExprOp op, double literal) {
    return decide(make_expr(op, Physical::kU8, {column, real_expr(Physical::kF64, literal)}), {&stats});
  };
  EXPECT_EQ(decided(ExprOp::kGreater, 5), Decision::kUnknown);
  EXPECT_EQ(decided(ExprOp::kLess, 5), Decision::kUnknown);
  EXPECT_EQ(decided(ExprOp::kGreaterEqual, 1), Decision::kAll);
  EXPECT_EQ(decided(ExprOp::kLess, 1), Decision::kNone);
  stats.has_nan = false;
  EXPECT_EQ(decided(ExprOp::kGreater, 5), Decision::kNone);
  EXPECT_EQ(decided(ExprOp::kLess, NAN), Decision::kAll);
}

TEST(Decide, ArithmeticThatMayOverflowIsNotDecided) {
  Statistics stats;
  stats.rows = 10;
  stats.min = Value::of_integer(Physical::kI32, 0);
  stats.max = Value::of_integer(Physical::kI32, 2147483647);
  const Expr column = column_expr(0, Physical::kI32);
  const Expr sum = make_expr(ExprOp::kAdd, Physical::kI32, {column, integer_expr(Physical::kI32, 1)});
  const Expr test = make_expr(ExprOp::kGreater, Physical::kU8, {sum, integer_expr(Physical::kI32, 0)});
  EXPECT_EQ(decide(test, {&stats}), Decision::kUnknown);
  stats.max.integer = 100;
  EXPECT_EQ(decide(test, {&stats}), Decision::kAll);
}

TEST(ToString, PrintsSqlLikeText) {
  const Expr price = column_expr(0, Physical::kI64);
  const Expr small = make_expr(ExprOp::kLess, Physical::kU8, {price, integer_expr(Physical::kI64, 2400)});
  const Expr list =
      make_expr(ExprOp::kIn, Physical::kU8, {column_expr(1, Physical::kBytes), bytes_expr("AIR"), bytes_expr("it's")});
  const Expr like = make_expr(ExprOp::kLike, Physical::kU8, {column_expr(1, Physical::kBytes), bytes_expr("A\\%_%")});
  EXPECT_EQ(to_string(like, {"price", "mode"}), "mode LIKE 'A\\%_%' ESCAPE '\\'");
  const Expr mode = column_expr(1, Physical::kBytes);
  EXPECT_EQ(to_string(substring(mode, 2, 3), {"price", "mode"}), "substring(mode, 3, 3)");
  EXPECT_EQ(to_string(substring(mode, 2, INT64_MAX), {"price", "mode"}), "substring(mode, 3)");
  EXPECT_EQ(to_string(make_expr(ExprOp::kAnd, Physical::kU8, {small, list}), {"price", "mode"}),
            "(price < 2400) AND (mode IN ('AIR', 'it''s'))");
}

}  // namespace
}  // namespace basalt::test
