#include "exec/column_facts.h"

#include <algorithm>
#include <cmath>

#include "exec/evaluate.h"
#include "exec/fixed_sum.h"
#include "exec/scalar.h"

namespace basalt::exec {

Statistics merged_statistics(const Pipeline& pipeline, uint32_t field) {
  Statistics all;
  bool first = true;
  for (const auto& file : pipeline.files) {
    const Statistics& one = file->column(field).stats;
    if (first) {
      all = one;
      first = false;
      continue;
    }
    all.rows += one.rows;
    all.null_count += one.null_count;
    all.has_nan = all.has_nan || one.has_nan;
    const bool one_empty = one.rows == one.null_count;
    if (one_empty) continue;
    if (all.rows - one.rows == all.null_count - one.null_count) {  // nothing but NULLs so far
      all.min = one.min;
      all.max = one.max;
    } else {
      if (one.min.null || all.min.null || one.min.type != all.min.type) {
        all.min = Value::of_null(all.min.type);
      } else if (compare(one.min, all.min) < 0) {
        all.min = one.min;
      }
      if (one.max.null || all.max.null || one.max.type != all.max.type) {
        all.max = Value::of_null(all.max.type);
      } else if (compare(one.max, all.max) > 0) {
        all.max = one.max;
      }
    }
  }
  return all;
}

std::vector<Statistics> column_statistics(const Pipeline& pipeline) {
  std::vector<Statistics> out;
  for (size_t i = 0; !pipeline.files.empty() && i < pipeline.columns.size(); ++i) {
    out.push_back(merged_statistics(pipeline, pipeline.columns[i].field_id));
  }
  return out;
}

StatisticsList list_of(const std::vector<Statistics>& statistics, size_t columns) {
  StatisticsList out;
  for (const Statistics& one : statistics) out.push_back(&one);
  out.resize(columns, nullptr);
  return out;
}

// What statistics know of a column of floats: its bounds leave NaN out, and infinity is no bound. Integers that became
// floats are bounded as these are, by one more since they are rounded.
std::optional<int32_t> float_exponent(const Expr& argument, const StatisticsList& stats) {
  if (argument.op == ExprOp::kCast && is_integer(argument.args[0].type)) {
    const Bounds bounds = bounds_of(argument.args[0], stats);
    const auto divisor = int128_to_real<double>(power_of_ten(argument.power_of_ten));
    const auto above = [&](const Value& bound) {
      return exponent_above(int128_to_real<double>(bound.integer) / divisor) + 1;
    };
    return std::max(above(bounds.low), above(bounds.high));
  }
  const Expr* inner = &argument;
  if (inner->op == ExprOp::kCast && is_float(inner->args[0].type)) inner = &inner->args[0];
  if (inner->op != ExprOp::kColumn || stats[inner->column] == nullptr) return std::nullopt;
  const Statistics& known = *stats[inner->column];
  if (known.rows == known.null_count) return kLeastExponent;
  if (known.min.null || known.max.null || !std::isfinite(known.min.real) || !std::isfinite(known.max.real)) {
    return std::nullopt;
  }
  return std::max(exponent_above(known.min.real), exponent_above(known.max.real));
}

std::optional<uint64_t> sorted_values(const Pipeline& pipeline, uint32_t field) {
  bool rises = true;
  bool falls = true;
  uint64_t values = 0;
  const Statistics* before = nullptr;
  for (const auto& file : pipeline.files) {
    for (const ColumnChunkInfo& chunk : file->column(field).chunks) {
      const Statistics& stats = chunk.stats;
      if (chunk.rows == 0) continue;
      if (stats.null_count != 0 || stats.has_nan || stats.min.null || stats.max.null) return std::nullopt;
      // Bounds of strings may be wider than these are: what they prove holds all the more.
      rises = rises && stats.ascending && (before == nullptr || compare(before->max, stats.min) <= 0);
      falls = falls && stats.descending && (before == nullptr || compare(before->min, stats.max) >= 0);
      if (!rises && !falls) return std::nullopt;
      values += stats.distinct == 0 ? chunk.rows : std::min(stats.distinct, chunk.rows);
      before = &stats;
    }
  }
  return values;
}

std::optional<IntegerRange> value_range(const Expr& expr, const StatisticsList& stats) {
  if (!is_integer(expr.type)) return std::nullopt;
  const Step step = prepare(expr, stats);
  return step.lane == Lane::kBool ? IntegerRange{0, 1} : step.range;
}

std::optional<IntegerRange> result_range(const Aggregate& aggregate, const StatisticsList& stats, uint64_t rows) {
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return IntegerRange{0, static_cast<int128_t>(rows)};
    case AggregateOp::kSum: {
      const std::optional<IntegerRange> values = value_range(aggregate.arg, stats);
      if (!values || !sum_fits(*values, rows, 126)) return std::nullopt;
      const auto most = static_cast<int128_t>(rows);
      return IntegerRange{std::min<int128_t>(values->low, 0) * most, std::max<int128_t>(values->high, 0) * most};
    }
    case AggregateOp::kMin:
    case AggregateOp::kMax:
    case AggregateOp::kFirst:
    case AggregateOp::kLast:
    case AggregateOp::kAnyValue: return value_range(aggregate.arg, stats);
    default: return std::nullopt;
  }
}

uint64_t row_count(const Pipeline& pipeline) {
  uint64_t rows = 0;
  for (const auto& file : pipeline.files) {
    for (const ChunkInfo& chunk : file->chunks()) rows += chunk.rows;
  }
  return rows;
}

}  // namespace basalt::exec
