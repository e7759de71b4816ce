// Unpacking a tile and adding the predictions of a line in one go, included by packing_loops.h once per instruction
// set. Each value of k gives 32 neighbouring rows; they are finished in blocks whose predictions differ from those of
// the block before by a constant, so that a block's differences stay in registers and only its first y changes.
// Whole vectors of neighbouring rows are stored in order, and nothing else is stored: see store_pair.

typedef uint64_t Wides __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef int32_t SignedLanes __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef int64_t SignedWides __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
constexpr uint32_t kWideLanes = kVectorLanes / 2;

// One function per width on Arm, which can shift and add in one instruction by a constant. Elsewhere one for all widths
// takes as many instructions; and with a sanitizer's checks around every load, these would take minutes to compile.
#if defined(__aarch64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BASALT_CONSTANT_WIDTHS 1
#else
#define BASALT_CONSTANT_WIDTHS 0
#endif

// Row i has the prediction (y + step·i) >> fraction, to which the base is added.
struct FixedLine {
  uint64_t base, y, step;
  uint32_t fraction = 32;

  // The whole number and the fraction of a y, the latter always of 32 bits.
  [[gnu::always_inline]] uint64_t whole_of(uint64_t of) const {
    return static_cast<uint64_t>(static_cast<int64_t>(of) >> fraction);
  }
  [[gnu::always_inline]] uint32_t part_of(uint64_t of) const { return static_cast<uint32_t>(of << (32 - fraction)); }
};

// As many neighbouring rows as `Lanes` has, as 64-bit numbers.
struct WidePair {
  Wides first, second;
};

// Numbers of a and b in turns.
[[gnu::always_inline]] inline WidePair interleave(Lanes a, Lanes b) {
#if BASALT_PACKING_VECTOR_BYTES == 16
  return {Wides(__builtin_shufflevector(a, b, 0, 4, 1, 5)), Wides(__builtin_shufflevector(a, b, 2, 6, 3, 7))};
#elif BASALT_PACKING_VECTOR_BYTES == 32
  return {Wides(__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)),
          Wides(__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15))};
#else
  return {Wides(__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)),
          Wides(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))};
#endif
}

// `to` plus the sign-extended offsets.
[[gnu::always_inline]] inline WidePair add_offsets(WidePair to, Lanes offsets) {
#if defined(__aarch64__)
  const auto narrow = reinterpret_cast<int32x4_t>(offsets);
  return {Wides(vaddw_s32(reinterpret_cast<int64x2_t>(to.first), vget_low_s32(narrow))),
          Wides(vaddw_high_s32(reinterpret_cast<int64x2_t>(to.second), narrow))};
#else
  const WidePair wide = interleave(offsets, Lanes(SignedLanes(offsets) >> 31));
  return {to.first + wide.first, to.second + wide.second};
#endif
}

