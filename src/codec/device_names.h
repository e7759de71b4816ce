// What the codecs' device_reader() functions share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

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

inline DeviceReader device_reader_of(const NodeView& node) { return node.codec->device_reader(node); }

// `name<value type, children…>`; empty where that or one of them is. What the compilation of children takes is theirs
// to say.
inline DeviceReader device_reader_named(const std::string& name, const NodeView& node,
                                        const std::vector<DeviceReader>& children = {}) {
  DeviceReader reader;
  std::string type = device_value_type(node.type);
  if (type.empty()) return reader;
  for (const DeviceReader& child : children) {
    if (child.empty()) return {};
    type += ", " + child.type;
    reader.long_code = reader.long_code || child.long_code;
    reader.most_instructions = std::max(reader.most_instructions, child.most_instructions);
  }
  reader.type = name + "<" + type + ">";
  return reader;
}

// `name<children…>`, which tests strings; empty, with the reason, where one of the children is.
inline DeviceReader device_filter_named(const std::string& name, const std::vector<DeviceReader>& children) {
  DeviceReader filter;
  std::string types;
  for (const DeviceReader& child : children) {
    if (child.empty()) {
      filter.type.clear();
      filter.reason = child.reason.empty() ? "an encoding below strings has no device reader" : child.reason;
      return filter;
    }
    types += (types.empty() ? "" : ", ") + child.type;
    filter.scratch_bytes = std::max(filter.scratch_bytes, child.scratch_bytes);
  }
  filter.type = types.empty() ? name : name + "<" + types + ">";
  return filter;
}

}  // namespace basalt
