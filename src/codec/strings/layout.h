// `strings`: variable-length values as lengths and bytes.
//
// Streams: none. Parameters: none. Children: 0 lengths (uint32, bytes per row); 1 bytes: a bytes codec, which is given
// the row borders and keeps what it needs to find its own stored data (a 64-bit start per tile, stored lengths).
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::strings {

constexpr uint32_t kLengths = 0;
constexpr uint32_t kBytes = 1;

// Of so few rows each may be taken for an entry of a list of its own.
constexpr uint64_t kFewTexts = 256;

}  // namespace basalt::strings
