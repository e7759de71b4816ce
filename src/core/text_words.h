// Text by words of eight bytes, on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace basalt {

// Up to eight bytes of text, zeros behind its end. Two loads that overlap: a copy of `left` bytes would be a call.
inline uint64_t load_text(const char* text, size_t left) {
  const auto load = [&](auto value, size_t at) {
    std::memcpy(&value, text + at, sizeof(value));
    return uint64_t{value};
  };
  if (left >= 8) return load(uint64_t{}, 0);
  if (left >= 4) return load(uint32_t{}, 0) | load(uint32_t{}, left - 4) << 8 * (left - 4);
  if (left >= 2) return load(uint16_t{}, 0) | load(uint16_t{}, left - 2) << 8 * (left - 2);
  return left == 0 ? 0 : load(uint8_t{}, 0);
}

}  // namespace basalt