// Upper halves of y + a and y + b. Numbers 0, 1 of every four come from a and 2, 3 from b, which is one instruction on
// every machine; ramps are made in that order.
[[gnu::always_inline]] inline Lanes upper_halves(Wides y, Wides a, Wides b) {
#if defined(__aarch64__)
  Lanes halves;  // GCC 12 copies registers between the two intrinsics
  asm("addhn %0.2s, %1.2d, %2.2d\n\taddhn2 %0.4s, %1.2d, %3.2d" : "=&w"(halves) : "w"(y), "w"(a), "w"(b));
  return halves;
#else
  const auto from_a = Lanes(y + a);
  const auto from_b = Lanes(y + b);
#if BASALT_PACKING_VECTOR_BYTES == 16
  return __builtin_shufflevector(from_a, from_b, 1, 3, 5, 7);
#elif BASALT_PACKING_VECTOR_BYTES == 32
  return __builtin_shufflevector(from_a, from_b, 1, 3, 9, 11, 5, 7, 13, 15);
#else
  return __builtin_shufflevector(from_a, from_b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
#endif
#endif
}

[[gnu::always_inline]] inline Wides all(uint64_t value) { return value - Wides{}; }
[[gnu::always_inline]] inline Lanes all_lanes(uint32_t value) { return value - Lanes{}; }

// Sums with residuals that lie at the upper ends of their words.
template <uint32_t kWidth>
[[gnu::always_inline]] inline Lanes add_residuals(Lanes to, Lanes residuals) {
  if constexpr (kWidth == 0) {
    return to;
  } else {
    return to + (residuals >> (32 - kWidth));
  }
}

[[gnu::always_inline]] inline void store_wides(uint64_t* to, WidePair values) {
  store_pair(reinterpret_cast<uint32_t*>(to), Lanes(values.first), Lanes(values.second));
}

// A block is as many neighbouring rows as a model finishes with one y: 16 where 32 would need registers that an Arm
// machine has to save on the stack (5 bits: 478 ns per tile from memory, 364 in the cache), and on x86, which has
// fewer.
constexpr uint32_t kShortBlock = kVectorLanes > 8 ? 32 : 16;
#if defined(__aarch64__)
constexpr uint32_t kLongBlock = 32;
#else
constexpr uint32_t kLongBlock = kShortBlock;
#endif

// Models; v counts the vectors of a block. offsets(v) is what has to be added to residuals, as 32-bit numbers; for
// 64-bit values bases(v) is what the sign-extended sums are added to. store(…) finishes two vectors, whose residuals
// lie at the upper ends of their words.

// Predictions are the upper halves of y plus what a row adds to it.
template <uint32_t kRows>
struct UpperHalves {
  static constexpr uint32_t kBlockRows = kRows;
  static constexpr uint32_t kBlockVectors = kBlockRows / kVectorLanes;
  Wides a[kBlockVectors], b[kBlockVectors], y, block_step;

  [[gnu::always_inline]] UpperHalves(uint64_t first_y, uint64_t step)
      : y(all(first_y)), block_step(all(step * kBlockRows)) {
    Wides ramp{};
    for (uint32_t i = 0; i < kWideLanes; ++i) ramp[i] = step * (i / 2 * 4 + i % 2);
#pragma GCC unroll 8
    for (uint32_t v = 0; v < kBlockVectors; ++v) {
      a[v] = ramp;
      b[v] = ramp + all(step * 2);
      ramp += all(step * kVectorLanes);
    }
  }
  [[gnu::always_inline]] Lanes offsets(uint32_t v) const { return upper_halves(y, a[v], b[v]); }
  [[gnu::always_inline]] void advance() { y += block_step; }
};

template <uint32_t kRows>
struct Line32 : UpperHalves<kRows> {
  using Rows = UpperHalves<kRows>;
  using Rows::a, Rows::b, Rows::y, Rows::offsets;
  using Value = uint32_t;

  [[gnu::always_inline]] explicit Line32(const FixedLine& line) : Rows(line.y, line.step) {}

  // Vectors v and v + 1. In one piece for GCC 12, which copies registers between the halves of a sum; in this order
  // 296 ns per tile of 4 bits, in GCC's 324.
  template <uint32_t kWidth>
  [[gnu::always_inline]] void store(uint32_t v, Lanes first, Lanes second, uint32_t* to) const {
#if defined(__aarch64__)
    if constexpr (kWidth > 0 && kWidth < 32) {
      using Pair = uint32_t[8];
      Lanes sum0, sum1;
      asm volatile(
          "addhn %[sum0].2s, %[y].2d, %[a0].2d\n\taddhn %[sum1].2s, %[y].2d, %[a1].2d\n\t"
          "addhn2 %[sum0].4s, %[y].2d, %[b0].2d\n\taddhn2 %[sum1].4s, %[y].2d, %[b1].2d\n\t"
          "usra %[sum0].4s, %[first].4s, %[down]\n\tusra %[sum1].4s, %[second].4s, %[down]\n\t"
          "stp %q[sum0], %q[sum1], [%[to]]"
          : [sum0] "=&w"(sum0), [sum1] "=&w"(sum1), "=m"(*reinterpret_cast<Pair*>(to))
          : [y] "w"(y), [a0] "w"(a[v]), [a1] "w"(a[v + 1]), [b0] "w"(b[v]), [b1] "w"(b[v + 1]), [first] "w"(first),
            [second] "w"(second), [to] "r"(to), [down] "i"(32 - kWidth));
      return;
    }
#endif
    store_pair(to, add_residuals<kWidth>(offsets(v), first), add_residuals<kWidth>(offsets(v + 1), second));
  }
};

struct NarrowLine64 : UpperHalves<kShortBlock> {
  using Value = uint64_t;
  Wides references;

  [[gnu::always_inline]] explicit NarrowLine64(const FixedLine& line)
      : UpperHalves(line.y, line.step), references(all(line.base)) {}

  template <uint32_t kWidth>
  [[gnu::always_inline]] void store(uint32_t v, Lanes first, Lanes second, uint64_t* to) const {
    store_one<kWidth>(v, first, to);
    store_one<kWidth>(v + 1, second, to + kVectorLanes);
  }

 private:
  template <uint32_t kWidth>
  [[gnu::always_inline]] void store_one(uint32_t v, Lanes residuals, uint64_t* to) const {
#if defined(__aarch64__)
    if constexpr (kWidth > 0 && kWidth < 32) {
      using Pair = uint64_t[4];
      Lanes sum;
      Wides low;
      asm volatile(
          "addhn %[sum].2s, %[y].2d, %[a].2d\n\taddhn2 %[sum].4s, %[y].2d, %[b].2d\n\t"
          "usra %[sum].4s, %[residuals].4s, %[down]\n\t"
          "saddw %[low].2d, %[base].2d, %[sum].2s\n\tsaddw2 %[sum].2d, %[base].2d, %[sum].4s\n\t"
          "stp %q[low], %q[sum], [%[to]]"
          : [sum] "=&w"(sum), [low] "=&w"(low), "=m"(*reinterpret_cast<Pair*>(to))
          : [y] "w"(y), [a] "w"(a[v]), [b] "w"(b[v]), [residuals] "w"(residuals), [base] "w"(references), [to] "r"(to),
            [down] "i"(32 - kWidth));
      return;
    }
#endif
    store_wides(to, add_offsets({references, references}, add_residuals<kWidth>(offsets(v), residuals)));
  }
};

// y and the rows' differences are split into whole numbers and fractions of 32 bits: a row's prediction is the sum of
// the whole numbers, and one more if the fractions carry.
struct WideLine64 {
  using Value = uint64_t;
  static constexpr uint32_t kBlockRows = kShortBlock;
  static constexpr uint32_t kBlockVectors = kBlockRows / kVectorLanes;
  Wides whole[2 * kBlockVectors];
  Lanes parts[kBlockVectors];
  FixedLine line;

  [[gnu::always_inline]] explicit WideLine64(const FixedLine& of) : line(of) {
    Wides ramp{};
    for (uint32_t i = 0; i < kWideLanes; ++i) ramp[i] = line.step * i;
#pragma GCC unroll 8
    for (uint32_t v = 0; v < 2 * kBlockVectors; ++v) {
      whole[v] = Wides(SignedWides(ramp) >> line.fraction);
      ramp += all(line.step * kWideLanes);
    }
    Lanes rows{};
    for (uint32_t i = 0; i < kVectorLanes; ++i) rows[i] = line.part_of(line.step * i);
#pragma GCC unroll 4
    for (uint32_t v = 0; v < kBlockVectors; ++v) {
      parts[v] = rows;
      rows += all_lanes(line.part_of(line.step * kVectorLanes));
    }
  }
  // Minus one where nothing is carried; bases are one too large.
  [[gnu::always_inline]] Lanes offsets(uint32_t v) const {
    uint32_t room = ~line.part_of(line.y);
    asm("" : "+r"(room));  // or GCC 12 inverts it in a vector register
    return Lanes(parts[v] <= all_lanes(room));
  }
  [[gnu::always_inline]] WidePair bases(uint32_t v) const {
    const Wides from = all(line.base + 1 + line.whole_of(line.y));
    return {from + whole[2 * v], from + whole[2 * v + 1]};
  }
  [[gnu::always_inline]] void advance() { line.y += line.step * kBlockRows; }

  template <uint32_t kWidth>
  [[gnu::always_inline]] void store(uint32_t v, Lanes first, Lanes second, uint64_t* to) const {
    store_wides(to, add_offsets(bases(v), add_residuals<kWidth>(offsets(v), first)));
    store_wides(to + kVectorLanes, add_offsets(bases(v + 1), add_residuals<kWidth>(offsets(v + 1), second)));
  }
};

// A line that rises by less than 2^30 in a block: narrow inside of it, with a base of its own.
struct GentleLine64 : NarrowLine64 {
  FixedLine line;

  [[gnu::always_inline]] explicit GentleLine64(const FixedLine& of)
      : NarrowLine64({0, 0, of.step << (32 - of.fraction)}), line(of) {
    start_block();
  }
  [[gnu::always_inline]] static bool fits(uint32_t width, uint64_t step, uint32_t fraction) {
    const uint64_t rise = (static_cast<int64_t>(step) < 0 ? -step : step) >> fraction;
    return width != 31 && rise < (uint64_t{1} << 30) / kBlockRows - 1;
  }
  [[gnu::always_inline]] WidePair bases(uint32_t) const { return {references, references}; }
  [[gnu::always_inline]] void advance() {
    line.y += line.step * kBlockRows;
    start_block();
  }

 private:
  [[gnu::always_inline]] void start_block() {
    y = all(line.part_of(line.y));
    references = all(line.base + line.whole_of(line.y));
  }
};

struct NoResiduals {
  [[gnu::always_inline]] Lanes operator()(uint64_t) const { return Lanes{}; }
};

// The 32 rows of one k.
template <uint32_t kWidth, typename Model, typename Residuals>
[[gnu::always_inline]] inline void finish_rows(Model& model, const Residuals& residuals, typename Model::Value* out) {
#pragma GCC unroll 1
  for (uint64_t first = 0; first < kLanes; first += Model::kBlockRows) {
#pragma GCC unroll 8
    for (uint32_t v = 0; v < Model::kBlockVectors; v += 2) {
      const uint64_t row = first + v * kVectorLanes;
      model.template store<kWidth>(v, residuals(row), residuals(row + kVectorLanes), out + row);
    }
    model.advance();
  }
}

#if BASALT_CONSTANT_WIDTHS
// Residuals of neighbouring rows, moved to the upper end of their words. `at` points at the first row's word.
struct InOneWord {
  const uint32_t* at;
  uint32_t up;
  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    return *reinterpret_cast<const Lanes*>(at + row) << up;
  }
};
struct InTwoWords {
  const uint32_t* at;
  uint32_t down;
  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    return *reinterpret_cast<const Lanes*>(at + row) >> down | *reinterpret_cast<const Lanes*>(at + kLanes + row)
                                                                   << (32 - down);
  }
};

