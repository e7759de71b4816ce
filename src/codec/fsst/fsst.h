// `fsst`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp, with symbols.h, match.h, train.h between them.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

namespace fsst {
struct Plan;
}

class FsstCodec final : public Codec {
 public:
  std::string_view name() const override { return "fsst"; }
  bool accepts(Physical type, bool is_bytes) const override { return is_bytes && type == Physical::kBytes; }
  std::vector<ChildSlot> children(Physical type) const override;
  // A row's codes are looked up symbol by symbol: a few per cent of the bytes are not worth it.
  double has_to_save() const override { return 0.9; }
  bool point_access() const override { return true; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  // With tables by a plan of the caller's; the aims are the children's.
  Node encode_by(const fsst::Plan& plan, const Values& values, const Tree& tree, Aims aims) const;
  void validate(const NodeView& node) const override;
  std::unique_ptr<BytesReader> open_bytes(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_filter(const NodeView& node) const override;
  std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const override;
  uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const override;
};

}  // namespace basalt
