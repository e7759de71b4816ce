// `l3`'s class; its rooms are partition.cpp (cutting and fitting), encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class L3Codec final : public Codec {
 public:
  std::string_view name() const override { return "l3"; }
  bool accepts(Physical type, bool is_bytes) const override {
    return !is_bytes && is_integer(type) && width_of(type) <= 8;
  }
  bool point_access() const override { return true; }
  double has_to_save() const override { return 0.95; }
  uint64_t reading_cost(const Node& node) const override { return node.count * 15; }
  double kernel_picoseconds(const Node& node) const override { return static_cast<double>(node.count) * 0.6; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
