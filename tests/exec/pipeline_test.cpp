// Pipelines against the plain meaning of their expressions, row by row, over every type and many trees; and the
// promises about NULLs, overflow, averages, order of float sums, pruning, threads, cancellation and damaged callers.
#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <cstring>
#include <limits>

#include "codec/galp_values.h"
#include "exec/aggregate.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

Aggregate aggregate(AggregateOp op, Expr arg = {}, int32_t scale = 0) {
  Aggregate out;
  out.op = op;
  out.arg = std::move(arg);
  out.avg_scale = scale;
  return out;
}

// The fixed order of float sums, written down once more.
struct OrderedSum {
  double total = 0;
  double chunk = 0;
  double lanes[32] = {};
  void add(uint64_t row_in_tile, double value) { lanes[row_in_tile % 32] += value; }
  void end_tile() {
    for (int step = 16; step > 0; step /= 2) {
      double next[32];
      for (int l = 0; l < 32; ++l) next[l] = lanes[l] + lanes[l ^ step];
      std::memcpy(lanes, next, sizeof(lanes));
    }
    chunk += lanes[0];
    std::fill(std::begin(lanes), std::end(lanes), 0.0);
  }
  void end_chunk() {
    total += chunk;
    chunk = 0;
  }
};

Value brute_force(const Aggregate& agg, const Expr* filter, const TestTable& table) {
  const std::vector<const Column*> columns = table.pointers();
  exec::AggregateState state;
  OrderedSum sum;
  for (const ChunkInfo& chunk : table.file->chunks()) {
    for (uint64_t i = 0; i < chunk.rows; ++i) {
      const uint64_t row = chunk.first_row + i;
      if (filter == nullptr || holds(*filter, columns, row)) {
        if (agg.op == AggregateOp::kCountStar) {
          ++state.count;
        } else if (const Value value = evaluate_row(agg.arg, columns, row); !value.null) {
          ++state.count;
          if (is_float(value.type)) sum.add(i % kTileRows, value.real);
          if (is_integer(value.type)) state.sum.add(value.integer);
          if (exec::is_better(agg.op, value, state.extreme)) state.extreme = value;
        }
      }
      if (i % kTileRows == kTileRows - 1 || i + 1 == chunk.rows) sum.end_tile();
    }
    sum.end_chunk();
  }
  state.real_sum = sum.total;
  return exec::finish(agg, state);
}

bool same_value(const Value& a, const Value& b) {
  if (a.type != b.type || a.null != b.null) return false;
  if (a.null) return true;
  if (is_float(a.type)) {
    return (std::isnan(a.real) && std::isnan(b.real)) || std::memcmp(&a.real, &b.real, sizeof(double)) == 0;
  }
  return a.integer == b.integer && a.bytes == b.bytes;
}

std::string show(const Value& value) {
  if (value.null) return "NULL";
  if (is_float(value.type)) return std::to_string(value.real);
  if (value.type == Physical::kBytes) return value.bytes;
  return format_value(Value::of_integer(Physical::kI128, value.integer), {TypeKind::kInt128});
}

Pipeline pipeline_over(const TestTable& table, std::vector<Aggregate> aggregates, const Expr* filter = nullptr) {
  Pipeline out;
  out.files = {table.file};
  out.columns = table.pipeline_columns();
  out.aggregates = std::move(aggregates);
  if (filter != nullptr) {
    out.has_filter = true;
    out.filter = *filter;
  }
  return out;
}

RunOptions cpu(uint32_t threads = 1, bool prune = true) {
  RunOptions options;
  options.device = Device::kCpu;
  options.threads = threads;
  options.prune = prune;
  return options;
}

std::vector<Aggregate> aggregates_over_all(const TestTable& table) {
  std::vector<Aggregate> out{aggregate(AggregateOp::kCountStar)};
  for (uint32_t i = 0; i < table.columns.size(); ++i) {
    const DataType& type = table.columns[i].type;
    const Expr column = column_expr(i, physical_of(type));
    out.push_back(aggregate(AggregateOp::kCount, column));
    out.push_back(aggregate(AggregateOp::kMin, column));
    out.push_back(aggregate(AggregateOp::kMax, column));
    if (column.type == Physical::kBytes) continue;
    // Sums of 128-bit values may leave 128 bits: they have their own test.
    if (column.type == Physical::kI128) continue;
    out.push_back(aggregate(AggregateOp::kSum, column));
    out.push_back(aggregate(AggregateOp::kAvg, column, type.scale));
  }
  return out;
}