template <typename Model, uint32_t kWidth>
void unpack_on(const uint32_t* words, uint64_t base, uint64_t y, uint64_t step, uint32_t fraction,
               typename Model::Value* out) {
  Model model(FixedLine{base, y, step, fraction});
  for (uint32_t k = 0; k < kRowsPerLane; ++k, out += kLanes) {
    const uint32_t bit = k * kWidth;
    const uint32_t end = (bit & 31) + kWidth;
    const uint32_t* at = words + (bit >> 5) * kLanes;
    if constexpr (kWidth == 0) {
      finish_rows<0>(model, NoResiduals{}, out);
    } else if (32 % kWidth == 0 || end <= 32) {
      finish_rows<kWidth>(model, InOneWord{at, 32 - end}, out);
    } else {
      finish_rows<kWidth>(model, InTwoWords{at, end - 32}, out);
    }
  }
}

template <typename Model, uint32_t... kWidths>
inline void unpack_on_any(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                          uint32_t fraction, typename Model::Value* out, std::integer_sequence<uint32_t, kWidths...>) {
  using Unpack = void (*)(const uint32_t*, uint64_t, uint64_t, uint64_t, uint32_t, typename Model::Value*);
  static constexpr Unpack kUnpack[] = {unpack_on<Model, kWidths>...};
  kUnpack[width](words, base, y, step, fraction, out);
}
template <typename Model>
inline void unpack_on_line_of(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                              uint32_t fraction, typename Model::Value* out) {
  unpack_on_any<Model>(words, width, base, y, step, fraction, out, std::make_integer_sequence<uint32_t, 32>());
}

