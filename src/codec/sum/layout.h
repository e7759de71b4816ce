// `sum`: value = residual + source, modulo 2^bits of the value type.
//
// Streams: none. Parameters: none. Children: 0 residual (signed integers of the value's width); 1 source (the value
// type). One of each per row.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::sum {

constexpr uint32_t kResidual = 0;
constexpr uint32_t kSource = 1;

// Shared memory of the tile reader, per warp: what both children take.
BASALT_HD constexpr uint32_t source_scratch(uint32_t residual_scratch) { return (residual_scratch + 15) / 16 * 16; }

}  // namespace basalt::sum
