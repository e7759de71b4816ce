// Steps of 16 states at a time, for AVX-512; chosen at run time by unit_loops.cpp.
#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "codec/ans/unit_loops.h"

// GCC 12 takes what its own intrinsics leave undefined, and mask out, for a mistake.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define BASALT_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

namespace basalt::ans::avx512 {

namespace {

constexpr uint32_t kWidth = 16;

struct Steps16 {
  __m512i symbols;
  __m512i states;
};

BASALT_AVX512 inline __m512i words_at(const uint32_t* from, __m512i places) {
  return _mm512_i32gather_epi32(places, from, 4);
}

BASALT_AVX512 inline Steps16 next_of(const NarrowTable& table, __m512i states) {
  const __m512i place = _mm512_and_si512(states, _mm512_set1_epi32((1 << kNarrowBits) - 1));
  const __m512i slot = words_at(table.slots, place);
  const __m512i share = _mm512_and_si512(_mm512_srli_epi32(slot, 8), _mm512_set1_epi32(0xFFF));
  const __m512i product =
      _mm512_mullo_epi32(_mm512_add_epi32(share, _mm512_set1_epi32(1)), _mm512_srli_epi32(states, kNarrowBits));
  return {_mm512_and_si512(slot, _mm512_set1_epi32(0xFF)), _mm512_add_epi32(product, _mm512_srli_epi32(slot, 20))};
}

// Slots are read as pairs: one more lies behind the last.
BASALT_AVX512 inline Steps16 next_of(const WideTable& table, __m512i states) {
  const __m512i place = _mm512_and_si512(states, _mm512_set1_epi32((1 << kWideBits) - 1));
  const __m512i low = _mm512_set1_epi32(0xFFFF);
  const __m512i symbol = _mm512_and_si512(_mm512_i32gather_epi32(place, table.slots, 2), low);
  const __m512i entry = words_at(table.symbols, symbol);
  const __m512i product = _mm512_mullo_epi32(_mm512_srli_epi32(entry, 16), _mm512_srli_epi32(states, kWideBits));
  return {symbol, _mm512_sub_epi32(_mm512_add_epi32(product, place), _mm512_and_si512(entry, low))};
}

template <typename Table>
BASALT_AVX512 void steps(const Table& table, uint32_t* states, UnitWords* words, uint32_t count, uint16_t* out) {
  __m512i half[2] = {_mm512_loadu_si512(states), _mm512_loadu_si512(states + kWidth)};
  for (uint32_t step = 0; step < count; ++step, out += kLanes) {
    uint32_t taken = 0;
    const uint16_t* const at = words == nullptr ? nullptr : words->at();
    for (uint32_t i = 0; i < 2; ++i) {
      const Steps16 next = next_of(table, half[i]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * kWidth), _mm512_cvtepi32_epi16(next.symbols));
      half[i] = next.states;
      if (words == nullptr) continue;
      const __mmask16 wants = _mm512_cmplt_epu32_mask(next.states, _mm512_set1_epi32(kLeastState));
      const __m512i here = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + taken)));
      const __m512i shifted = _mm512_slli_epi32(next.states, kWordBits);
      half[i] = _mm512_mask_or_epi32(next.states, wants, shifted, _mm512_maskz_expand_epi32(wants, here));
      taken += static_cast<uint32_t>(std::popcount(static_cast<uint16_t>(wants)));
    }
    if (words != nullptr) words->take(taken);
  }
  _mm512_storeu_si512(states, half[0]);
  _mm512_storeu_si512(states + kWidth, half[1]);
}

}  // namespace

const UnitLoops kLoops = {steps<NarrowTable>, steps<WideTable>};

}  // namespace basalt::ans::avx512

#endif
