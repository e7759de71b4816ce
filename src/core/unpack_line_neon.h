// Lines of 32-bit values with residuals of up to 16 bits on Arm, included by unpack_line_loops.h. A Neoverse N1 starts
// two vector instructions per cycle, so their number decides; a copy to all lanes and half a paired store count as one.

// Up to 16 bits eight rows at a time: their words' lower or upper halves side by side are one vector, from which a
// residual comes for eight rows at once, and is widened by the addition. Rows 4v, 4v + 1 of a block add ramp[v] to y,
// rows 4v + 2, 4v + 3 add it to y + 2·step, so that eight registers hold a block of 32 and the halves have room.
using Halves = uint16x8_t;
constexpr uint32_t kHalfGroups = kLanes / 8;
struct HalvesLine32 {
  uint64x2_t ramp[kLanes / 4];
  uint64_t y, step;

  [[gnu::always_inline]] HalvesLine32(uint64_t first_y, uint64_t by) : y(first_y), step(by) {
    ramp[0] = vsetq_lane_u64(by, vdupq_n_u64(0), 1);
    const uint64x2_t four = vdupq_n_u64(4 * by);
#pragma GCC unroll 8
    for (uint32_t v = 1; v < kLanes / 4; ++v) ramp[v] = vaddq_u64(ramp[v - 1], four);
    stay();
  }
  [[gnu::always_inline]] void advance() {
    y += step * kLanes;
    stay();
  }
  // In general registers; GCC 12 would work out the numbers of many blocks ahead and save vector registers on the
  // stack.
  [[gnu::always_inline]] void stay() { asm volatile("" : "+r"(y), "+r"(step)); }
};

// 16 rows: what fills a line of the cache is stored at once. kMinus: residuals are 0 or minus one, to be subtracted.
template <bool kMinus>
[[gnu::always_inline]] inline void store_sixteen(uint64x2_t y, uint64x2_t y2, const uint64x2_t* ramp, Halves first,
                                                 Halves second, uint32_t* to) {
  using CacheLine = uint32_t[16];
  uint32x4_t sum0, sum1, sum2, sum3;
#define BASALT_STORE_SIXTEEN(add)                                                                         \
  asm volatile(                                                                                           \
      "addhn %[sum0].2s, %[y].2d, %[a].2d\n\taddhn %[sum1].2s, %[y].2d, %[b].2d\n\t"                      \
      "addhn %[sum2].2s, %[y].2d, %[c].2d\n\taddhn %[sum3].2s, %[y].2d, %[d].2d\n\t"                      \
      "addhn2 %[sum0].4s, %[y2].2d, %[a].2d\n\taddhn2 %[sum1].4s, %[y2].2d, %[b].2d\n\t"                  \
      "addhn2 %[sum2].4s, %[y2].2d, %[c].2d\n\taddhn2 %[sum3].4s, %[y2].2d, %[d].2d\n\t" add              \
      " %[sum0].4s, %[sum0].4s, %[first].4h\n\t" add "2 %[sum1].4s, %[sum1].4s, %[first].8h\n\t" add      \
      " %[sum2].4s, %[sum2].4s, %[second].4h\n\t" add                                                     \
      "2 %[sum3].4s, %[sum3].4s, %[second].8h\n\t"                                                        \
      "stp %q[sum0], %q[sum1], [%[to]]\n\tstp %q[sum2], %q[sum3], [%[to], #32]"                           \
      : [sum0] "=&w"(sum0), [sum1] "=&w"(sum1), [sum2] "=&w"(sum2), [sum3] "=&w"(sum3),                   \
        "=m"(*reinterpret_cast<CacheLine*>(to))                                                           \
      : [y] "w"(y), [y2] "w"(y2), [a] "w"(ramp[0]), [b] "w"(ramp[1]), [c] "w"(ramp[2]), [d] "w"(ramp[3]), \
        [first] "w"(first), [second] "w"(second), [to] "r"(to))
  if constexpr (kMinus) {
    BASALT_STORE_SIXTEEN("ssubw");
  } else {
    BASALT_STORE_SIXTEEN("uaddw");
  }
#undef BASALT_STORE_SIXTEEN
}

// Lower or upper halves of eight lanes' words.
template <bool kUpper>
[[gnu::always_inline]] inline Halves halves_of(const uint32_t* words) {
  const auto first = vreinterpretq_u16_u32(vld1q_u32(words));
  const auto second = vreinterpretq_u16_u32(vld1q_u32(words + 4));
  return kUpper ? vuzp2q_u16(first, second) : vuzp1q_u16(first, second);
}

// Residuals of row kIndex of eight lanes; `current` are the halves that it begins in.
template <uint32_t kWidth, uint32_t kIndex>
[[gnu::always_inline]] inline Halves residuals_of_eight(Halves& current, const uint32_t* words) {
  constexpr uint32_t kHalf = kIndex * kWidth / 16;
  constexpr uint32_t kShift = kIndex * kWidth % 16;
  constexpr uint32_t kNext = kHalf + 1;
  if constexpr (kShift == 0) current = halves_of<kHalf % 2 == 1>(words + kHalf / 2 * kLanes);
  if constexpr (kWidth == 1) return vtstq_u16(current, vdupq_n_u16(1u << kShift));
  Halves residuals = current;
  if constexpr (kShift > 0) residuals = vshrq_n_u16(residuals, kShift);
  if constexpr (kShift + kWidth > 16) {
    current = halves_of<kNext % 2 == 1>(words + kNext / 2 * kLanes);
    residuals = vsliq_n_u16(residuals, current, 16 - kShift);
  }
  if constexpr (kShift + kWidth != 16) residuals = vandq_u16(residuals, vdupq_n_u16((1u << kWidth) - 1));
  return residuals;
}
template <uint32_t kWidth, uint32_t kIndex>
[[gnu::always_inline]] inline void finish_halves(HalvesLine32& line, Halves (&current)[kHalfGroups],
                                                 const uint32_t* words, uint32_t* out) {
  uint64_t second = line.y + 2 * line.step;
  asm volatile("" : "+r"(second));
  const uint64x2_t y = vdupq_n_u64(line.y);
  const uint64x2_t y2 = vdupq_n_u64(second);
#pragma GCC unroll 2
  for (uint32_t g = 0; g < kHalfGroups; g += 2) {
    const Halves a = residuals_of_eight<kWidth, kIndex>(current[g], words + 8 * g);
    const Halves b = residuals_of_eight<kWidth, kIndex>(current[g + 1], words + 8 * (g + 1));
    store_sixteen<kWidth == 1>(y, y2, line.ramp + 2 * g, a, b, out + kIndex * kLanes + 8 * g);
  }
  line.advance();
}
template <uint32_t kWidth, uint32_t... kIndexes>
[[gnu::always_inline]] inline void finish_halves_period(HalvesLine32& line, const uint32_t* words, uint32_t* out,
                                                        std::integer_sequence<uint32_t, kIndexes...>) {
  Halves current[kHalfGroups];
  (finish_halves<kWidth, kIndexes>(line, current, words, out), ...);
}
