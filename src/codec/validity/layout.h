// `validity`: NULLs beside the values. Only ever the root of a column's tree; a column without NULLs in a chunk has
// none.
//
// Streams: none. Parameters: none. Children: 0 valid (uint8, 1 = valid, 0 = NULL, one per row); 1 values (one per row;
// the slot under a NULL repeats the previous valid value, else the first valid one, else zero or the empty string).
// A struct column has only child 0.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::validity {

constexpr uint32_t kValid = 0;
constexpr uint32_t kValues = 1;

}  // namespace basalt::validity
