// What the kernels that encode units get.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/ans/layout.h"

namespace basalt::ans {

// All pointers are device memory. T: unsigned, of the values' width.
template <typename T>
struct EncodeWork {
  const T* values;
  T reference;
  uint32_t rows;
  uint32_t symbols;
  uint32_t unit_tiles;
  const uint32_t* codes;  // of each symbol: wide_symbol(first slot, share)
  // What units become, one by one: their words, at the end of a room of a word for each row; how many; their states and
  // tails; how many words of 32 bits all of that takes in the stream.
  uint16_t* words;
  uint32_t* counts;
  uint32_t* states;
  uint32_t* tails;
  uint32_t* unit_words;

  BASALT_HD uint32_t unit_rows() const { return unit_tiles * kTileRows; }
};

}  // namespace basalt::ans
