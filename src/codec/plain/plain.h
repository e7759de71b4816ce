// `plain`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class PlainCodec final : public Codec {
 public:
  std::string_view name() const override { return "plain"; }
  bool accepts(Physical type, bool is_bytes) const override;
  bool point_access() const override { return true; }
  double kernel_picoseconds(const Node& node) const override { return static_cast<double>(node.count) * 0.05; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::unique_ptr<BytesReader> open_bytes(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
  DeviceReader device_filter(const NodeView& node) const override;
  std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const override;
  uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const override;
};

}  // namespace basalt
