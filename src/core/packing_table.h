// One instruction set's packing routines; see packing.cpp for the choice between them.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/quartered_tile.h"

namespace basalt {

struct PackingTable {
  void (*unpack8)(const uint32_t*, uint32_t, uint8_t, uint8_t*);
  void (*unpack16)(const uint32_t*, uint32_t, uint16_t, uint16_t*);
  void (*unpack32)(const uint32_t*, uint32_t, uint32_t, uint32_t*);
  void (*unpack64)(const uint32_t*, uint32_t, uint64_t, uint64_t*);
  void (*pack8)(const uint8_t*, uint8_t, uint32_t, uint32_t*);
  void (*pack16)(const uint16_t*, uint16_t, uint32_t, uint32_t*);
  void (*pack32)(const uint32_t*, uint32_t, uint32_t, uint32_t*);
  void (*pack64)(const uint64_t*, uint64_t, uint32_t, uint32_t*);
  using Line32 = void (*)(const uint32_t*, uint32_t, uint64_t, uint64_t, uint32_t*);
  using NarrowLine64 = void (*)(const uint32_t*, uint32_t, uint64_t, uint64_t, uint64_t, uint64_t*);
  using WideLine64 = void (*)(const uint32_t*, uint32_t, uint64_t, uint64_t, uint64_t, uint32_t, uint64_t*);
  Line32 line32;
  NarrowLine64 narrow_line64;
  WideLine64 wide_line64;
  Line32 unit_line32;
  NarrowLine64 unit_narrow_line64;
  WideLine64 unit_wide_line64;
};

#if defined(__x86_64__)
namespace packing_avx2 {
extern const PackingTable kTable;
}
namespace packing_avx512 {
extern const PackingTable kTable;
}
#endif

}  // namespace basalt