// 32-bit values have less to store and so less time. With constant shifts a Neoverse N1 has instructions that shift and
// insert: 320 instead of 356 ns per tile of 5 bits.

// Residuals at the upper ends of their words, ending before bit kEnd of one or two.
template <uint32_t kEnd>
struct EndingAt {
  const uint32_t* at;
  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    const Lanes low = *reinterpret_cast<const Lanes*>(at + row);
    if constexpr (kEnd <= 32) {
      return low << (32 - kEnd);
    } else {
      const Lanes high = *reinterpret_cast<const Lanes*>(at + kLanes + row) << (64 - kEnd);
      return Lanes(vsriq_n_u32(reinterpret_cast<uint32x4_t>(high), reinterpret_cast<uint32x4_t>(low), kEnd - 32));
    }
  }
};
// One function per width whose shifts are constants, for all k until the shifts repeat.
template <uint32_t kWidth, uint32_t... kIndexes>
[[gnu::always_inline]] inline void finish_period(Line32<kLongBlock>& model, const uint32_t* words, uint32_t* out,
                                                 std::integer_sequence<uint32_t, kIndexes...>) {
  (finish_rows<kWidth>(model, EndingAt<(kIndexes * kWidth & 31) + kWidth>{words + (kIndexes * kWidth >> 5) * kLanes},
                       out + kIndexes * kLanes),
   ...);
}
#include "core/unpack_line_neon.h"