TEST(Pipeline, NoDecodedLimitIsNoLimit) {
  std::vector<std::string> texts(5000);
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = "text " + std::to_string(i * 7919 % 5000);
  const TestTable table = write_table({make_strings(texts)});
  const Pipeline pipeline = pipeline_over(table, {aggregate(AggregateOp::kMax, column_expr(0, Physical::kBytes))});
  RunOptions options = cpu(1, false);
  const std::vector<Value> expected = run_pipeline(pipeline, options);
  options.decoded_limit = ~uint64_t{0};
  EXPECT_EQ(show(run_pipeline(pipeline, options).at(0)), show(expected.at(0)));
}

TEST(Pipeline, EqualsBruteForceOnRandomTables) {
  Random random(11);
  uint64_t skipped = 0;
  uint64_t all_true = 0;
  for (int round = 0; round < 24; ++round) {
    const uint64_t rows = 1 + below(random, round % 4 == 0 ? 40 : 20000);
    const TestTable table = random_table(random, rows, 8192);
    const std::vector<Aggregate> aggregates = aggregates_over_all(table);
    for (int i = 0; i < 6; ++i) {
      const Expr predicate = random_predicate(random, table.pointers(), 2, false);
      const Expr* filter = i == 0 ? nullptr : &predicate;
      const Pipeline pipeline = pipeline_over(table, aggregates, filter);
      RunReport report;
      const std::vector<Value> got = run_pipeline(pipeline, cpu(), &report);
      const std::vector<Value> unpruned = run_pipeline(pipeline, cpu(1, false));
      const std::vector<Value> threaded = run_pipeline(pipeline, cpu(2));
      skipped += report.tiles.skipped;
      all_true += report.tiles.all_true;
      EXPECT_EQ(report.rows, rows);
      for (size_t a = 0; a < aggregates.size(); ++a) {
        // Brute force is slow: each round checks some aggregates, all of them against the other ways to run.
        ASSERT_TRUE(same_value(got[a], unpruned[a])) << "pruned " << show(got[a]) << " unpruned " << show(unpruned[a]);
        ASSERT_TRUE(same_value(got[a], threaded[a]));
        if ((a + static_cast<size_t>(i)) % 7 != 0 && rows > 100) continue;
        const Value expected = brute_force(aggregates[a], filter, table);
        ASSERT_TRUE(same_value(got[a], expected))
            << "aggregate " << a << " of c" << aggregates[a].arg.column << ": " << show(got[a]) << " instead of "
            << show(expected) << " where " << (filter != nullptr ? to_string(*filter, {}) : "true");
      }
    }
  }
  EXPECT_GT(skipped, 0u);
  EXPECT_GT(all_true, 0u);
}

TEST(Pipeline, ArithmeticEqualsBruteForceErrorsToo) {
  Random random(12);
  int errors = 0;
  for (int round = 0; round < 30; ++round) {
    const TestTable table = random_table(random, 1 + below(random, 3000), 8192);
    for (int i = 0; i < 10; ++i) {
      // (a op b) op a, over columns of one integer or float type.
      const auto index = static_cast<uint32_t>(below(random, table.columns.size()));
      const Physical type = physical_of(table.columns[index].type);
      if (type == Physical::kBytes) continue;
      uint32_t other = index;
      for (uint32_t c = 0; c < table.columns.size(); ++c) {
        if (physical_of(table.columns[c].type) == type && below(random, 2) == 0) other = c;
      }
      const auto op = [&] {
        return static_cast<ExprOp>(static_cast<int>(ExprOp::kAdd) + static_cast<int>(below(random, 3)));
      };
      Expr inner = make_expr(op(), type, {column_expr(index, type), column_expr(other, type)});
      if (below(random, 3) == 0) inner = make_expr(ExprOp::kNegate, type, {inner});
      Expr outer = make_expr(op(), type, {inner, column_expr(index, type)});
      if (type == Physical::kI64 && below(random, 2) == 0) {
        outer.limit = 999999999999999999;
        inner.limit = 999999999999999999;
      }
      const Aggregate agg = aggregate(below(random, 2) == 0 ? AggregateOp::kSum : AggregateOp::kMax, outer);
      const Expr predicate = random_predicate(random, table.pointers(), 1, false);
      const Expr* filter = i % 2 == 0 ? nullptr : &predicate;
      bool failed = false;
      Value expected;
      try {
        expected = brute_force(agg, filter, table);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kOutOfRange);
        failed = true;
        ++errors;
      }
      try {
        const Value got = run_pipeline(pipeline_over(table, {agg}, filter), cpu())[0];
        ASSERT_FALSE(failed) << to_string(outer, {}) << " gave " << show(got);
        ASSERT_TRUE(same_value(got, expected))
            << to_string(outer, {}) << ": " << show(got) << " instead of " << show(expected);
      } catch (const Error& error) {
        ASSERT_TRUE(failed) << error.what();
        ASSERT_EQ(error.code(), ErrorCode::kOutOfRange);
      }
    }
  }
  EXPECT_GT(errors, 10);
}

