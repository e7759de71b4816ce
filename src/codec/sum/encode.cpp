// The source first, as near to the values as it gets; the residual is what it misses.
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "codec/sum/layout.h"
#include "codec/sum/sum.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_sum() { return std::make_unique<SumCodec>(); }

bool SumCodec::accepts(Physical type, bool is_bytes) const { return !is_bytes && fits_word(type); }

std::vector<ChildSlot> SumCodec::children(Physical type) const {
  return {{"residual", signed_of_width(width_of(type))}, {"source", type}};
}

Node SumCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  Values near = values;
  near.may_miss = true;
  Node source = encode_tree(near, tree.children[sum::kSource], aims);
  Buffer missed = decoded_values(view_of(source));
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    for (uint64_t i = 0; i < values.count; ++i) {
      missed.as<T>()[i] = static_cast<T>(values.as<T>()[i] - missed.as<T>()[i]);
    }
  });
  Values residual;
  residual.type = signed_of_width(width_of(values.type));
  residual.count = values.count;
  residual.data = missed.data();
  residual.sources = values.sources;  // a sum of two columns has one here
  residual.may_miss = values.may_miss;
  node.children.push_back(encode_tree(residual, tree.children[sum::kResidual], aims));
  node.children.push_back(std::move(source));
  return node;
}

std::optional<Estimate> SumCodec::estimate(const Sample&, ChildChooser&) const { return std::nullopt; }

DeviceReader SumCodec::device_reader(const NodeView& node) const {
  const DeviceReader residual = device_reader_of(node.children[sum::kResidual]);
  const DeviceReader source = device_reader_of(node.children[sum::kSource]);
  DeviceReader reader = device_reader_named("SumOfTwo", node, {residual, source});
  reader.scratch_bytes = sum::source_scratch(residual.scratch_bytes) + source.scratch_bytes;
  return reader;
}

}  // namespace basalt