template <uint32_t kWidth>
void unpack_on_32(const uint32_t* words, uint64_t y, uint64_t step, uint32_t* out) {
  constexpr uint32_t kWords = kWidth / (kWidth & (0 - kWidth));  // the odd part
  constexpr uint32_t kPeriod = kWords * 32 / kWidth;
  const auto periods = [&](auto finish) __attribute__((always_inline)) {
    for (uint32_t k = 0; k < kRowsPerLane; k += kPeriod, words += kWords * kLanes, out += kPeriod * kLanes) {
      finish(std::make_integer_sequence<uint32_t, kPeriod>());
    }
  };
  if constexpr (kWidth <= 16) {
    HalvesLine32 line(y, step);
    periods([&](auto indexes)
                __attribute__((always_inline)) { finish_halves_period<kWidth>(line, words, out, indexes); });
  } else {
    Line32<kLongBlock> model(FixedLine{0, y, step});
    periods([&](auto indexes) __attribute__((always_inline)) { finish_period<kWidth>(model, words, out, indexes); });
  }
}
template <>
void unpack_on_32<0>(const uint32_t*, uint64_t y, uint64_t step, uint32_t* out) {
  Line32<kLongBlock> model(FixedLine{0, y, step});
  for (uint32_t k = 0; k < kRowsPerLane; ++k, out += kLanes) finish_rows<0>(model, NoResiduals{}, out);
}

template <uint32_t... kWidths>
inline void unpack_on_any_32(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out,
                             std::integer_sequence<uint32_t, kWidths...>) {
  using Unpack = void (*)(const uint32_t*, uint64_t, uint64_t, uint32_t*);
  static constexpr Unpack kUnpack[] = {unpack_on_32<kWidths>...};
  kUnpack[width](words, y, step, out);
}
#else
// Residuals of neighbouring rows. `at` points at the first row's word.
struct InOneWord {
  const uint32_t* at;
  uint32_t shift, mask;
  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    return *reinterpret_cast<const Lanes*>(at + row) >> shift & mask;
  }
};
struct InTwoWords {
  const uint32_t* at;
  uint32_t shift, mask;
  [[gnu::always_inline]] Lanes operator()(uint64_t row) const {
    return (*reinterpret_cast<const Lanes*>(at + row) >> shift | *reinterpret_cast<const Lanes*>(at + kLanes + row)
                                                                     << (32 - shift)) &
           mask;
  }
};

template <typename Model>
void unpack_on_line_of(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                       uint32_t fraction, typename Model::Value* out) {
  Model model(FixedLine{base, y, step, fraction});
  const auto mask = static_cast<uint32_t>(low_bits(width));
  for (uint32_t k = 0; k < kRowsPerLane; ++k, out += kLanes) {
    const uint32_t shift = k * width & 31;
    const uint32_t* at = words + (k * width >> 5) * kLanes;
    if (width == 0) {
      finish_rows<0>(model, NoResiduals{}, out);
    } else if (shift + width <= 32) {
      finish_rows<32>(model, InOneWord{at, shift, mask}, out);
    } else {
      finish_rows<32>(model, InTwoWords{at, shift, mask}, out);
    }
  }
}
#endif

