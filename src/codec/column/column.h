// The class of `column_i8` … `column_u64`, one codec for each type of source; its rooms are encode.cpp, decode.cpp,
// validate.cpp.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

class ColumnCodec final : public Codec {
 public:
  explicit ColumnCodec(Physical source) : source_(source), name_(std::string("column_") + to_string(source)) {}

  std::string_view name() const override { return name_; }
  bool accepts(Physical type, bool is_bytes) const override;
  std::vector<ChildSlot> children(Physical type) const override;
  bool needs_source() const override { return true; }
  std::optional<uint32_t> source_field(ByteView params) const override;
  uint64_t reading_cost(const Node& node) const override { return node.count * 2; }
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
  DeviceReader device_reader(const NodeView& node) const override;

 private:
  Physical source_;
  std::string name_;
};

namespace column {

// The one of values.sources that the tree names. Throws Error(kUnsupported) where that cannot be a source, or is not
// what the values are, though they may not be missed.
Node encode_source(const Values& values, const Tree& tree);

}  // namespace column

}  // namespace basalt
