// `stride`: a slope taken away. Value i is the child's value i plus i times a step, modulo 2^bits of the value type.
// Numbers that go on in equal steps from some start become runs of equal bases, start − step · row, which `rle` and
// whatever follows it hold: `stride(rle(delta(packed), delta(packed)))` is a list of starts and counts.
//
// Streams: none. Parameters: Parameters. Children: 0 bases (the value type, one per row).
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::stride {

constexpr uint32_t kBases = 0;

struct Parameters {
  uint64_t step;  // as a number of the values' width, the rest zero
};
constexpr uint32_t kParameterBytes = 8;
constexpr uint32_t kParameterWords = kParameterBytes / 8;
static_assert(sizeof(Parameters) == kParameterBytes);

// What row `row` lies above its base. T is unsigned; the product is made in 64 bits, since narrow ones would be signed.
template <typename T>
BASALT_HD constexpr T rise(T step, uint64_t row) {
  return static_cast<T>(uint64_t{step} * row);
}

}  // namespace basalt::stride
