// `ans`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class AnsCodec final : public Codec {
 public:
  std::string_view name() const override { return "ans"; }
  bool accepts(Physical type, bool is_bytes) const override {
    return !is_bytes && is_integer(type) && width_of(type) <= 8;
  }
  bool is_slow_to_read() const override { return true; }
  double has_to_save() const override;
  uint64_t reading_cost(const Node& node) const override { return node.count * 30; }
  double kernel_picoseconds(const Node& node) const override { return static_cast<double>(node.count) * 11; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  uint64_t held_bytes(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  bool has_device_form() const override { return true; }
  std::optional<NodeView> device_form(const NodeView& node) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