TEST(Pipeline, ThrowingConjunctsSeeOnlyWhatOthersKeep) {
  std::vector<int32_t> values(5000, 7);
  values[4000] = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> flags(5000, 1);
  flags[4000] = 0;
  const TestTable table = write_table({make_fixed({TypeKind::kInt32}, values), make_fixed({TypeKind::kInt32}, flags)});
  const Expr one = integer_expr(Physical::kI32, 1);
  const Expr sum = make_expr(ExprOp::kAdd, Physical::kI32, {column_expr(0, Physical::kI32), one});
  const Expr big = make_expr(ExprOp::kGreater, Physical::kU8, {sum, one});
  const Expr flagged = make_expr(ExprOp::kEqual, Physical::kU8, {column_expr(1, Physical::kI32), one});
  const Expr both = make_expr(ExprOp::kAnd, Physical::kU8, {big, flagged});
  EXPECT_EQ(run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kCountStar)}, &both), cpu())[0].integer, 4999);
  try {
    run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kCountStar)}, &big), cpu());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    EXPECT_STREQ(error.what(), "Overflow in addition of INT32 (2147483647 + 1)!");
  }
}

TEST(Pipeline, SumsLeave64BitsButNot128) {
  std::vector<int64_t> values(3000, std::numeric_limits<int64_t>::max());
  const TestTable table = write_table({make_fixed({TypeKind::kInt64}, values)});
  const Expr column = column_expr(0, Physical::kI64);
  const std::vector<Value> got = run_pipeline(
      pipeline_over(table, {aggregate(AggregateOp::kSum, column), aggregate(AggregateOp::kAvg, column)}), cpu());
  EXPECT_EQ(got[0].type, Physical::kI128);
  EXPECT_EQ(show(got[0]), "27670116110564327421000");
  EXPECT_EQ(got[1].real, 9223372036854775807.0);

  const int128_t huge = static_cast<int128_t>(~uint128_t{0} >> 1);
  const TestTable wide = write_table({make_fixed<int128_t>({TypeKind::kInt128}, {huge, huge, -huge, 5})});
  const Expr wide_column = column_expr(0, Physical::kI128);
  // The order of additions must not matter: huge + huge − huge + 5 overflows only in the middle.
  EXPECT_THROW(run_pipeline(pipeline_over(wide, {aggregate(AggregateOp::kSum, wide_column)}), cpu()), Error);
  const TestTable fits = write_table({make_fixed<int128_t>({TypeKind::kInt128}, {huge, huge, -huge, -5})});
  EXPECT_EQ(run_pipeline(pipeline_over(fits, {aggregate(AggregateOp::kSum, wide_column)}), cpu())[0].integer, huge - 5);
}

TEST(Pipeline, NothingLeftIsNullAndZero) {
  const TestTable table = write_table({make_fixed<int32_t>({TypeKind::kInt32}, {1, 2, 3})});
  const Expr column = column_expr(0, Physical::kI32);
  const Expr never = make_expr(ExprOp::kGreater, Physical::kU8, {column, integer_expr(Physical::kI32, 10)});
  RunReport report;
  const std::vector<Value> got =
      run_pipeline(pipeline_over(table,
                                 {aggregate(AggregateOp::kCountStar), aggregate(AggregateOp::kCount, column),
                                  aggregate(AggregateOp::kSum, column), aggregate(AggregateOp::kAvg, column),
                                  aggregate(AggregateOp::kMin, column)},
                                 &never),
                   cpu(), &report);
  EXPECT_EQ(got[0].integer, 0);
  EXPECT_EQ(got[1].integer, 0);
  EXPECT_TRUE(got[2].null && got[3].null && got[4].null);
  EXPECT_EQ(report.tiles.skipped, 1u);
  EXPECT_EQ(report.encoded_bytes_read, 0u);
}