// Residuals of 32 bits and more, in so many words each.
template <uint32_t kWords>
struct WideResiduals {
  const uint32_t* at;
  uint32_t shift;
  uint64_t mask;

  [[gnu::always_inline]] Lanes word(uint64_t row) const { return *reinterpret_cast<const Lanes*>(at + row); }
  [[gnu::always_inline]] WidePair operator()(uint64_t row) const {
    const Lanes first = word(row);
    if constexpr (kWords == 1) return interleave(first, Lanes{});
    const Lanes second = word(row + kLanes);
    if constexpr (kWords == 2) {
      const WidePair both = interleave(first, second);
      return {both.first >> shift & all(mask), both.second >> shift & all(mask)};
    }
    const uint32_t up = 32 - shift;
    return interleave(first >> shift | second << up,
                      (second >> shift | word(row + 2 * kLanes) << up) & all_lanes(static_cast<uint32_t>(mask >> 32)));
  }
};

template <typename Model, typename Residuals>
[[gnu::always_inline]] inline void finish_wide_rows(Model& model, const Residuals& residuals, uint64_t* out) {
#pragma GCC unroll 1
  for (uint32_t first = 0; first < kLanes; first += Model::kBlockRows) {
#pragma GCC unroll 8
    for (uint32_t v = 0; v < Model::kBlockVectors; ++v) {
      const WidePair found = residuals(first + v * kVectorLanes);
      const WidePair predicted = model.predictions(v);
      store_wides(out + first + v * kVectorLanes, {found.first + predicted.first, found.second + predicted.second});
    }
    model.advance();
  }
}

// 32 ≤ width ≤ 64.
template <typename Model>
void unpack_wide_on(const uint32_t* words, uint32_t width, Model model, uint64_t* out) {
  const uint64_t mask = low_bits(width);
  for (uint32_t k = 0; k < kRowsPerLane; ++k, out += kLanes) {
    const uint32_t bit = k * width;
    const uint32_t shift = bit & 31;
    const uint32_t* at = words + (bit >> 5) * kLanes;
    if (width == 32) {
      finish_wide_rows(model, WideResiduals<1>{at, shift, mask}, out);
    } else if (shift + width <= 64) {
      finish_wide_rows(model, WideResiduals<2>{at, shift, mask}, out);
    } else {
      finish_wide_rows(model, WideResiduals<3>{at, shift, mask}, out);
    }
  }
}

struct Reference64 {
  static constexpr uint32_t kBlockRows = 32;
  static constexpr uint32_t kBlockVectors = kBlockRows / kVectorLanes;
  Wides references;
  [[gnu::always_inline]] WidePair predictions(uint32_t) const { return {references, references}; }
  [[gnu::always_inline]] void advance() {}
};
// A model that predicts in 64 bits.
template <typename Model>
struct Predictions : Model {
  [[gnu::always_inline]] explicit Predictions(const FixedLine& of) : Model(of) {}
  [[gnu::always_inline]] WidePair predictions(uint32_t v) const {
    return add_offsets(Model::bases(v), Model::offsets(v));
  }
};

inline void line_32(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step, uint32_t* out) {
#if BASALT_CONSTANT_WIDTHS
  unpack_on_any_32(words, width, y, step, out, std::make_integer_sequence<uint32_t, 33>());
#else
  unpack_on_line_of<Line32<kLongBlock>>(words, width, 0, y, step, 32, out);
#endif
}
inline void narrow_line_64(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                           uint64_t* out) {
  unpack_on_line_of<NarrowLine64>(words, width, base, y, step, 32, out);
}

template <typename Model>
inline void wide_on(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step, uint32_t fraction,
                    uint64_t* out) {
  if (width >= 32) {
    return unpack_wide_on(words, width, Predictions<Model>(FixedLine{base, y, step, fraction}), out);
  }
  unpack_on_line_of<Model>(words, width, base, y, step, fraction, out);
}
inline void wide_line_64(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y, uint64_t step,
                         uint32_t fraction, uint64_t* out) {
  if (GentleLine64::fits(width, step, fraction)) {
    wide_on<GentleLine64>(words, width, base, y, step, fraction, out);
  } else {
    wide_on<WideLine64>(words, width, base, y, step, fraction, out);
  }
}

#undef BASALT_CONSTANT_WIDTHS
