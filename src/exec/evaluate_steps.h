// What the files of the interpreter share: scratch memory, NULLs that meet, a step's values in a wider lane; and the
// operations that have a file of their own.
#pragma once

#include <array>

#include "basalt/core/buffer.h"
#include "exec/evaluate.h"
#include "exec/loops.h"

namespace basalt::exec {

extern const std::array<uint8_t, kTileRows> kAllNull;

template <typename T>
T* room(Buffer& buffer) {
  buffer.resize(kTileRows * sizeof(T));
  return buffer.as<T>();
}

// Both masks at once; nullptr = no NULL.
const uint8_t* meet(const uint8_t* a, const uint8_t* b, Buffer& scratch, uint32_t rows);

// The step's values in a lane that is as wide as its own, or holds all values of its type.
Vector in_lane(Step& step, TileInput& input, Lane lane);
// The lane in which two values of one type meet.
Lane common_lane(const Step& a, const Step& b);

// body(T{}) with the type of a lane of values.
template <typename Body>
void dispatch_lane(Lane lane, Body&& body) {
  switch (lane) {
    case Lane::kF32: body(float{}); break;
    case Lane::kF64: body(double{}); break;
    case Lane::kBytes: body(std::string_view{}); break;
    default: dispatch_integer_lane(lane, body); break;
  }
}

// A predicate's result, in step.data: zero where it is NULL.
Vector masked(Step& step, const uint8_t* valid, uint32_t rows);

// Whether the column's encoding answered a test of strings, and its NULLs.
bool test_in_place(Step& step, TileInput& input, uint8_t* out, const uint8_t*& valid);

// evaluate_strings.cpp
Vector run_pattern(Step& step, TileInput& input);
Vector run_length(Step& step, TileInput& input);
Vector run_part(Step& step, TileInput& input);
Vector run_text_function(Step& step, TileInput& input);

// evaluate_choices.cpp
Vector run_case(Step& step, TileInput& input);
Vector run_coalesce(Step& step, TileInput& input);
Vector run_distinct(Step& step, TileInput& input);
Vector run_extreme(Step& step, TileInput& input);

// evaluate_numbers.cpp
Vector run_division(Step& step, TileInput& input);
Vector run_number_function(Step& step, TileInput& input);
Vector run_sign(Step& step, TileInput& input);
Vector run_math_function(Step& step, TileInput& input);
Vector run_bit_operation(Step& step, TileInput& input);

// evaluate_dates.cpp
Vector run_date_function(Step& step, TileInput& input);

// evaluate_casts.cpp
Vector run_cast(Step& step, TileInput& input);

}  // namespace basalt::exec
