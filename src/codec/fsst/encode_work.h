// What the device encoder works on: shared by its kernels and those who launch them.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/fsst/layout.h"

namespace basalt::fsst {

// A table as kernels look symbols up: small enough for shared memory.
struct alignas(16) EncodeTable {
  static constexpr uint32_t kPairSlots = 1024;
  static constexpr uint8_t kNone = kEscape;

  uint64_t values[256];
  uint32_t pairs[kPairSlots];  // two bytes | code << 16 | 1 << 24, behind their slot where that is taken; 0: free
  uint8_t lengths[256];
  uint8_t singles[256];   // code of each byte
  uint8_t slots[kSlots];  // code of symbols of three and more bytes

  BASALT_HD static uint32_t pair_slot(uint32_t pair) { return pair * 40503u >> 6 & (kPairSlots - 1); }
};

// A piece of a long row.
struct EncodePiece {
  uint64_t row;
  uint64_t first;   // byte of the row
  uint32_t length;  // plain bytes
  uint32_t before;  // pieces of the row before this one
};

// An array and where its codes go, in device memory.
struct EncodeWork {
  const uint64_t*
      text;  // row i is bytes [offsets[i] - first_byte, offsets[i + 1] - first_byte); a word behind is readable
  const int64_t* offsets;
  int64_t first_byte;
  uint64_t rows;
  const EncodeTable* tables;
  uint32_t table_shift;
  const EncodePiece* pieces;
  uint64_t piece_count;
  uint8_t* steps;  // optimal parse: a byte per byte of text, how many of them the best step takes; nullptr: greedy

  // Counted first:
  uint32_t* code_lengths;  // [rows], zero before
  uint32_t* piece_codes;   // [piece_count]
  uint32_t* escapes;       // [tables], zero before, 1 where there are any
  // Written then:
  const uint64_t* row_places;    // [rows]
  const uint64_t* piece_places;  // [piece_count], sums of piece_codes
  uint8_t* codes;
};

}  // namespace basalt::fsst
