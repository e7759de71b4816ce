// Bitmaps, least significant bit first: counting, filling and copying ranges of bits at any position.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace basalt {

inline bool get_bit(const uint8_t* bits, uint64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }

inline void put_bit(uint8_t* bits, uint64_t i, bool value) {
  const auto mask = static_cast<uint8_t>(1u << (i & 7));
  bits[i >> 3] = static_cast<uint8_t>(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

// Set bits in [begin, begin + count).
inline uint64_t count_bits(const uint8_t* bits, uint64_t begin, uint64_t count) {
  uint64_t total = 0;
  uint64_t i = begin;
  const uint64_t end = begin + count;
  for (; i < end && (i & 7) != 0; ++i) total += get_bit(bits, i);
  for (; i + 64 <= end; i += 64) {
    uint64_t word;
    std::memcpy(&word, bits + (i >> 3), 8);
    total += static_cast<uint64_t>(std::popcount(word));
  }
  for (; i < end; ++i) total += get_bit(bits, i);
  return total;
}

inline void set_bits(uint8_t* bits, uint64_t begin, uint64_t count, bool value) {
  uint64_t i = begin;
  const uint64_t end = begin + count;
  for (; i < end && (i & 7) != 0; ++i) put_bit(bits, i, value);
  const uint64_t whole = (end - i) / 8;
  if (i < end && whole > 0) {
    std::memset(bits + (i >> 3), value ? 0xFF : 0, whole);
    i += whole * 8;
  }
  for (; i < end; ++i) put_bit(bits, i, value);
}

inline void copy_bits(const uint8_t* from, uint64_t from_begin, uint8_t* to, uint64_t to_begin, uint64_t count) {
  uint64_t i = 0;
  if ((from_begin & 7) == 0 && (to_begin & 7) == 0) {
    std::memcpy(to + (to_begin >> 3), from + (from_begin >> 3), count >> 3);
    i = count & ~uint64_t{7};
  }
  for (; i < count; ++i) put_bit(to, to_begin + i, get_bit(from, from_begin + i));
}

}  // namespace basalt
