// Text of device reader types, shared by the codecs' device_reader() functions.
#pragma once

#include <string>

#include "basalt/codec/codec.h"
#include "basalt/core/types.h"

namespace basalt {

// The unsigned type of this width, as device code spells it.
inline std::string device_value_type(Physical type) {
  switch (width_of(type)) {
    case 1: return "uint8_t";
    case 2: return "uint16_t";
    case 4: return "uint32_t";
    case 8: return "uint64_t";
    case 16: return "uint128_t";
    default: return {};
  }
}

inline std::string device_reader_of(const NodeView& node) { return node.codec->device_reader(node); }

}  // namespace basalt
