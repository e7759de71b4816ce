// The codes of a dictionary of numbers as values: strings that are one text and a number which is a place in a list are
// places in a list themselves.
#pragma once

#include "codec/dict/gpu/codes.cuh"

namespace basalt::device {

// kParameterWords: of the descriptor, which hold the digits and the text. Codes: those of the numbers.
template <uint32_t kParameterWords, typename Codes>
class NumberedCodes : public Codes {
 public:
  static constexpr uint32_t kNumbersWord = 1 + kParameterWords;
  static constexpr uint32_t kDescriptorWords = kNumbersWord + Codes::kDescriptorWords;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { Codes::bind(descriptor + kNumbersWord); }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    Codes::open(descriptor + kNumbersWord, tile, scratch);
  }
};

}  // namespace basalt::device
