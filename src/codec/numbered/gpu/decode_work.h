// What the device decoder works on: shared by its kernels and those who launch them.
#pragma once

#include "codec/numbered/layout.h"
#include "codec/strings/gpu/decode_work.h"

namespace basalt::numbered {

// An encoded array and where it goes, in device memory. All rows have the same length, so that nobody reads `lengths`
// and `text_starts`.
struct DecodeWork : strings::TextWork {
  const uint64_t* numbers;  // descriptor
  const uint64_t* prefix;   // the text of all rows, zeros behind it up to a whole word
  uint32_t prefix_bytes;
  uint32_t digits;

  BASALT_HD uint32_t row_bytes() const { return prefix_bytes + digits; }
};

}  // namespace basalt::numbered
