// What the device decoder works on: shared by its kernels and those who launch them.
#pragma once

#include "codec/fsst/layout.h"
#include "codec/strings/gpu/decode_work.h"

namespace basalt::fsst {

// An encoded array and where it goes, in device memory. Children have their own descriptors.
struct DecodeWork : strings::TextWork {
  const unsigned char* tables;
  const uint64_t* starts;
  const unsigned char* codes;
  const uint32_t* piece_starts;  // nullptr: no long rows
  const uint16_t* pieces;
  const uint64_t* code_lengths;  // descriptor of the rows' code lengths
  uint32_t table_shift;
};

}  // namespace basalt::fsst
