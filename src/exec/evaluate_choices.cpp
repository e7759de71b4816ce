// Expressions that choose among values row by row. Each argument is evaluated with only those rows alive that get as
// far as it, so that the others raise no errors.
#include <algorithm>
#include <cstring>

#include "exec/evaluate_steps.h"
#include "exec/narrowed_input.h"

namespace basalt::exec {

namespace {

// The result of a choice while it is made. Rows that are given nothing are NULL.
class Choice {
 public:
  Choice(Step& step, TileInput& input) : step_(step), input_(input), rows_(input.rows()) {
    step.data.resize(kTileRows * width_of(step.lane));
    std::memset(step.data.data(), 0, rows_ * width_of(step.lane));
    std::fill_n(room<uint8_t>(step.valid), rows_, uint8_t{0});
    open_ = room<uint8_t>(step.masks[0]);
    if (input.live() == nullptr) {
      std::fill_n(open_, rows_, uint8_t{1});
    } else {
      std::copy_n(input.live(), rows_, open_);
    }
    taken_ = room<uint8_t>(step.masks[1]);
  }

  bool any_open() const { return std::memchr(open_, 1, rows_) != nullptr; }

  // Gives the rows for which `condition` holds the values of `arg`.
  void give_where(Step& condition, Step& arg) {
    NarrowedInput open(input_, open_);
    std::copy_n(evaluate_predicate(condition, open).as<uint8_t>(), rows_, taken_);
    mask_and(taken_, open_, rows_);
    if (std::memchr(taken_, 1, rows_) == nullptr) return;
    NarrowedInput narrowed(input_, taken_);
    take(in_lane(arg, narrowed, step_.lane));
  }

  // Gives all that are left the values of `arg`; with `not_null` those whose value is NULL are left open.
  void give_rest(Step& arg, bool not_null) {
    NarrowedInput open(input_, open_);
    const Vector values = in_lane(arg, open, step_.lane);
    std::copy_n(open_, rows_, taken_);
    if (not_null && values.valid != nullptr) mask_and(taken_, values.valid, rows_);
    take(values);
  }

  Vector result() const {
    const uint8_t* valid = step_.valid.as<uint8_t>();
    const bool nulls = std::memchr(valid, 0, rows_) != nullptr;
    return {step_.lane, step_.data.data(), nulls ? valid : nullptr};
  }

 private:
  void take(const Vector& values) {
    auto* valid = step_.valid.as<uint8_t>();
    dispatch_lane(step_.lane, [&](auto type) {
      using T = decltype(type);
      const T* from = values.as<T>();
      T* to = step_.data.as<T>();
      for (uint32_t i = 0; i < rows_; ++i) to[i] = taken_[i] != 0 ? from[i] : to[i];
    });
    for (uint32_t i = 0; i < rows_; ++i) {
      const uint8_t known = values.valid == nullptr ? uint8_t{1} : values.valid[i];
      valid[i] = static_cast<uint8_t>(valid[i] | (taken_[i] & known));
      open_[i] = static_cast<uint8_t>(open_[i] & (taken_[i] ^ 1));
    }
  }

  Step& step_;
  TileInput& input_;
  uint32_t rows_;
  uint8_t* open_;   // rows that are alive and have no value yet
  uint8_t* taken_;  // of these, the ones that get the next
};

}  // namespace

Vector run_case(Step& step, TileInput& input) {
  Choice choice(step, input);
  for (size_t i = 0; i + 1 < step.args.size() && choice.any_open(); i += 2) {
    choice.give_where(step.args[i], step.args[i + 1]);
  }
  if (choice.any_open()) choice.give_rest(step.args.back(), false);
  return choice.result();
}

Vector run_coalesce(Step& step, TileInput& input) {
  Choice choice(step, input);
  for (size_t i = 0; i < step.args.size() && choice.any_open(); ++i) choice.give_rest(step.args[i], true);
  return choice.result();
}

// Pairwise: a value replaces what there is if it is better, or if there was nothing.
Vector run_extreme(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  const bool greatest = step.expr->op == ExprOp::kGreatest;
  step.data.resize(kTileRows * width_of(step.lane));
  uint8_t* valid = room<uint8_t>(step.valid);
  dispatch_lane(step.lane, [&](auto type) {
    using T = decltype(type);
    T* best = step.data.as<T>();
    for (size_t i = 0; i < step.args.size(); ++i) {
      const Vector arg = in_lane(step.args[i], input, step.lane);
      const T* values = arg.as<T>();
      for (uint32_t row = 0; row < rows; ++row) {
        const uint8_t known = arg.valid == nullptr ? uint8_t{1} : arg.valid[row];
        const bool better = i == 0 || valid[row] == 0 ||
                            (greatest ? LessOp::apply(best[row], values[row]) : LessOp::apply(values[row], best[row]));
        valid[row] = static_cast<uint8_t>(i == 0 ? known : valid[row] | known);
        if (i == 0 || (known != 0 && better)) best[row] = values[row];
      }
    }
  });
  const bool nulls = std::memchr(valid, 0, rows) != nullptr;
  return {step.lane, step.data.data(), nulls ? valid : nullptr};
}

Vector run_distinct(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  const Lane lane = common_lane(step.args[0], step.args[1]);
  const Vector a = in_lane(step.args[0], input, lane);
  const Vector b = in_lane(step.args[1], input, lane);
  uint8_t* out = room<uint8_t>(step.data);
  dispatch_lane(lane, [&](auto type) {
    using T = decltype(type);
    compare_loop<NotEqualOp>(a.as<T>(), b.as<T>(), out, rows);
  });
  if (a.valid != nullptr || b.valid != nullptr) {
    for (uint32_t i = 0; i < rows; ++i) {
      const uint8_t x = a.valid == nullptr ? uint8_t{1} : a.valid[i];
      const uint8_t y = b.valid == nullptr ? uint8_t{1} : b.valid[i];
      out[i] = static_cast<uint8_t>((out[i] & x & y) | (x ^ y));
    }
  }
  if (step.expr->op == ExprOp::kNotDistinct) {
    for (uint32_t i = 0; i < rows; ++i) out[i] ^= 1;
  }
  return {Lane::kBool, out, nullptr};
}

}  // namespace basalt::exec
