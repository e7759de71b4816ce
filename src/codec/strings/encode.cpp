// Lengths to one child, bytes to the other.
#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/strings/layout.h"
#include "codec/strings/strings.h"

namespace basalt {

std::unique_ptr<Codec> make_strings() { return std::make_unique<StringsCodec>(); }

std::vector<ChildSlot> StringsCodec::children(Physical) const {
  return {{"lengths", Physical::kU32}, {"bytes", Physical::kBytes, true}};
}

namespace {

std::vector<uint32_t> lengths_of(const Values& values) {
  std::vector<uint32_t> lengths(values.count);
  for (uint64_t i = 0; i < values.count; ++i) {
    const int64_t length = values.offsets[i + 1] - values.offsets[i];
    if (length > INT32_MAX) throw Error(ErrorCode::kUnsupported, "a string is longer than 2^31 - 1 bytes");
    lengths[i] = static_cast<uint32_t>(length);
  }
  return lengths;
}

}  // namespace

Node StringsCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  const std::vector<uint32_t> lengths = lengths_of(values);
  node.children.push_back(encode_tree(number_values(lengths), tree.children[strings::kLengths], aims));
  Values bytes = values;
  bytes.validity = nullptr;
  node.children.push_back(encode_tree(bytes, tree.children[strings::kBytes], aims));
  return node;
}

std::optional<Estimate> StringsCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const std::vector<uint32_t> lengths = lengths_of(sample.values);
  Estimate length_child = chooser.best({number_values(lengths), sample.total_rows}, strings::kLengths);
  Estimate bytes_child = chooser.best(sample, strings::kBytes);
  return Estimate{length_child.bytes + bytes_child.bytes,
                  {"strings", {std::move(length_child.tree), std::move(bytes_child.tree)}}};
}

DeviceReader StringsCodec::device_reader(const NodeView&) const { return {}; }

}  // namespace basalt