TEST(Pipeline, NoRowsAndNoColumns) {
  const TestTable empty = write_table({make_fixed<int32_t>({TypeKind::kInt32}, {})});
  const std::vector<Value> got = run_pipeline(
      pipeline_over(empty,
                    {aggregate(AggregateOp::kCountStar), aggregate(AggregateOp::kMax, column_expr(0, Physical::kI32))}),
      cpu());
  EXPECT_EQ(got[0].integer, 0);
  EXPECT_TRUE(got[1].null);
}

TEST(Pipeline, DictionaryPrunesWhatStatisticsCannot) {
  std::vector<std::string> modes;
  std::vector<int64_t> values;
  for (int i = 0; i < 50000; ++i) {
    modes.push_back(i % 3 == 0 ? "AIR" : i % 3 == 1 ? "RAIL" : "TRUCK");
    values.push_back(i);
  }
  Column mode = make_strings(modes);
  const TestTable table = write_table({std::move(mode), make_fixed({TypeKind::kInt64}, values)},
                                      {"dict(packed, strings(packed, plain))", "packed"}, 16384);
  const Expr column = column_expr(0, Physical::kBytes);
  const auto where = [&](const Expr& filter, RunReport* report) {
    const Aggregate sum = aggregate(AggregateOp::kSum, column_expr(1, Physical::kI64));
    return run_pipeline(pipeline_over(table, {sum}, &filter), cpu(), report)[0];
  };
  RunReport report;
  const Expr missing = make_expr(ExprOp::kEqual, Physical::kU8, {column, bytes_expr("MAIL")});
  EXPECT_TRUE(where(missing, &report).null);
  EXPECT_EQ(report.tiles.skipped, report.tiles.total);
  const Expr any = make_expr(ExprOp::kNotEqual, Physical::kU8, {column, bytes_expr("MAIL")});
  EXPECT_EQ(where(any, &report).integer, int64_t{50000} * 49999 / 2);
  EXPECT_EQ(report.tiles.all_true, report.tiles.total);
  // Entries that hold need not lie side by side.
  const Expr ends = make_expr(ExprOp::kIn, Physical::kU8, {column, bytes_expr("AIR"), bytes_expr("TRUCK")});
  int64_t expected = 0;
  for (int64_t i = 0; i < 50000; ++i) expected += i % 3 == 1 ? 0 : i;
  EXPECT_EQ(where(ends, &report).integer, expected);
}

TEST(Pipeline, TilesAreCountedByWhatDecidedThem) {
  std::vector<int64_t> line;
  std::vector<int64_t> noise;
  uint64_t state = 1;
  for (int64_t i = 0; i < 64 * kTileRows; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    line.push_back(1000 * i + static_cast<int64_t>(state >> 60));
    noise.push_back(static_cast<int64_t>(state >> 44));
  }
  const TestTable table = write_table({make_fixed({TypeKind::kInt64}, line), make_fixed({TypeKind::kInt64}, noise)},
                                      {"l3", "packed"}, 65536);
  const auto counts = [&](uint32_t column, int64_t below) {
    const Expr filter = make_expr(ExprOp::kLess, Physical::kU8,
                                  {column_expr(column, Physical::kI64), integer_expr(Physical::kI64, below)});
    RunReport report;
    const std::vector<int64_t>& values = column == 0 ? line : noise;
    EXPECT_EQ(run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kCountStar, {})}, &filter), cpu(), &report)[0]
                  .integer,
              std::count_if(values.begin(), values.end(), [&](int64_t value) { return value < below; }));
    const TileCounts& t = report.tiles;
    EXPECT_EQ(t.total, 64u);
    EXPECT_EQ(t.skipped + t.all_true + t.by_bounds + t.by_model + t.decoded, t.total);
    return t;
  };
  const TileCounts in_line = counts(0, line[10 * kTileRows + 500]);
  EXPECT_EQ(in_line.by_model, 1u);
  EXPECT_EQ(in_line.by_bounds, kTilesPerZone - 1);
  EXPECT_EQ(in_line.decoded, 0u);
  EXPECT_EQ(counts(1, 1 << 19).decoded, 64u);
}

