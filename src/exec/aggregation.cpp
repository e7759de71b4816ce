// Aggregating tiles: masked loops where most rows are alive, plain loops over gathered rows where few are.
#include "exec/aggregation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "basalt/core/error.h"
#include "core/lane_sum.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

// Sum of values, all rows or those whose mask is 1, in a type that cannot overflow over one tile; unsigned inside, as
// statistics that lie must not become undefined behaviour.
template <typename Sum, typename T>
Sum sum_loop(const T* __restrict values, const uint8_t* __restrict mask, uint32_t rows) {
  using U = typename UnsignedOf<Sum>::type;
  // Masked before widening: half the work for 32-bit lanes.
  const auto term = [&](uint32_t i) {
    const T value = mask == nullptr ? values[i] : static_cast<T>(values[i] & -static_cast<T>(mask[i]));
    return static_cast<U>(static_cast<Sum>(value));
  };
  // Several sums side by side: one alone waits for its own last addition.
  constexpr uint32_t kSums = 16;
  U sums[kSums] = {};
  const uint32_t whole = rows / kSums * kSums;
  if (mask == nullptr) {
    for (uint32_t i = 0; i < whole; i += kSums) {
      for (uint32_t s = 0; s < kSums; ++s) sums[s] += static_cast<U>(static_cast<Sum>(values[i + s]));
    }
  } else {
    for (uint32_t i = 0; i < whole; i += kSums) {
      for (uint32_t s = 0; s < kSums; ++s) sums[s] += term(i + s);
    }
  }
  for (uint32_t i = whole; i < rows; ++i) sums[0] += term(i);
  for (uint32_t s = 1; s < kSums; ++s) sums[0] += sums[s];
  return static_cast<Sum>(sums[0]);
}

void add_integers(const Vector& vector, const IntegerRange& range, const uint8_t* mask, uint32_t rows, WideSum& sum) {
  constexpr int128_t kOne = 1;
  if (vector.lane == Lane::kI32) {
    sum.add(sum_loop<int64_t>(vector.as<int32_t>(), mask, rows));
  } else if (vector.lane == Lane::kI64) {
    // 1024 values below 2^53 in magnitude cannot leave 64 bits.
    if (range.low >= -(kOne << 53) && range.high <= (kOne << 53)) {
      sum.add(sum_loop<int64_t>(vector.as<int64_t>(), mask, rows));
    } else {
      sum.add(sum_loop<int128_t>(vector.as<int64_t>(), mask, rows));
    }
  } else if (range.low >= -(kOne << 116) && range.high <= (kOne << 116)) {
    sum.add(sum_loop<int128_t>(vector.as<int128_t>(), mask, rows));
  } else {
    for (uint32_t i = 0; i < rows; ++i) {
      if (mask == nullptr || mask[i] != 0) sum.add(vector.as<int128_t>()[i]);
    }
  }
}

// The order of float sums is fixed: see aggregate.h.
template <typename T>
double sum_reals(const T* values, const uint8_t* mask, uint32_t rows) {
  double lanes[kLanes] = {};
  uint32_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    if (mask == nullptr) {
      for (uint32_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(values[i + l]);
    } else {
      for (uint32_t l = 0; l < kLanes; ++l) lanes[l] += mask[i + l] != 0 ? static_cast<double>(values[i + l]) : 0.0;
    }
  }
  for (uint32_t l = 0; i + l < rows; ++l) {
    if (mask == nullptr || mask[i + l] != 0) lanes[l] += static_cast<double>(values[i + l]);
  }
  return sum_of_lanes(lanes);
}

template <typename T>
double sum_listed_reals(const T* values, const uint8_t* mask, const uint16_t* list, uint32_t rows) {
  double lanes[kLanes] = {};
  for (uint32_t i = 0; i < rows; ++i) {
    if (mask == nullptr || mask[i] != 0) lanes[list[i] % kLanes] += static_cast<double>(values[i]);
  }
  return sum_of_lanes(lanes);
}

