// What the codecs' device_reader() functions share.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
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

// A type of a codec's room gpu/: `name<arguments…>`, declared in `file` there.
inline DeviceType device_type_of(const NodeView& node, const std::string& name, const std::string& file,
                                 std::vector<DeviceType> arguments) {
  return {name, "codec/" + std::string(node.codec->name()) + "/gpu/" + file, std::move(arguments)};
}

// `name<value type, children…>`; empty where that or one of them is. What the compilation of children takes is theirs
// to say.
inline DeviceReader device_reader_named(const std::string& name, const NodeView& node,
                                        const std::vector<DeviceReader>& children = {}) {
  DeviceReader reader;
  std::vector<DeviceType> types = {{device_value_type(node.type)}};
  if (types[0].empty()) return reader;
  for (const DeviceReader& child : children) {
    if (child.empty()) return {};
    types.push_back(child.type);
    reader.long_code = reader.long_code || child.long_code;
    reader.most_instructions = std::max(reader.most_instructions, child.most_instructions);
  }
  reader.type = device_type_of(node, name, "kernels.cuh", std::move(types));
  return reader;
}

// `name<children…>`, which filters strings; empty, with the reason, where one of the children is.
inline DeviceReader device_filter_named(const std::string& name, const NodeView& node,
                                        const std::vector<DeviceReader>& children = {}) {
  DeviceReader filter;
  std::vector<DeviceType> types;
  for (const DeviceReader& child : children) {
    if (child.empty()) {
      filter.reason = child.reason.empty() ? "an encoding below strings has no device reader" : child.reason;
      return filter;
    }
    types.push_back(child.type);
    filter.scratch_bytes = std::max(filter.scratch_bytes, child.scratch_bytes);
  }
  filter.type = device_type_of(node, name, "filter.cuh", std::move(types));
  return filter;
}

// `name<value type, children…>`, which filters and sums; see DeviceReader::filter_sum.
inline DeviceType device_filter_sum_named(const std::string& name, const NodeView& node,
                                          const std::vector<DeviceType>& children = {}) {
  std::vector<DeviceType> types = {{device_value_type(node.type)}};
  types.insert(types.end(), children.begin(), children.end());
  return device_type_of(node, name, "filter_sum.cuh", std::move(types));
}

}  // namespace basalt
