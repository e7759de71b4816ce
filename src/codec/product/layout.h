// `product`: value = factor · ((source >> shift) · multiplier), modulo 2^bits of the value type. Where the source is a
// multiple of an odd number o times 2^shift, the inverse of o modulo 2^64 as the multiplier divides it by both: prices
// in cents are quantities in hundredths, divided by a hundred, times prices in cents.
//
// Streams: none. Parameters: u64 multiplier, u32 shift (below the bits of the value type), u32 zero. Children: 0
// factor, 1 source (both of the value type, one per row). Shifts of signed types keep the sign.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::product {

constexpr uint32_t kFactor = 0;
constexpr uint32_t kSource = 1;

struct Parameters {
  uint64_t multiplier = 1;
  uint32_t shift = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(Parameters) == 16);

// T has the value type's sign, U is the unsigned type of its width.
template <typename T, typename U>
BASALT_HD U scaled(U source, U multiplier, uint32_t shift) {
  return static_cast<U>(uint64_t{static_cast<U>(static_cast<T>(source) >> shift)} * multiplier);
}

BASALT_HD constexpr uint32_t source_scratch(uint32_t factor_scratch) { return (factor_scratch + 15) / 16 * 16; }

}  // namespace basalt::product
