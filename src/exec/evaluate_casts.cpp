// Casts between numbers, tile by tile.
#include <algorithm>

#include "exec/conversions.h"
#include "exec/evaluate_calls.h"

namespace basalt::exec {

namespace {

template <typename In, typename Out>
void cast_to_real(Step& step, const In* in, Out* out, uint32_t rows) {
  const int128_t power = power_of_ten(step.expr->power_of_ten);
  const auto divisor = static_cast<Out>(int128_to_real<double>(power));
  const int128_t exact = int128_t{1} << (sizeof(Out) == 8 ? 53 : 24);
  const IntegerRange& range = step.args[0].range;
  if (sizeof(In) <= 8 && range.low >= -exact && range.high <= exact) {
    for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<Out>(in[i]) / divisor;
    return;
  }
  if (step.args[0].expr->type == Physical::kU64) {
    for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<Out>(static_cast<uint64_t>(in[i]));
    return;
  }
  // The two-step conversion of 128-bit integers differs from the 64-bit one in its roundings: the type decides.
  const bool wide = step.args[0].expr->type == Physical::kI128 || sizeof(In) == 16 || step.expr->power_of_ten > 18;
  for (uint32_t i = 0; i < rows; ++i) {
    const auto value = static_cast<int128_t>(in[i]);
    const auto narrow = static_cast<int64_t>(in[i]);
    if (step.expr->power_of_ten == 0) {
      if constexpr (sizeof(Out) == 8) {
        out[i] = wide ? int_to_double(value) : int_to_double(narrow);
      } else {
        out[i] = wide ? int_to_float(value) : int_to_float(narrow);
      }
    } else if constexpr (sizeof(Out) == 8) {
      out[i] = wide ? decimal_to_double(value, power, divisor)
                    : decimal_to_double(narrow, static_cast<int64_t>(power), divisor);
    } else {
      out[i] = wide ? decimal_to_float(value, power, divisor)
                    : decimal_to_float(narrow, static_cast<int64_t>(power), divisor);
    }
  }
}

Vector run_cast_to_real(Step& step, TileInput& input) {
  const Lane from = step.args[0].lane;
  const uint32_t rows = input.rows();
  const Vector a = in_lane(step.args[0], input, from == Lane::kBool ? Lane::kI32 : from);
  if (a.lane == step.lane) return a;
  if (a.lane == Lane::kF64) {
    return call_rows<float>(step, input, a.valid, DoubleToFloat{}, a.as<double>());
  }
  if (a.lane == Lane::kF32) {
    convert_loop(a.as<float>(), room<double>(step.data), rows);
  } else {
    dispatch_integer_lane(a.lane, [&](auto type) {
      using In = decltype(type);
      if (step.lane == Lane::kF64) {
        cast_to_real(step, a.as<In>(), room<double>(step.data), rows);
      } else {
        cast_to_real(step, a.as<In>(), room<float>(step.data), rows);
      }
    });
  }
  return {step.lane, step.data.data(), a.valid};
}

// body(T{}) with the integer type that is meant by a physical type.
template <typename Body>
void dispatch_integer_type(Physical type, Body&& body) {
  switch (type) {
    case Physical::kU8: body(uint8_t{}); break;
    case Physical::kU16: body(uint16_t{}); break;
    case Physical::kU32: body(uint32_t{}); break;
    case Physical::kU64: body(uint64_t{}); break;
    case Physical::kI8: body(int8_t{}); break;
    case Physical::kI16: body(int16_t{}); break;
    case Physical::kI32: body(int32_t{}); break;
    case Physical::kI64: body(int64_t{}); break;
    default: body(int128_t{}); break;
  }
}

template <typename Real>
Vector cast_from_real(Step& step, TileInput& input, const Vector& a) {
  Vector out;
  dispatch_integer_lane(step.lane, [&](auto lane) {
    using Int = decltype(lane);
    if (step.expr->limit != 0) {
      out = call_rows<Int>(step, input, a.valid, real_to_decimal(*step.expr), a.as<Real>());
      return;
    }
    dispatch_integer_type(step.expr->type, [&](auto type) {
      using Type = decltype(type);
      if constexpr (sizeof(Type) < 16 || sizeof(Int) == 16) {
        out = call_rows<Int>(step, input, a.valid, RealToInteger<Type>{}, a.as<Real>());
      } else {  // the bounds have proven that the results are small
        out = call_rows<Int>(step, input, a.valid, RealToInteger<int64_t>{}, a.as<Real>());
      }
    });
  });
  return out;
}

// With the results checked.
template <typename Int>
Vector rescale(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, step.lane);
  const IntegerScaling scaling = scaling_in(*step.expr, step.lane);
  const auto least = static_cast<Int>(scaling.least);
  const auto most = static_cast<Int>(scaling.most);
  const auto by = static_cast<Int>(scaling.by);
  if (scaling.up) return call_rows<Int>(step, input, a.valid, ScaledUp<Int>{by, least, most}, a.as<Int>());
  return call_rows<Int>(step, input, a.valid, ScaledDown<Int>{by, least, most}, a.as<Int>());
}

Vector multiply(Step& step, TileInput& input, int128_t factor) {
  const Vector a = in_lane(step.args[0], input, step.lane);
  if (factor == 1) return a;
  dispatch_integer_lane(step.lane, [&](auto type) {
    using Int = decltype(type);
    using Unsigned = typename UnsignedOf<Int>::type;
    const auto* in = a.as<Int>();
    auto* out = room<Int>(step.data);
    const auto by = static_cast<Unsigned>(factor);
    for (uint32_t i = 0; i < input.rows(); ++i) out[i] = static_cast<Int>(static_cast<Unsigned>(in[i]) * by);
  });
  return {step.lane, step.data.data(), a.valid};
}

}  // namespace

RealToDecimal real_to_decimal(const Expr& cast) {
  return {int128_to_real<double>(power_of_ten(cast.power_of_ten)), int128_to_real<double>(cast.limit + 1)};
}

IntegerScaling scaling_in(const Expr& cast, Lane lane) {
  const IntegerRange of_lane = range_of(lane == Lane::kI32   ? Physical::kI32
                                        : lane == Lane::kI64 ? Physical::kI64
                                                             : Physical::kI128);
  const IntegerRange allowed = allowed_range(cast);
  const int128_t low = std::max(allowed.low, of_lane.low);
  const int128_t high = std::min(allowed.high, of_lane.high);
  if (cast.power_of_ten < 0) return {false, power_of_ten(-cast.power_of_ten), low, high};
  const int128_t factor = power_of_ten(cast.power_of_ten) * cast.factor;
  return {true, factor, low / factor, high / factor};
}

Vector run_cast(Step& step, TileInput& input) {
  if (step.lane == Lane::kF64 || step.lane == Lane::kF32) return run_cast_to_real(step, input);
  const Lane from = step.args[0].lane;
  if (from == Lane::kF64) return cast_from_real<double>(step, input, in_lane(step.args[0], input, from));
  if (from == Lane::kF32) return cast_from_real<float>(step, input, in_lane(step.args[0], input, from));
  if (!step.may_throw && step.expr->power_of_ten >= 0) {
    return multiply(step, input, power_of_ten(step.expr->power_of_ten) * step.expr->factor);
  }
  return dispatch_integer_lane(step.lane, [&](auto type) { return rescale<decltype(type)>(step, input); });
}

}  // namespace basalt::exec