template <typename T>
T integer_extreme(AggregateOp op, const T* values, const uint8_t* mask, uint32_t rows) {
  // Rows that do not count take the first value's place as the worst possible one.
  const T worst = op == AggregateOp::kMin ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  T best = worst;
  const auto loop = [&](auto better) {
    if (mask == nullptr) {
      for (uint32_t i = 0; i < rows; ++i) best = better(values[i], best);
    } else {
      for (uint32_t i = 0; i < rows; ++i) best = better(mask[i] != 0 ? values[i] : worst, best);
    }
  };
  if (op == AggregateOp::kMin) {
    loop([](T a, T b) { return a < b ? a : b; });
  } else {
    loop([](T a, T b) { return a > b ? a : b; });
  }
  return best;
}

template <typename T, typename Less>
const T* extreme_row(AggregateOp op, const T* values, const uint8_t* mask, uint32_t rows, Less less) {
  const T* best = nullptr;
  for (uint32_t i = 0; i < rows; ++i) {
    if (mask != nullptr && mask[i] == 0) continue;
    if (best == nullptr || (op == AggregateOp::kMin ? less(values[i], *best) : less(*best, values[i])))
      best = &values[i];
  }
  return best;
}

// At least one row counts.
Value extreme_of(AggregateOp op, Physical type, const Vector& vector, const uint8_t* mask, uint32_t rows) {
  switch (vector.lane) {
    case Lane::kI32: return Value::of_integer(type, integer_extreme(op, vector.as<int32_t>(), mask, rows));
    case Lane::kI64: return Value::of_integer(type, integer_extreme(op, vector.as<int64_t>(), mask, rows));
    case Lane::kI128: return Value::of_integer(type, integer_extreme(op, vector.as<int128_t>(), mask, rows));
    case Lane::kBool: return Value::of_integer(type, integer_extreme(op, vector.as<uint8_t>(), mask, rows));
    case Lane::kF32: return Value::of_real(type, *extreme_row(op, vector.as<float>(), mask, rows, real_less<float>));
    case Lane::kF64: return Value::of_real(type, *extreme_row(op, vector.as<double>(), mask, rows, real_less<double>));
    case Lane::kBytes:
      return Value::of_bytes(
          std::string(*extreme_row(op, vector.as<std::string_view>(), mask, rows, std::less<std::string_view>())));
  }
  throw Error(ErrorCode::kInternal, "unknown lane");
}

}  // namespace

Aggregation::Aggregation(const std::vector<Aggregate>& aggregates, bool float_filter_sum)
    : aggregates_(aggregates), float_filter_sum_(float_filter_sum) {
  for (size_t i = 0; i < aggregates.size(); ++i) {
    if (aggregates[i].op == AggregateOp::kCountStar) continue;
    auto shared = std::find_if(arguments_.begin(), arguments_.end(),
                               [&](const Argument& a) { return same_expression(*a.expr, aggregates[i].arg); });
    if (shared == arguments_.end()) {
      arguments_.emplace_back();
      shared = arguments_.end() - 1;
      shared->expr = &aggregates[i].arg;
      shared->mask.resize(kTileRows);
    }
    shared->users.push_back(i);
  }
}

bool Aggregation::from_statistics(const Aggregate& aggregate, const ChunkTiles& tiles, AggregateState& state) const {
  if (aggregate.op == AggregateOp::kCountStar) {
    state.count = tiles.chunk_rows();
    return true;
  }
  if (aggregate.arg.op != ExprOp::kColumn) return false;
  const Statistics& stats = *tiles.chunk_statistics()[aggregate.arg.column];
  if (stats.rows != tiles.chunk_rows() || stats.null_count > stats.rows) return false;
  const uint64_t count = stats.rows - stats.null_count;
  if (aggregate.op == AggregateOp::kCount) {
    state.count = count;
    return true;
  }
  const bool min = aggregate.op == AggregateOp::kMin;
  if ((!min && aggregate.op != AggregateOp::kMax) || !is_integer(aggregate.arg.type)) return false;
  const Value& value = min ? stats.min : stats.max;
  if (count > 0 && (value.null || value.type != aggregate.arg.type || !(min ? stats.min_exact : stats.max_exact))) {
    return false;
  }
  state.count = count;
  if (count > 0) state.extreme = value;
  return true;
}