// Floats that are decimals are tested as their integers: tiles beside the literal by their bounds, one that it cuts by
// its rows or the integers' model; exceptions are looked at one by one, and noise is decoded.
TEST(Pipeline, TilesOfFloatsAreCountedByWhatDecidedThem) {
  constexpr uint64_t kTiles = 64;
  constexpr uint64_t kCut = 10;  // the tile in which the literals lie
  static_assert(kCut / kTilesPerZone == 1);
  std::vector<double> steps;
  std::vector<double> noise;
  Random random(5);
  for (uint64_t i = 0; i < kTiles * kTileRows; ++i) {
    steps.push_back(static_cast<double>(i / kTileRows * 1000 + i * 7919 % 1000) / 100);
    noise.push_back(std::ldexp(static_cast<double>(random() >> 11), -53));
  }
  std::vector<double> line(steps.size());
  for (uint64_t i = 0; i < line.size(); ++i) line[i] = static_cast<double>(i) / 100;
  std::vector<double> patched = steps;
  patched[9 * kTileRows + 77] += 1e-9;
  patched[12 * kTileRows + 5] += 1e-9;
  const std::vector<const std::vector<double>*> all = {&steps, &line, &patched, &noise};
  std::vector<Column> columns;
  for (const std::vector<double>* values : all) columns.push_back(make_fixed({TypeKind::kFloat64}, *values));
  const TestTable table =
      write_table(std::move(columns), {"galp(packed)", "galp(l3)", "galp(packed)", "galp(packed)"}, 65536);
  const auto counts = [&](uint32_t column, double below) {
    const Expr filter = make_expr(ExprOp::kLess, Physical::kU8,
                                  {column_expr(column, Physical::kF64), real_expr(Physical::kF64, below)});
    RunReport report;
    const Value count =
        run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kCountStar, {})}, &filter), cpu(), &report)[0];
    EXPECT_EQ(count.integer, std::ranges::count_if(*all[column], [&](double value) { return value < below; }));
    const TileCounts& t = report.tiles;
    EXPECT_EQ(t.total, kTiles);
    EXPECT_EQ(t.skipped + t.all_true + t.by_bounds + t.by_model + t.decoded, t.total);
    return t;
  };
  const auto expect_zone = [](const TileCounts& t, uint64_t by_bounds, uint64_t by_model, uint64_t decoded) {
    EXPECT_EQ(t.all_true, kTilesPerZone);  // the zone before
    EXPECT_EQ(t.skipped, kTiles - 2 * kTilesPerZone);
    EXPECT_EQ(t.by_bounds, by_bounds);
    EXPECT_EQ(t.by_model, by_model);
    EXPECT_EQ(t.decoded, decoded);
  };
  const double below = kCut * 10 + 5.005;
  expect_zone(counts(0, below), kTilesPerZone - 1, 0, 1);
  expect_zone(counts(1, line[kCut * kTileRows + 500]), kTilesPerZone - 1, 1, 0);
  expect_zone(counts(2, below), kTilesPerZone - 3, 2, 1);
  EXPECT_EQ(counts(3, 0.5).decoded, kTiles);
}

TEST(Pipeline, AveragesRoundAsDuckDb) {
  const TestTable table = write_table({make_fixed<int64_t>({TypeKind::kDecimal, 15, 2}, {1, 2, 4}),
                                       make_fixed<int16_t>({TypeKind::kDecimal, 4, 2}, {1, 2, 4})});
  const std::vector<Value> got =
      run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kAvg, column_expr(0, Physical::kI64), 2),
                                         aggregate(AggregateOp::kAvg, column_expr(1, Physical::kI16), 2)}),
                   cpu());
  EXPECT_EQ(got[0].real, 7.0 / 300.0);
  EXPECT_EQ(got[1].real, 7.0 / 300.0);
}

