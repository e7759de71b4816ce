// Calls of functions of single values (number_functions.h and its like) for the rows of a tile.
#pragma once

#include "exec/evaluate_steps.h"

namespace basalt::exec {

// A value in a sentence about it.
struct FailedValue {
  int128_t integer = 0;
  double real = 0;

  template <typename T>
  static FailedValue of(T value) {
    FailedValue out;
    if constexpr (std::is_floating_point_v<T>) {
      out.real = value;
    } else {
      out.integer = value;
    }
    return out;
  }
};
// Throws Error(kOutOfRange) with DuckDB's sentence for an operation whose result has no place in its type.
[[noreturn]] void throw_failed(const Expr& expr, FailedValue a, FailedValue b = {}, FailedValue c = {});

// Runs `function` for each row; `valid` are the rows whose arguments are known. Results that do not exist are NULL, or
// an error if their row counts.
template <typename Out, typename Function, typename... In>
Vector call_rows(Step& step, TileInput& input, const uint8_t* valid, const Function& function, const In*... args) {
  const uint32_t rows = input.rows();
  const uint8_t* live = input.live();
  Out* out = room<Out>(step.data);
  uint8_t* known = nullptr;
  for (uint32_t i = 0; i < rows; ++i) {
    Out result{};
    const Outcome outcome = function(args[i]..., result);
    out[i] = result;
    if (outcome == Outcome::kValue) [[likely]]
      continue;
    out[i] = Out{};
    if (outcome == Outcome::kOutOfRange && !step.null_if_out_of_range) {
      if ((live == nullptr || live[i] != 0) && (valid == nullptr || valid[i] != 0)) {
        throw_failed(*step.expr, FailedValue::of(args[i])...);
      }
      continue;
    }
    if (known == nullptr) {
      const bool own = valid != nullptr && valid == step.valid.as<uint8_t>();
      known = room<uint8_t>(step.valid);
      if (valid == nullptr) {
        std::fill_n(known, rows, uint8_t{1});
      } else if (!own) {
        std::copy_n(valid, rows, known);
      }
      valid = known;
    }
    known[i] = 0;
  }
  return {step.lane, out, valid};
}

// The same of two arguments, which are taken in `lane`; In is the type of its values.
template <typename Out, typename In, typename Function>
Vector call_two(Step& step, TileInput& input, Lane lane, const Function& function) {
  const Vector a = in_lane(step.args[0], input, lane);
  const Vector b = in_lane(step.args[1], input, lane);
  const uint8_t* valid = meet(a.valid, b.valid, step.valid, input.rows());
  return call_rows<Out>(step, input, valid, function, a.as<In>(), b.as<In>());
}

}  // namespace basalt::exec
