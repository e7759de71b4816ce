// Writing casts between numbers.
#include "exec/conversions.h"
#include "exec/device/generate/emit.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

namespace {

// Whether a cast makes NULLs.
bool nulls_of(const Step& step) { return step.null_if_out_of_range && step.may_throw; }

}  // namespace

// Follows the interpreter's rule for which conversion rounds as DuckDB does.
Emitted RowEmitter::cast_to_real(const Step& step) {
  const Emitted a = value(step.args[0]);
  if (a.lane == step.lane) return a;
  const std::string type = lane_type(step.lane);
  if (a.lane == Lane::kF64) return call(step, "DoubleToFloat{}", {a.value}, a.valid, step.lane, nulls_of(step));
  if (a.lane == Lane::kF32) return {temporary(type, "static_cast<double>(" + a.value + ")"), a.valid, step.lane};
  const bool twice = step.lane == Lane::kF64;
  const int32_t exponent = step.expr->power_of_ten;
  const int128_t power = exec::power_of_ten(exponent);
  const std::string exact_divisor = real_text(exec::int128_to_real<double>(power));
  const std::string divisor = twice ? exact_divisor : "static_cast<float>(" + exact_divisor + ")";
  const int128_t exact = int128_t{1} << (twice ? 53 : 24);
  const exec::IntegerRange& range = step.args[0].range;
  const bool bounded = range.low >= -exact && range.high <= exact;
  std::string text;
  if (a.lane != Lane::kI128 && bounded) {
    text = "static_cast<" + type + ">(" + in_lane(a, widest(a.lane, Lane::kI32)) + ") / " + divisor;
    if (exponent == 0) text = "static_cast<" + type + ">(" + in_lane(a, widest(a.lane, Lane::kI32)) + ")";
  } else if (step.args[0].expr->type == Physical::kU64) {
    text = "static_cast<" + type + ">(static_cast<uint64_t>(" + a.value + "))";
  } else {
    const bool wide = step.args[0].expr->type == Physical::kI128 || a.lane == Lane::kI128 || exponent > 18;
    const Lane lane = wide ? Lane::kI128 : Lane::kI64;
    const std::string suffix = twice ? "double" : "float";
    text = exponent == 0 ? "exec::int_to_" + suffix + "(" + in_lane(a, lane) + ")"
                         : "exec::decimal_to_" + suffix + "<" + lane_type(lane) + ">(" + in_lane(a, lane) + ", " +
                               constant_text(power) + ", " + divisor + ")";
  }
  return {temporary(type, text), a.valid, step.lane};
}

Emitted RowEmitter::cast_from_real(const Step& step, const Emitted& a) {
  const Expr& expr = *step.expr;
  std::string functor;
  if (expr.limit != 0) {
    const exec::RealToDecimal decimal = exec::real_to_decimal(expr);
    functor = "RealToDecimal{" + real_text(decimal.multiplier) + ", " + real_text(decimal.end) + "}";
  } else {
    // Where the bounds have proven that the results are small, so is the type.
    const bool small = expr.type == Physical::kI128 && step.lane != Lane::kI128;
    functor = std::string("RealToInteger<") + logical_type(small ? Physical::kI64 : expr.type) + ">{}";
  }
  return call(step, functor, {a.value}, a.valid, step.lane, nulls_of(step));
}

Emitted RowEmitter::cast(const Step& step) {
  if (is_real(step.lane)) return cast_to_real(step);
  const Emitted a = value(step.args[0]);
  if (is_real(a.lane)) return cast_from_real(step, a);
  const Lane lane = widest(step.lane, a.lane);
  const exec::IntegerScaling scaling = exec::scaling_in(*step.expr, lane);
  if (step.may_throw || !scaling.up) {
    const std::string type = lane_type(lane);
    std::string functor = std::string(scaling.up ? "ScaledUp<" : "ScaledDown<") + type + ">{";
    for (const int128_t constant : {scaling.by, scaling.least, scaling.most}) {
      functor +=
          (functor.back() == '{' ? "static_cast<" : ", static_cast<") + type + ">(" + constant_text(constant) + ")";
    }
    return call(step, functor + "}", {in_lane(a, lane)}, a.valid, lane, nulls_of(step));
  }
  if (scaling.by == 1) return a;
  const std::string text =
      in_lane(a, lane) + " * static_cast<" + lane_type(lane) + ">(" + constant_text(scaling.by) + ")";
  return {temporary(lane_type(lane), text), a.valid, lane};
}

}  // namespace basalt::device
