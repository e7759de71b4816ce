// `packed`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class PackedCodec final : public Codec {
 public:
  std::string_view name() const override { return "packed"; }
  bool accepts(Physical type, bool is_bytes) const override { return !is_bytes && is_integer(type); }
  bool holds_packed_tiles() const override { return true; }
  bool point_access() const override { return true; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  void check_values(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
};

}  // namespace basalt
