// A test of strings as it is put to codes on the device: which entries pass. Made by the host, once per entry; read by
// codec/dict/gpu/filter.cuh.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::dict {

// Behind it: bits, entry i at bit i % 32 of word i / 32.
struct alignas(16) CodeTableHead {
  uint32_t entries;
  // Entries first…last pass and no others, if `is_range`; none if first > last.
  uint32_t is_range;
  uint32_t first;
  uint32_t last;
};

}  // namespace basalt::dict
