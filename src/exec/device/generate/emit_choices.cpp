// Writing choices among values. All arguments are computed for every row, without branches; only errors are kept to the
// rows that get as far as the argument.
#include "exec/device/generate/emit.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

Emitted RowEmitter::value_where(const Step& step, const std::string& condition) {
  const std::string before = live_;
  live_ = condition;
  const Emitted result = value(step);
  live_ = before;
  return result;
}

std::string RowEmitter::equality(const Emitted& a, const Emitted& b) {
  if (is_real(a.lane)) return "exec::sql_equal(" + a.value + ", " + b.value + ")";
  const Lane lane = widest(a.lane, b.lane);
  return in_lane(a, lane) + " == " + in_lane(b, lane);
}

Emitted RowEmitter::distinct(const Step& step) {
  const Emitted a = value(step.args[0]);
  const Emitted b = value(step.args[1]);
  const std::string x = a.valid.empty() ? "true" : a.valid;
  const std::string y = b.valid.empty() ? "true" : b.valid;
  const std::string same = temporary("bool", "(" + x + " == " + y + ") && (!(" + x + ") || " + equality(a, b) + ")");
  return {step.expr->op == ExprOp::kNotDistinct ? same : temporary("bool", "!" + same), "", Lane::kBool};
}

Emitted RowEmitter::case_of(const Step& step) {
  const std::string before = live_;
  std::string values;
  std::string valids;
  bool nulls = false;
  for (size_t i = 0; i + 1 < step.args.size(); i += 2) {
    const Emitted condition = predicate(step.args[i]);
    const std::string taken = temporary("bool", live_ + " && " + condition.value);
    const Emitted chosen = value_where(step.args[i + 1], taken);
    values += condition.value + " ? " + in_lane(chosen, step.lane) + " : ";
    valids += condition.value + " ? " + (chosen.valid.empty() ? "true" : chosen.valid) + " : ";
    nulls = nulls || !chosen.valid.empty();
    live_ = temporary("bool", live_ + " && !" + condition.value);
  }
  const Emitted rest = value(step.args.back());
  live_ = before;
  nulls = nulls || !rest.valid.empty();
  const std::string result = temporary(lane_type(step.lane), values + in_lane(rest, step.lane));
  return {result, nulls ? temporary("bool", valids + (rest.valid.empty() ? "true" : rest.valid)) : "", step.lane};
}

Emitted RowEmitter::coalesce(const Step& step) {
  const std::string before = live_;
  std::string values;
  std::string valids;
  for (const Step& arg : step.args) {
    const Emitted next = value(arg);
    valids += (valids.empty() ? "" : " || ") + next.valid;
    if (next.valid.empty() || &arg == &step.args.back()) {
      values += in_lane(next, step.lane);
      if (next.valid.empty()) valids.clear();
      break;
    }
    values += next.valid + " ? " + in_lane(next, step.lane) + " : ";
    live_ = temporary("bool", live_ + " && !" + next.valid);
  }
  live_ = before;
  return {temporary(lane_type(step.lane), values), valids.empty() ? "" : temporary("bool", valids), step.lane};
}

// Pairwise: a value replaces what there is if it is better, or if there was nothing.
Emitted RowEmitter::extreme(const Step& step) {
  const bool greatest = step.expr->op == ExprOp::kGreatest;
  const auto taken = [&](const Emitted& value) { return Emitted{in_lane(value, step.lane), value.valid, step.lane}; };
  Emitted best = taken(value(step.args[0]));
  for (size_t i = 1; i < step.args.size(); ++i) {
    const Emitted next = taken(value(step.args[i]));
    const std::string& low = greatest ? best.value : next.value;
    const std::string& high = greatest ? next.value : best.value;
    std::string replaces = is_real(step.lane) ? "exec::sql_less(" + low + ", " + high + ")" : low + " < " + high;
    if (!best.valid.empty()) replaces = "(!" + best.valid + " || " + replaces + ")";
    if (!next.valid.empty()) replaces = next.valid + " && " + replaces;
    const std::string chosen =
        temporary(lane_type(step.lane), "(" + replaces + ") ? " + next.value + " : " + best.value);
    const bool never_null = best.valid.empty() || next.valid.empty();
    best = {chosen, never_null ? "" : temporary("bool", best.valid + " || " + next.valid), step.lane};
  }
  return best;
}

}  // namespace basalt::device
