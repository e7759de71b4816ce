// The filter of `numbered` on the device: the host put the test to the text that all rows begin with, the digits follow
// here.
#pragma once

#include "codec/numbered/layout.h"
#include "codec/strings/gpu/filter.cuh"

namespace basalt::device {

// kParameterWords: of the descriptor, which hold the digits and the text.
template <uint32_t kParameterWords, typename Numbers>
struct NumberedFilter {
  static constexpr uint32_t kNumbersWord = 1 + kParameterWords;
  static constexpr uint32_t kDescriptorWords = kNumbersWord + Numbers::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Numbers::kScratchBytes;

  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                      const void* head, uint32_t alive) {
    const FilterTable table(static_cast<const strings::FilterTableHead*>(head));
    if (table.settled(table.start())) return {table.accepts(table.start()) ? alive : 0, kByBounds, 0};
    const uint32_t digits = static_cast<uint32_t>(load(descriptor + 1) & 0xFF);
    Numbers numbers;
    numbers.open(descriptor + kNumbersWord, tile, scratch);
    TileAnswer answer{0, kByRows, 0};
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
#pragma unroll 1
    for (uint32_t k = 0; k * kLanes < rows; ++k) {
      uint64_t left = numbers.at(k);
      if ((alive >> k & 1) == 0) continue;
      // Digits come last to first: the last 16 into one word, by four bits, the others into another.
      uint64_t low = 0;
      uint32_t high = 0;
#pragma unroll 1
      for (uint32_t i = 0; i < digits; ++i) {
        const uint64_t digit = left % 10;
        left /= 10;
        if (i < 16) {
          low |= digit << 4 * i;
        } else {
          high |= static_cast<uint32_t>(digit) << 4 * (i - 16);
        }
      }
      answer.bad |= static_cast<uint32_t>(left != 0);
      uint32_t state = table.start();
#pragma unroll 1
      for (uint32_t i = digits; i > 0 && !table.settled(state); --i) {
        const uint64_t digit = i > 16 ? high >> 4 * (i - 17) : low >> 4 * (i - 1);
        state = table.next(byte_below(state, '0' + static_cast<uint32_t>(digit & 15), 0));
      }
      answer.mask |= static_cast<uint32_t>(table.accepts(state)) << k;
    }
    answer.bad |= static_cast<uint32_t>(numbers.bad);
    return answer;
  }
};

}  // namespace basalt::device
