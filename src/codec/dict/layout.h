// `dict`: distinct values in ascending order, and per row the index of its value, so that code order is value order.
//
// Streams: none. Parameters: none. Children: 0 codes (uint32, one per row); 1 entries (the value type, strictly
// ascending by the type's own order; floats by the order of their sign-adjusted bits; bytes by memcmp, then length).
// A code beyond the entries is corruption that only the values show: readers clamp it to the last entry and report it.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::dict {

constexpr uint32_t kCodes = 0;
constexpr uint32_t kEntries = 1;

}  // namespace basalt::dict
