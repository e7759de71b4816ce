// `constant`: every row has the same value.
//
// Streams: none. Parameters: fixed width: the value, little-endian, in 16 bytes (the rest zero). Bytes (the child of
// `strings`, where all rows hold the same bytes): those bytes. Children: none.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::constant {

constexpr uint32_t kParameterBytes = 16;

}  // namespace basalt::constant