bool Aggregation::open_chunk(ChunkTiles& tiles, bool whole_chunk, bool use_statistics, bool first_part) {
  states_.assign(aggregates_.size(), {});
  tile_sums_.assign(aggregates_.size(), {});
  finished_.assign(aggregates_.size(), false);
  live_rows_ = 0;
  if (whole_chunk && use_statistics) {
    for (size_t i = 0; i < aggregates_.size(); ++i) finished_[i] = from_statistics(aggregates_[i], tiles, states_[i]);
    if (!first_part) states_.assign(aggregates_.size(), {});
    if (std::all_of(finished_.begin(), finished_.end(), [](bool f) { return f; })) return false;
  }
  const StatisticsList stats = tiles.chunk_statistics();
  for (Argument& argument : arguments_) {
    argument.step = prepare(*argument.expr, stats);
    argument.only_counted = argument.expr->op == ExprOp::kColumn;
    for (const size_t user : argument.users) {
      if (!finished_[user]) argument.only_counted &= aggregates_[user].op == AggregateOp::kCount;
    }
  }
  return true;
}

void Aggregation::add(ChunkTiles& tiles) {
  live_rows_ += tiles.alive();
  for (Argument& argument : arguments_) add_argument(argument, tiles);
}

void Aggregation::add_argument(Argument& argument, ChunkTiles& tiles) {
  const bool wanted =
      std::any_of(argument.users.begin(), argument.users.end(), [&](size_t u) { return !finished_[u]; });
  if (!wanted) return;
  const uint32_t rows = tiles.rows();
  std::optional<double> filter_sum;
  if (float_filter_sum_ && !argument.only_counted) filter_sum = tiles.filter_sum(argument.expr->column);
  Vector vector;
  if (argument.only_counted || filter_sum) {
    vector.valid = tiles.valid(argument.expr->column);
  } else {
    vector = evaluate(argument.step, tiles);
  }
  // Rows that count: alive and not NULL.
  const uint8_t* mask = tiles.live();
  if (mask == nullptr) {
    mask = vector.valid;
  } else if (vector.valid != nullptr) {
    auto* both = argument.mask.as<uint8_t>();
    std::copy_n(mask, rows, both);
    mask_and(both, vector.valid, rows);
    mask = both;
  }
  const uint32_t count = mask == nullptr ? rows : count_mask(mask, rows);
  if (count == 0) return;
  bool summed = false;
  WideSum sum;
  double real_sum = 0;
  for (const size_t user : argument.users) {
    if (finished_[user]) continue;
    const Aggregate& aggregate = aggregates_[user];
    AggregateState& state = states_[user];
    state.count += count;
    if (aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg) {
      if (!summed) {
        const auto sum_floats = [&](const auto* values) {
          return tiles.is_list() ? sum_listed_reals(values, mask, tiles.list(), rows) : sum_reals(values, mask, rows);
        };
        if (filter_sum) {
          real_sum = *filter_sum;
        } else if (vector.lane == Lane::kF64) {
          real_sum = sum_floats(vector.as<double>());
        } else if (vector.lane == Lane::kF32) {
          real_sum = sum_floats(vector.as<float>());
        } else if (vector.lane == Lane::kBool) {
          sum.add(sum_loop<int64_t>(vector.as<uint8_t>(), mask, rows));
        } else {
          add_integers(vector, argument.step.range, mask, rows, sum);
        }
        summed = true;
      }
      state.sum.add(sum);
      if (is_float(aggregate.arg.type)) tile_sums_[user].push_back(real_sum);
    } else if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
      const Value candidate = extreme_of(aggregate.op, aggregate.arg.type, vector, mask, rows);
      if (is_better(aggregate.op, candidate, state.extreme)) state.extreme = candidate;
    }
  }
}

PartStates Aggregation::take() {
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    if (aggregates_[i].op == AggregateOp::kCountStar && !finished_[i]) states_[i].count = live_rows_;
  }
  return {std::move(states_), std::move(tile_sums_)};
}

}  // namespace basalt::exec
