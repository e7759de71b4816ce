// Units of quartered tiles on the CPU: a lane's eight values lie in `width` consecutive bytes.
#include <cstring>

#include "core/packing.h"

namespace basalt {

namespace {

// Up to here a value and the bits before it in its first byte fit in eight bytes.
constexpr uint32_t kMaxWindowWidth = 57;

template <typename T>
void unpack(const uint32_t* words, uint32_t width, T* out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  const uint64_t mask = low_bits(width);
  const uint32_t end = kLanes * width;
  // Lanes whose windows stay inside the unit; the last ones are read word by word.
  const uint32_t safe = width == 0 || width > kMaxWindowWidth || end < 8 ? 0 : (end - 8) / width;
  for (uint32_t lane = 0; lane < safe; ++lane) {
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t bit = k * width;
      uint64_t window;
      std::memcpy(&window, bytes + lane * width + bit / 8, sizeof(window));
      out[k * kLanes + lane] = static_cast<T>((window >> (bit % 8)) & mask);
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
