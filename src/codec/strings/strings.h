// `strings`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp; tests of strings: automaton.cpp, like.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class StringsCodec final : public Codec {
 public:
  std::string_view name() const override { return "strings"; }
  bool accepts(Physical type, bool is_bytes) const override { return !is_bytes && type == Physical::kBytes; }
  std::vector<ChildSlot> children(Physical type) const override;
  bool holds_lengths() const override { return true; }
  uint32_t depth_cost() const override { return 0; }
  bool point_access() const override { return true; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;
  DeviceReader device_filter(const NodeView& node) const override;
  DeviceReader device_codes(const NodeView& node) const override;
  std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const override;
  uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const override;
};

}  // namespace basalt
