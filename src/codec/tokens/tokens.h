// `tokens`'s class; its rooms are encode.cpp (with words and dictionary), decode.cpp, validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class TokensCodec final : public Codec {
 public:
  std::string_view name() const override { return "tokens"; }
  bool accepts(Physical type, bool is_bytes) const override { return is_bytes && type == Physical::kBytes; }
  std::vector<ChildSlot> children(Physical type) const override;
  // Looking up thousands of entries costs more than copying bytes.
  double has_to_save() const override { return 0.9; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  uint64_t held_bytes(const NodeView& node) const override;
  std::unique_ptr<BytesReader> open_bytes(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_filter(const NodeView& node) const override;
  std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const override;
  uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const override;
};

}  // namespace basalt
