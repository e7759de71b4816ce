// `dict`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class DictCodec final : public Codec {
 public:
  std::string_view name() const override { return "dict"; }
  bool accepts(Physical type, bool is_bytes) const override;
  std::vector<ChildSlot> children(Physical type) const override;
  bool holds_entries() const override { return true; }
  uint64_t reading_cost(const Node& node) const override { return node.count * 11; }
  double kernel_picoseconds(const Node& node) const override;
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  void check_values(const NodeView& node) const override;
  uint64_t held_bytes(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::unique_ptr<Reader> open_for_few(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
  DeviceReader device_filter(const NodeView& node) const override;
  DeviceReader device_codes(const NodeView& node) const override;
  std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const override;
  uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const override;
};

}  // namespace basalt
