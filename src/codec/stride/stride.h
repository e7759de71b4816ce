// `stride`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class StrideCodec final : public Codec {
 public:
  std::string_view name() const override { return "stride"; }
  bool accepts(Physical type, bool is_bytes) const override {
    return !is_bytes && is_integer(type) && width_of(type) <= 8;
  }
  std::vector<ChildSlot> children(Physical type) const override { return {{"bases", type}}; }
  // Below it nothing is a slope again, so that searches end.
  uint32_t depth_cost() const override { return 0; }
  double has_to_save() const override { return 0.5; }
  uint64_t reading_cost(const Node& node) const override { return node.count * 2; }
  double kernel_picoseconds(const Node& node) const override { return static_cast<double>(node.count) * 0.1; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
