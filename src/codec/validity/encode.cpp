// NULL flags as an encoded boolean array beside the values.
#include "codec/codecs.h"
#include "codec/validity/layout.h"
#include "codec/validity/validity.h"
#include "core/bitmap.h"

namespace basalt {

std::unique_ptr<Codec> make_validity() { return std::make_unique<ValidityCodec>(); }

bool ValidityCodec::accepts(Physical, bool is_bytes) const { return !is_bytes; }

std::vector<ChildSlot> ValidityCodec::children(Physical type) const {
  if (type == Physical::kNone) return {{"valid", Physical::kU8}};
  return {{"valid", Physical::kU8}, {"values", type}};
}

namespace {

Buffer flags_of(const Values& values) {
  Buffer flags(values.count);
  auto* to = flags.as<uint8_t>();
  for (uint64_t i = 0; i < values.count; ++i) to[i] = values.validity == nullptr || get_bit(values.validity, i) ? 1 : 0;
  return flags;
}

Values flag_values(const Buffer& flags) {
  Values child;
  child.type = Physical::kU8;
  child.count = flags.size();
  child.data = flags.data();
  return child;
}

}  // namespace

Node ValidityCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  const Buffer flags = flags_of(values);
  node.children.push_back(encode_tree(flag_values(flags), tree.children[validity::kValid], aims));
  if (values.type != Physical::kNone) {
    Values inner = values;
    inner.validity = nullptr;
    node.children.push_back(encode_tree(inner, tree.children[validity::kValues], aims));
  }
  return node;
}

std::optional<Estimate> ValidityCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const Buffer flags = flags_of(sample.values);
  Estimate valid = chooser.best({flag_values(flags), sample.total_rows}, validity::kValid);
  Estimate total{valid.bytes, {"validity", {std::move(valid.tree)}}};
  if (sample.values.type != Physical::kNone) {
    Sample inner = sample;
    inner.values.validity = nullptr;
    Estimate values = chooser.best(inner, validity::kValues);
    total.bytes += values.bytes;
    total.tree.children.push_back(std::move(values.tree));
  }
  return total;
}

DeviceReader ValidityCodec::device_reader(const NodeView&) const { return {}; }

}  // namespace basalt
