// `map`: value = entries[source − base], a function of another column whose values lie close together.
//
// Streams: none. Parameters: i64 base. Children: 0 source (i64, one per row); 1 entries (the value type, at most
// kMostEntries). A source below the base or beyond the entries is corruption that only the values show: readers take
// the last entry and report it.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::map {

constexpr uint32_t kSource = 0;
constexpr uint32_t kEntries = 1;
constexpr uint32_t kParameterBytes = 8;
constexpr uint64_t kMostEntries = uint64_t{1} << 20;

}  // namespace basalt::map
