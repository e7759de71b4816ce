// Merging and finishing aggregate states; see aggregate.h for the order of float sums.
#include "exec/aggregate.h"

#include <bit>
#include <cmath>
#include <limits>

#include "basalt/core/error.h"
#include "exec/scalar.h"

namespace basalt::exec {

bool is_better(AggregateOp op, const Value& candidate, const Value& current) {
  if (candidate.null) return false;
  if (current.null) return true;
  const int order = compare(candidate, current);
  if (order != 0) return op == AggregateOp::kMin ? order < 0 : order > 0;
  if (!is_float(candidate.type) || candidate.real != 0.0) return false;
  return op == AggregateOp::kMin ? std::signbit(candidate.real) && !std::signbit(current.real)
                                 : !std::signbit(candidate.real) && std::signbit(current.real);
}

double real_of_order_key(int64_t key) {
  constexpr int64_t kNan = std::numeric_limits<int64_t>::max();
  if (key == kNan) return std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<double>(key ^ (key >> 63 & kNan));
}

void merge(const Aggregate& aggregate, AggregateState& into, const AggregateState& from) {
  into.count += from.count;
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: break;
    case AggregateOp::kSum:
    case AggregateOp::kAvg:
      into.sum.add(from.sum);
      into.real_sum += from.real_sum;
      break;
    case AggregateOp::kMin:
    case AggregateOp::kMax:
      if (is_better(aggregate.op, from.extreme, into.extreme)) into.extreme = from.extreme;
      break;
    default: throw Error(ErrorCode::kInternal, "an aggregate that only groups have");
  }
}

namespace {

int128_t checked_sum(const AggregateState& state) {
  if (!state.sum.fits()) throw Error(ErrorCode::kOutOfRange, "Overflow in HUGEINT addition: the sum leaves 128 bits");
  return static_cast<int128_t>(state.sum.low);
}

// DuckDB keeps averages of 16-bit values in a 64-bit state and divides doubles, all others in 128 bits and divides long
// doubles, whose precision is the platform's.
double integer_average(const Aggregate& aggregate, const AggregateState& state) {
  const int128_t sum = checked_sum(state);
  const auto scale = int128_to_real<double>(power_of_ten(aggregate.avg_scale));
  if (width_of(aggregate.arg.type) <= 2) {
    return static_cast<double>(static_cast<int64_t>(sum)) / (static_cast<double>(state.count) * scale);
  }
  const long double divisor = static_cast<long double>(state.count) * static_cast<long double>(scale);
  return static_cast<double>(int128_to_real<long double>(sum) / divisor);
}

// Additions give a NaN the sign and the payload that their machine likes.
double same_nan(double sum) { return std::isnan(sum) ? std::numeric_limits<double>::quiet_NaN() : sum; }

}  // namespace

Value finish(const Aggregate& aggregate, const AggregateState& state) {
  const bool real = aggregate.op != AggregateOp::kCountStar && is_float(aggregate.arg.type);
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return Value::of_integer(Physical::kI64, static_cast<int128_t>(state.count));
    case AggregateOp::kSum:
      if (state.count == 0) return Value::of_null(real ? Physical::kF64 : Physical::kI128);
      if (real) return Value::of_real(Physical::kF64, same_nan(state.real_sum));
      return Value::of_integer(Physical::kI128, checked_sum(state));
    case AggregateOp::kAvg:
      if (state.count == 0) return Value::of_null(Physical::kF64);
      return Value::of_real(Physical::kF64, real ? same_nan(state.real_sum) / static_cast<double>(state.count)
                                                 : integer_average(aggregate, state));
    case AggregateOp::kMin:
    case AggregateOp::kMax: return state.extreme.null ? Value::of_null(aggregate.arg.type) : state.extreme;
    default: break;
  }
  throw Error(ErrorCode::kInternal, "unknown aggregate");
}

}  // namespace basalt::exec