TEST(Pipeline, FloatExtremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TestTable table = write_table({make_fixed<double>({TypeKind::kFloat64}, {0.0, -0.0, nan, 0.0})});
  const Expr column = column_expr(0, Physical::kF64);
  const std::vector<Value> got = run_pipeline(
      pipeline_over(table, {aggregate(AggregateOp::kMin, column), aggregate(AggregateOp::kMax, column)}), cpu());
  EXPECT_TRUE(std::signbit(got[0].real) && got[0].real == 0.0);
  EXPECT_TRUE(std::isnan(got[1].real));
}

TEST(Pipeline, PartsOfChunksGiveTheSameSums) {
  // One chunk of many zones and many threads: the chunk is worked on in parts.
  Random random(13);
  std::vector<double> reals(200000);
  for (double& real : reals) real = static_cast<double>(static_cast<int64_t>(random())) * 1e-3;
  std::vector<int32_t> keys(reals.size());
  for (int32_t& key : keys) key = static_cast<int32_t>(below(random, 100));
  const TestTable table = write_table({make_fixed({TypeKind::kFloat64}, reals), make_fixed({TypeKind::kInt32}, keys)});
  ASSERT_EQ(table.file->chunks().size(), 1u);
  const Expr real = column_expr(0, Physical::kF64);
  const Expr key = column_expr(1, Physical::kI32);
  const Expr some = make_expr(ExprOp::kLess, Physical::kU8, {key, integer_expr(Physical::kI32, 7)});
  const std::vector<Aggregate> aggregates = {aggregate(AggregateOp::kSum, real),  aggregate(AggregateOp::kCountStar),
                                             aggregate(AggregateOp::kCount, key), aggregate(AggregateOp::kMin, key),
                                             aggregate(AggregateOp::kMax, real),  aggregate(AggregateOp::kAvg, real),
                                             aggregate(AggregateOp::kSum, key)};
  const Expr* const filters[] = {nullptr, &some};
  for (const Expr* filter : filters) {
    const Pipeline pipeline = pipeline_over(table, aggregates, filter);
    RunReport one;
    RunReport many;
    const std::vector<Value> expected = run_pipeline(pipeline, cpu(1), &one);
    const std::vector<Value> got = run_pipeline(pipeline, cpu(8), &many);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_value(got[i], expected[i])) << i;
    EXPECT_TRUE(same_value(got[0], brute_force(aggregates[0], filter, table)));
    EXPECT_EQ(one.encoded_bytes_read, many.encoded_bytes_read);
  }
}

