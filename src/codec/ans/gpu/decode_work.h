// What the kernel that decodes units gets: one of these for each array.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::ans {

// All pointers are device memory.
struct DecodeWork {
  const uint32_t* table;
  const uint32_t* starts;
  const uint32_t* units;
  void* codes;      // code_bytes(symbols) for each row, of whole tiles
  uint32_t* fault;  // becomes 1 if a unit is damaged
  uint32_t rows;
  uint32_t symbols;
  uint32_t unit_tiles;
};

}  // namespace basalt::ans
