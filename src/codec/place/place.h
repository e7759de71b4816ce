// `place`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class PlaceCodec final : public Codec {
 public:
  std::string_view name() const override { return "place"; }
  bool accepts(Physical type, bool is_bytes) const override;
  std::vector<ChildSlot> children(Physical type) const override;
  bool needs_source() const override { return true; }
  uint64_t reading_cost(const Node& node) const override { return node.count * 4; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
