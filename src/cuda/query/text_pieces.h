// Strings cut into pieces whose order as numbers is theirs: what radix sorts of strings compare.
#pragma once

#include "codec/strings/gpu/texts.h"

namespace basalt::cuda {

constexpr uint64_t kPieceBytes = 7;

// Bytes [skip, skip + 7) of a text, the first one highest and zeros behind its end; in the lowest byte how many of its
// bytes lie from `skip` on, 8 for all that are more than 7. Of two texts that are equal before `skip` the lesser one
// has the lesser number; where numbers are equal the texts are, or both go on.
BASALT_HD uint64_t piece_of(const strings::Text& text, uint64_t skip) {
  if (skip >= text.length) return 0;
  const uint64_t left = text.length - skip;
  const uint64_t word = skip / 8;
  const uint32_t shift = static_cast<uint32_t>(skip % 8 * 8);
  uint64_t bits = text.word(word) >> shift;
  if (shift != 0) bits |= text.word(word + 1) << (64 - shift);
  const uint64_t reversed = strings::reverse_bytes(bits);
  return (reversed & ~uint64_t{0xFF}) | strings::smaller(left, kPieceBytes + 1);
}

}  // namespace basalt::cuda
