// Units of quartered tiles with the predictions of a line, included by packing_loops.h once per instruction set after
// unpack_line_loops.h. A lane's eight values are `width` neighbouring bytes, so the residuals of neighbouring rows lie
// `width` bytes apart: each is cut out of a window of four or eight bytes that begins at the byte of its first bit. Up
// to 16 bytes behind the unit are read.

// How the windows of one vector are read.
enum class Reading { kAtOnce, kInTwoParts, kOneByOne, kEightBytes };

template <Reading kReading>
struct Windows {
  const unsigned char* bytes = nullptr;  // of the first lane's window
  uint32_t shift = 0;
  uint32_t width;
  Lanes mask;
#if defined(__aarch64__)
  uint8x16_t places;  // of the windows' bytes in what was read
#endif

  [[gnu::always_inline]] explicit Windows(uint32_t bits)
      : width(bits), mask(all_lanes(static_cast<uint32_t>(low_bits(bits)))) {
#if defined(__aarch64__)
    const uint32_t third = kReading == Reading::kAtOnce ? 2 * width : 16;
    const Lanes first_bytes = {0, width, third, third + width};
    places = reinterpret_cast<uint8x16_t>(first_bytes * 0x01010101u + 0x03020100u);
#endif
  }

  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    const unsigned char* at = bytes + row * width;
#if defined(__aarch64__)
    if constexpr (kReading == Reading::kAtOnce) return Lanes(vqtbl1q_u8(vld1q_u8(at), places)) >> shift & mask;
    if constexpr (kReading == Reading::kInTwoParts) {
      const uint8x16x2_t both = {{vld1q_u8(at), vld1q_u8(at + 2 * static_cast<uint64_t>(width))}};
      return Lanes(vqtbl2q_u8(both, places)) >> shift & mask;
    }
#endif
    Lanes found{};
#pragma GCC unroll 16
    for (uint32_t i = 0; i < kVectorLanes; ++i) found[i] = window(at + i * static_cast<uint64_t>(width));
    return kReading == Reading::kEightBytes ? found & mask : found >> shift & mask;
  }

 private:
  [[gnu::always_inline]] uint32_t window(const unsigned char* at) const {
    if constexpr (kReading == Reading::kEightBytes) {
      uint64_t value;
      __builtin_memcpy(&value, at, sizeof(value));
      return static_cast<uint32_t>(value >> shift);
    } else {
      uint32_t value;
      __builtin_memcpy(&value, at, sizeof(value));
      return value;
    }
  }
};

// Values of up to 57 bits: with up to seven before it in its first byte.
struct WideWindows {
  const unsigned char* bytes = nullptr;
  uint32_t shift = 0;
  uint32_t width;
  Wides mask;

  [[gnu::always_inline]] explicit WideWindows(uint32_t bits) : width(bits), mask(all(low_bits(bits))) {}
  [[gnu::always_inline]] Wides half(uint64_t row) const {
    Wides found{};
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kWideLanes; ++i) {
      uint64_t value;
      __builtin_memcpy(&value, bytes + (row + i) * width, sizeof(value));
      found[i] = value;
    }
    return found >> shift & mask;
  }
  [[gnu::always_inline]] WidePair operator()(uint64_t row) const { return {half(row), half(row + kWideLanes)}; }
};

template <typename Model, Reading kReading>
void unit_on(const unsigned char* bytes, uint32_t width, Model model, typename Model::Value* out) {
  Windows<kReading> windows(width);
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k, out += kLanes) {
    windows.bytes = bytes + (k * width >> 3);
    windows.shift = k * width & 7;
    finish_rows<32>(model, windows, out);
  }
}

// Width ≤ 32.
template <typename Model>
[[gnu::always_inline]] inline void unit_on_any(const uint32_t* words, uint32_t width, const Model& model,
                                               typename Model::Value* out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  if (width == 0) {
    Model flat = model;
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k, out += kLanes) finish_rows<0>(flat, NoResiduals{}, out);
    return;
  }
#if defined(__aarch64__)
  if (width <= 4) return unit_on<Model, Reading::kAtOnce>(bytes, width, model, out);
  if (width <= 12) return unit_on<Model, Reading::kInTwoParts>(bytes, width, model, out);
#endif
  // 26, 28 and 32 bits begin at even bits, multiples of four, whole bytes.
  if (width <= 26 || width == 28 || width == 32) return unit_on<Model, Reading::kOneByOne>(bytes, width, model, out);
  unit_on<Model, Reading::kEightBytes>(bytes, width, model, out);
}

inline void unit_line_32(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out) {
  unit_on_any(words, width, Line32<kShortBlock>(FixedLine{0, y, step}), out);
}
inline void unit_narrow_line_64(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                                uint64_t* out) {
  unit_on_any(words, width, NarrowLine64(FixedLine{base, y, step, 32}), out);
}
template <typename Model>
[[gnu::always_inline]] inline void unit_wide_on(const uint32_t* words, uint32_t width, const FixedLine& line,
                                                uint64_t* out) {
  if (width < 31) return unit_on_any(words, width, Model(line), out);
  Predictions<Model> model(line);
  WideWindows windows(width);
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k, out += kLanes) {
    windows.bytes = reinterpret_cast<const unsigned char*>(words) + (k * width >> 3);
    windows.shift = k * width & 7;
    finish_wide_rows(model, windows, out);
  }
}
inline void unit_wide_line_64(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                              uint32_t fraction, uint64_t* out) {
  const FixedLine line{base, y, step, fraction};
  if (GentleLine64::fits(width, step, fraction)) {
    unit_wide_on<GentleLine64>(words, width, line, out);
  } else {
    unit_wide_on<WideLine64>(words, width, line, out);
  }
}
