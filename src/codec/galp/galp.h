// `galp`'s class; its rooms are encode.cpp, decode.cpp, validate.cpp, with exceptions.h and tiles.cpp between them.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

namespace galp {

// Only `packed` gives every tile its own frame: under any other codec one pair serves the whole array, since integers
// of different pairs are not neighbours.
constexpr std::string_view kChildOfManyScales = "packed";

}  // namespace galp

class GalpCodec final : public Codec {
 public:
  std::string_view name() const override { return "galp"; }
  bool accepts(Physical type, bool is_bytes) const override { return !is_bytes && is_float(type); }
  std::vector<ChildSlot> children(Physical type) const override;
  uint64_t reading_cost(const Node& node) const override;
  double kernel_picoseconds(const Node& node) const override;
  Node encode(const Values& values, const Tree& tree, Aims aims) const override;
  void validate(const NodeView& node) const override;
  std::unique_ptr<Reader> open(const NodeView& node) const override;
  DeviceReader device_reader(const NodeView& node) const override;
  std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const override;
};

}  // namespace basalt
