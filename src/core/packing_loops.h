// The loops behind packing.h, included once per instruction set inside a namespace of its own. Every inner loop runs
// over the 32 lanes with shift counts that are the same for all of them. No include guard on purpose; no standard
// includes here, the includer brings them before it switches the target and says with BASALT_PACKING_VECTOR_BYTES how
// long that target's registers are.

namespace {

// Values that lie in one or two 32-bit words: width ≤ 32.
template <typename T>
inline void unpack_narrow(const uint32_t* __restrict words, uint32_t width, T reference, T* __restrict out) {
  const uint32_t mask = static_cast<uint32_t>(low_bits(width));
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const uint32_t bit = k * width;
    const uint32_t shift = bit & 31;
    const uint32_t* __restrict low = words + (bit >> 5) * kLanes;
    T* __restrict to = out + k * kLanes;
    if (shift + width <= 32) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        to[lane] = static_cast<T>(reference + static_cast<T>((low[lane] >> shift) & mask));
      }
    } else {
      const uint32_t* __restrict high = low + kLanes;
      const uint32_t up = 32 - shift;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        to[lane] = static_cast<T>(reference + static_cast<T>(((low[lane] >> shift) | (high[lane] << up)) & mask));
      }
    }
  }
}

// The same for 32-bit values, the commonest by far, with the width as a constant: immediate shifts and no mask where a
// value ends its word make half the instructions. `Lanes`: as many neighbours of one row as a register holds; a
// typedef, because clang forgets the alignment of `using`.
constexpr uint32_t kVectorBytes = BASALT_PACKING_VECTOR_BYTES;
constexpr uint32_t kVectorLanes = kVectorBytes / sizeof(uint32_t);
typedef uint32_t Lanes __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));

template <uint32_t kWidth, uint32_t kShift>
[[gnu::always_inline]] inline Lanes unpack_lanes(const uint32_t* __restrict low, Lanes reference) {
  constexpr uint32_t kMask = kWidth == 32 ? ~0u : (1u << kWidth) - 1;
  const Lanes word = *reinterpret_cast<const Lanes*>(low);
  // One bit: the comparison's all-ones is minus one, which saves the shift.
  if constexpr (kWidth == 1) return reference - reinterpret_cast<Lanes>((word & (1u << kShift)) != 0);
  Lanes value = word >> kShift;
  if constexpr (kShift + kWidth > 32) value |= *reinterpret_cast<const Lanes*>(low + kLanes) << (32 - kShift);
  if constexpr (kShift + kWidth != 32) value &= kMask;
  return reference + value;
}

// Stores go out in pairs and in order: single or mixed stores leave the mode in which a Neoverse N1 streams whole lines
// without reading them first (16 against 34 GB/s at width 16).
[[gnu::always_inline]] inline void store_pair(uint32_t* to, Lanes first, Lanes second) {
#if defined(__aarch64__)
  using Pair = uint32_t[8];
  asm volatile("stp %q2, %q3, [%1]" : "=m"(*reinterpret_cast<Pair*>(to)) : "r"(to), "w"(first), "w"(second));
#else
  *reinterpret_cast<Lanes*>(to) = first;
  *reinterpret_cast<Lanes*>(to + kVectorLanes) = second;
#endif
}

template <uint32_t kWidth, uint32_t kRow>
[[gnu::always_inline]] inline void unpack_row(const uint32_t* __restrict words, Lanes reference,
                                              uint32_t* __restrict out) {
  constexpr uint32_t kBit = kRow * kWidth;
  const uint32_t* __restrict low = words + (kBit >> 5) * kLanes;
  uint32_t* __restrict to = out + kRow * kLanes;
#pragma GCC unroll 4
  for (uint32_t lane = 0; lane < kLanes; lane += 2 * kVectorLanes) {
    store_pair(to + lane, unpack_lanes<kWidth, (kBit & 31)>(low + lane, reference),
               unpack_lanes<kWidth, (kBit & 31)>(low + lane + kVectorLanes, reference));
  }
}

template <uint32_t kWidth, uint32_t... kRows>
void unpack_rows(const uint32_t* words, uint32_t reference, uint32_t* out, std::integer_sequence<uint32_t, kRows...>) {
  const Lanes references = reference - Lanes{};
  (unpack_row<kWidth, kRows>(words, references, out), ...);
}

template <uint32_t kWidth>
void unpack_constant_width(const uint32_t* words, uint32_t reference, uint32_t* out) {
  unpack_rows<kWidth>(words, reference, out, std::make_integer_sequence<uint32_t, kRowsPerLane>());
}

template <uint32_t... kWidths>
inline void unpack_32(const uint32_t* words, uint32_t width, uint32_t reference, uint32_t* out,
                      std::integer_sequence<uint32_t, kWidths...>) {
  using Unpack = void (*)(const uint32_t*, uint32_t, uint32_t*);
  static constexpr Unpack kUnpack[] = {unpack_constant_width<kWidths + 1>...};
  kUnpack[width - 1](words, reference, out);
}

#include "core/unpack_line_loops.h"
#include "core/unpack_unit_loops.h"

template <typename T>
inline void fill_tile(T reference, T* __restrict out) {
  T row[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) row[i] = reference;
  for (uint32_t k = 0; k < kRowsPerLane; ++k) __builtin_memcpy(out + k * kLanes, row, sizeof(row));
}

template <typename T>
inline void unpack_any(const uint32_t* words, uint32_t width, T reference, T* out) {
  if (width == 0) return fill_tile(reference, out);
  if constexpr (sizeof(T) == 8) {
    if (width > 32) return unpack_wide_on(words, width, Reference64{all(reference)}, out);
  }
  if constexpr (sizeof(T) == 4) {
    unpack_32(words, width, reference, out, std::make_integer_sequence<uint32_t, 32>());
  } else {
    unpack_narrow(words, width, reference, out);
  }
}

template <typename T>
inline void pack_any(const T* __restrict values, T reference, uint32_t width, uint32_t* __restrict words) {
  for (uint32_t i = 0; i < width * kLanes; ++i) words[i] = 0;
  for (uint32_t k = 0; k < kRowsPerLane && width > 0; ++k) {
    const uint32_t bit = k * width;
    const uint32_t shift = bit & 31;
    uint32_t* __restrict first = words + (bit >> 5) * kLanes;
    const T* __restrict from = values + k * kLanes;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      first[lane] |= static_cast<uint32_t>(static_cast<T>(from[lane] - reference)) << shift;
    }
    if (shift + width > 32) {
      uint32_t* __restrict second = first + kLanes;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto value = static_cast<uint64_t>(static_cast<T>(from[lane] - reference));
        second[lane] |= static_cast<uint32_t>(value >> (32 - shift));
      }
    }
    if (shift + width > 64) {
      uint32_t* __restrict third = first + 2 * kLanes;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto value = static_cast<uint64_t>(static_cast<T>(from[lane] - reference));
        third[lane] |= static_cast<uint32_t>(value >> (64 - shift));
      }
    }
  }
}

}  // namespace

const PackingTable kTable = {
    unpack_any<uint8_t>,  unpack_any<uint16_t>, unpack_any<uint32_t>,
    unpack_any<uint64_t>, pack_any<uint8_t>,    pack_any<uint16_t>,
    pack_any<uint32_t>,   pack_any<uint64_t>,   line_32,
    narrow_line_64,       wide_line_64,         unit_line_32,
    unit_narrow_line_64,  unit_wide_line_64,
};
