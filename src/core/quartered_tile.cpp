// Units of quartered tiles on the CPU: a lane's eight values lie in `width` consecutive bytes.
#include <array>
#include <cstring>
#include <utility>

#include "core/packing.h"

namespace basalt {

namespace {

// Up to here a value and the bits before it in its first byte fit in eight bytes.
constexpr uint32_t kMaxWindowWidth = 57;
constexpr uint32_t kMaxConstantWidth = 32;

// Value k of a lane, whose `width` bytes begin at `bytes`; eight bytes from its first one on are read.
uint64_t window_at(const unsigned char* bytes, uint32_t width, uint32_t k) {
  uint64_t window;
  std::memcpy(&window, bytes + k * width / 8, sizeof(window));
  return window >> (k * width % 8) & low_bits(width);
}

// The first `lanes` lanes of a unit whose width is known to the compiler: a load, a bit field, a store per value.
template <typename T, uint32_t kWidth>
void unpack_lanes(const unsigned char* bytes, uint32_t lanes, T* out) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
#pragma GCC unroll 8
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      out[k * kLanes + lane] = static_cast<T>(window_at(bytes + lane * kWidth, kWidth, k));
    }
  }
}
template <typename T, uint32_t... kWidths>
constexpr auto unpackers(std::integer_sequence<uint32_t, kWidths...>) {
  return std::array{unpack_lanes<T, kWidths>...};
}

template <typename T>
void unpack(const uint32_t* words, uint32_t width, T* out) {
  static constexpr auto kUnpack = unpackers<T>(std::make_integer_sequence<uint32_t, kMaxConstantWidth + 1>());
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  const uint32_t end = kLanes * width;
  // Lanes whose windows stay inside the unit; the last ones are read word by word.
  const uint32_t safe = width == 0 || width > kMaxWindowWidth || end < 8 ? 0 : (end - 8) / width;
  if (width <= kMaxConstantWidth) {
    kUnpack[width](bytes, safe, out);
  } else {
    for (uint32_t lane = 0; lane < safe; ++lane) {
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
        out[k * kLanes + lane] = static_cast<T>(window_at(bytes + lane * width, width, k));
      }
    }
  }
  for (uint32_t lane = safe; lane < kLanes; ++lane) {
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      out[k * kLanes + lane] = static_cast<T>(unit_row(words, width, k * kLanes + lane));
    }
  }
}

}  // namespace

void unpack_unit(const uint32_t* words, uint32_t width, uint32_t* out) { unpack(words, width, out); }
void unpack_unit(const uint32_t* words, uint32_t width, uint64_t* out) { unpack(words, width, out); }

void pack_unit(const uint64_t* values, uint32_t width, uint32_t* words) {
  uint64_t held = 0;
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint64_t value = values[k * kLanes + lane];
      held |= value << bits;
      uint32_t left = bits + width;
      if (left >= 64) {
        // The window is full: write it and keep what did not fit.
        words[0] = static_cast<uint32_t>(held);
        words[1] = static_cast<uint32_t>(held >> 32);
        words += 2;
        left -= 64;
        held = left == 0 ? 0 : value >> (width - left);
      }
      bits = left;
    }
  }
}

}  // namespace basalt
