// `validity`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class ValidityCodec final : public Codec {
 public:
  std::string_view name() const override { return "validity"; }
  bool accepts(Physical type, bool is_bytes) const override;
  std::vector<ChildSlot> children(Physical type) const override;
  bool holds_nulls() const override { return true; }
  uint32_t depth_cost() const override { return 0; }
  double kernel_picoseconds(const Node& node) const override { return static_cast<double>(node.count) * 0.1; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  void check_values(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