// By integers where a statement asks for nothing but sums of one column; in the order of other sums where it asks for
// more.
template <typename T>
void expect_filter_sum(galp::Pair pair, int64_t digits) {
  constexpr bool kDouble = sizeof(T) == 8;
  constexpr Physical kPhysical = kDouble ? Physical::kF64 : Physical::kF32;
  constexpr TypeKind kType = kDouble ? TypeKind::kFloat64 : TypeKind::kFloat32;
  Random random(31);
  const auto scale = galp::Scale<T>::of(pair);
  std::vector<T> values(70 * kTileRows + 100);
  for (T& value : values) {
    do {
      value = static_cast<T>(static_cast<int64_t>(below(random, 100'000)) - 50'000) / static_cast<T>(digits);
    } while (galp::encode(value, scale).exception != 0);
  }
  // Five tiles have exceptions, which few rows of a filter are.
  for (size_t i = 0; i < 5 * kTileRows; i += 90) values[i] = T{1} / T{3};
  const TestTable table = write_table({make_fixed({kType}, values)}, {"galp(packed)"}, 65536);
  const Expr column = column_expr(0, kPhysical);
  const Aggregate sum = aggregate(AggregateOp::kSum, column);
  const auto at_least = [&](double low) {
    return make_expr(ExprOp::kGreaterEqual, Physical::kU8, {column, real_expr(kPhysical, low)});
  };
  // What the reader makes of each whole tile; the last one's rows are added one after the other.
  const auto expected = [&](double low) {
    const Node node = testing::encoded(testing::view(values), "galp(packed)");
    const std::unique_ptr<Reader> reader = open_reader(view_of(node));
    double chunk_sums[2] = {0, 0};
    for (uint32_t tile = 0; tile < 70; ++tile) {
      uint8_t live[kTileRows];
      for (uint32_t i = 0; i < kTileRows; ++i) {
        live[i] = values[tile * size_t{kTileRows} + i] >= static_cast<T>(low) ? 1 : 0;
      }
      chunk_sums[tile / 64] += reader->filter_sum(tile, live).value();
    }
    std::vector<T> rest(values.end() - 100, values.end());
    const TestTable last = write_table({make_fixed({kType}, rest)}, {"plain"});
    const Expr filter = at_least(low);
    return Value::of_real(Physical::kF64, chunk_sums[0] + (chunk_sums[1] + brute_force(sum, &filter, last).real));
  };
  for (const double low : {-2000.0, -400.0, 0.0, 0.32, 450.0, 499.5}) {
    const Expr filter = at_least(low);
    const Value got = run_pipeline(pipeline_over(table, {sum}, &filter), cpu(1))[0];
    EXPECT_TRUE(same_value(got, expected(low))) << low;
    EXPECT_TRUE(same_value(got, run_pipeline(pipeline_over(table, {sum}, &filter), cpu(8))[0])) << low;
    const std::vector<Value> more =
        run_pipeline(pipeline_over(table, {sum, aggregate(AggregateOp::kMax, column)}, &filter), cpu());
    EXPECT_TRUE(same_value(more[0], brute_force(sum, &filter, table))) << low;
    EXPECT_NEAR(got.real, more[0].real, 1e-11 * 250 * static_cast<double>(values.size())) << low;
  }
  const Value all = run_pipeline(pipeline_over(table, {sum}), cpu())[0];
  EXPECT_TRUE(same_value(all, expected(-2000)));
  // Of floats of four bytes both are exact here.
  EXPECT_EQ(same_value(all, brute_force(sum, nullptr, table)), !kDouble);
}

TEST(Pipeline, DecimalsAreAddedAsTheyAreStored) {
  expect_filter_sum<double>({14, 12}, 100);
  expect_filter_sum<float>({2, 0}, 100);
}

TEST(Pipeline, SeveralFilesInOrder) {
  const TestTable a = write_table({make_fixed<double>({TypeKind::kFloat64}, {0.1, 0.2})});
  const TestTable b = write_table({make_fixed<double>({TypeKind::kFloat64}, {0.3})});
  Pipeline pipeline = pipeline_over(a, {aggregate(AggregateOp::kSum, column_expr(0, Physical::kF64))});
  pipeline.files.push_back(b.file);
  EXPECT_EQ(run_pipeline(pipeline, cpu(2))[0].real, (0.1 + 0.2) + 0.3);
}

TEST(Pipeline, CancelsAndReportsProgress) {
  const TestTable table =
      write_table({make_fixed<int32_t>({TypeKind::kInt32}, std::vector<int32_t>(20000, 1))}, {}, 8192);
  const Pipeline pipeline = pipeline_over(table, {aggregate(AggregateOp::kSum, column_expr(0, Physical::kI32))});
  RunOptions options = cpu();
  double last = 0;
  options.progress = [&](double share) {
    EXPECT_GT(share, last);
    last = share;
  };
  run_pipeline(pipeline, options);
  EXPECT_EQ(last, 1.0);
  CancelToken token;
  token.cancel();
  options.cancel = &token;
  try {
    run_pipeline(pipeline, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST(Pipeline, RefusesMalformedExpressions) {
  const TestTable table = write_table({make_fixed<int32_t>({TypeKind::kInt32}, {1})});
  const Expr column = column_expr(0, Physical::kI32);
  const auto refuse = [&](const Expr& arg) {
    EXPECT_THROW(run_pipeline(pipeline_over(table, {aggregate(AggregateOp::kSum, arg)}), cpu()), Error);
  };
  refuse(column_expr(1, Physical::kI32));
  refuse(column_expr(0, Physical::kI64));
  refuse(make_expr(ExprOp::kAdd, Physical::kI32, {column}));
  refuse(make_expr(ExprOp::kAdd, Physical::kI32, {column, integer_expr(Physical::kI64, 1)}));
  refuse(make_expr(ExprOp::kIn, Physical::kU8, {column, column}));
  refuse(make_expr(ExprOp::kMember, Physical::kU8, {column, column, column, column, column}));
  refuse(make_expr(ExprOp::kLookUp, Physical::kI32, {column, column, column, column, column, column, column}));
  Expr cast = make_expr(ExprOp::kCast, Physical::kI64, {column});
  cast.power_of_ten = 99;
  refuse(cast);
}

}  // namespace
}  // namespace basalt::test
