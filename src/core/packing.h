// Packing and unpacking whole tiles on the CPU. The interleaved layout makes every step the same for all 32 lanes, so
// the compiler vectorises over lanes with the width as a plain run-time number; x86 machines pick AVX2 or AVX-512 code
// at run time, aarch64 always has NEON.
#pragma once

#include <cstdint>

#include "basalt/core/host_device.h"
#include "core/packed_tile.h"
#include "core/quartered_tile.h"

namespace basalt {

// out[i] = reference + packed value i, for all 1024 rows, modulo 2^bits of T. T: uint8_t … uint64_t; width ≤ bits of T.
void unpack_tile(const uint32_t* words, uint32_t width, uint8_t reference, uint8_t* out);
void unpack_tile(const uint32_t* words, uint32_t width, uint16_t reference, uint16_t* out);
void unpack_tile(const uint32_t* words, uint32_t width, uint32_t reference, uint32_t* out);
void unpack_tile(const uint32_t* words, uint32_t width, uint64_t reference, uint64_t* out);
// 128-bit values: width ≤ 64.
void unpack_tile(const uint32_t* words, uint32_t width, uint128_t reference, uint128_t* out);

// The same with predictions of a line in fixed point instead of a reference, in one go. Sums are modulo 2^64. Plain
// numbers, which stay in registers: stores to the stack between two tiles end the streaming of stores to `out`.
// out[i] = upper half of (y + step·i) + packed value i, modulo 2^32. Width ≤ 32.
void unpack_on_line(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out);
// out[i] = base + the same, sign-extended. Width < 32.
void unpack_on_narrow_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                           uint64_t* out);
// out[i] = base + ((y + step·i) >> fraction) + packed value i, all signed and in 64 bits. Fraction ≤ 32; y + step·i
// must not wrap inside the tile.
void unpack_on_wide_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                         uint32_t fraction, uint64_t* out);

// Writes packed_tile_words(width) words from 1024 values − reference, each of which must fit the width.
void pack_tile(const uint8_t* values, uint8_t reference, uint32_t width, uint32_t* words);
void pack_tile(const uint16_t* values, uint16_t reference, uint32_t width, uint32_t* words);
void pack_tile(const uint32_t* values, uint32_t reference, uint32_t width, uint32_t* words);
void pack_tile(const uint64_t* values, uint64_t reference, uint32_t width, uint32_t* words);
void pack_tile(const uint128_t* values, uint128_t reference, uint32_t width, uint32_t* words);

// The same for one unit of a quartered tile: 256 values of `width` bits, without a reference.
void unpack_unit(const uint32_t* words, uint32_t width, uint32_t* out);  // width ≤ 32
void unpack_unit(const uint32_t* words, uint32_t width, uint64_t* out);
// The same as for tiles, for the 256 rows of a unit. Up to 16 bytes behind the unit's words are read, none if the width
// is 0. Width ≤ 32, < 32 and ≤ 57.
constexpr uint32_t kReadBehindUnit = 16;
constexpr uint32_t kMaxUnitLineWidth = 57;
void unpack_unit_on_line(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out);
void unpack_unit_on_narrow_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                                uint64_t* out);
void unpack_unit_on_wide_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                              uint32_t fraction, uint64_t* out);
void pack_unit(const uint64_t* values, uint32_t width, uint32_t* words);

// "NEON", "AVX-512", "AVX2", "SSE2": what the dispatch above uses on this machine.
const char* simd_level();

}  // namespace basalt
