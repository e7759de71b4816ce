// What the device decoder works on: shared by its kernels and those who launch them.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/fsst/layout.h"
#include "core/device/batch.h"

namespace basalt::fsst {

// An encoded array and where it goes, in device memory. Children have their own descriptors.
struct DecodeWork {
  const unsigned char* tables;
  const uint64_t* starts;
  const unsigned char* codes;
  const uint32_t* piece_starts;  // nullptr: no long rows
  const uint16_t* pieces;
  const uint64_t* lengths;       // descriptor of the rows' lengths
  const uint64_t* code_lengths;  // and of their codes'
  uint32_t rows;
  uint32_t table_shift;

  uint64_t* text_starts;  // [tiles + 1] of the decoded bytes
  unsigned char* text;
  int64_t* offsets;  // [rows + 1]
  uint32_t* fault;

  BASALT_HD uint32_t tiles() const { return device::tiles_of(rows); }
};

}  // namespace basalt::fsst
