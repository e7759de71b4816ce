// The step that most neighbours differ by, and what is left without it.
#include <cstring>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/stride/layout.h"
#include "codec/stride/stride.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_stride() { return std::make_unique<StrideCodec>(); }

namespace {

struct Step {
  uint64_t step = 0;
  double share = 0;  // of all neighbours, those that differ by it
};
// Of fewer, what is left is no runs.
constexpr double kLeastShare = 0.8;

// If one difference is more frequent than all others together, it is what is left when different ones cancel out
// (Boyer and Moore); else there is no step. Neighbours on both sides of a multiple of `piece_rows` are none; 0: all
// are.
template <typename T>
Step step_of(const T* values, uint64_t count, uint64_t piece_rows) {
  const auto each_difference = [&](auto&& body) {
    for (uint64_t i = 1; i < count; ++i) {
      if (piece_rows == 0 || i % piece_rows != 0) body(static_cast<T>(values[i] - values[i - 1]));
    }
  };
  T step = 0;
  uint64_t ahead = 0;
  each_difference([&](T difference) {
    if (ahead == 0) step = difference;
    ahead += difference == step ? 1 : -1;
  });
  uint64_t equal = 0;
  uint64_t all = 0;
  each_difference([&](T difference) {
    equal += difference == step ? 1 : 0;
    ++all;
  });
  if (2 * equal <= all) return {};
  return {step, static_cast<double>(equal) / static_cast<double>(all)};
}

Step step_of(const Values& values, uint64_t piece_rows) {
  return dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) return step_of(values.as<T>(), values.count, piece_rows);
    return Step{};
  });
}

Buffer bases_of(const Values& values, uint64_t step) {
  Buffer bases(values.count * width_of(values.type));
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) {
      const T* from = values.as<T>();
      T* to = bases.as<T>();
      for (uint64_t i = 0; i < values.count; ++i) {
        to[i] = static_cast<T>(from[i] - stride::rise(static_cast<T>(step), i));
      }
    }
  });
  return bases;
}

Values child_values(const Values& parent, const Buffer& bases) {
  Values child;
  child.type = parent.type;
  child.count = parent.count;
  child.data = bases.data();
  return child;
}

}  // namespace

Node StrideCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  const stride::Parameters parameters{step_of(values, 0).step};
  Node node{this, values.type, values.count, {}, {}, {}};
  node.params.resize(sizeof(parameters));
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  const Buffer bases = bases_of(values, parameters.step);
  node.children.push_back(encode_tree(child_values(values, bases), tree.children[stride::kBases], aims));
  return node;
}

// Rows of a sample that are no neighbours have bases further apart than those of the array, at a few places.
std::optional<Estimate> StrideCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const Step found = step_of(sample.values, sample.piece_rows);
  const bool hopeless = found.share < kLeastShare || found.step == 0;
  if (hopeless && chooser.forced(stride::kBases) == nullptr) return std::nullopt;
  const Buffer bases = bases_of(sample.values, found.step);
  Estimate child =
      chooser.best({child_values(sample.values, bases), sample.total_rows, sample.piece_rows}, stride::kBases);
  return Estimate{child.bytes + stride::kParameterBytes, {"stride", {std::move(child.tree)}}};
}

DeviceReader StrideCodec::device_reader(const NodeView& node) const {
  const DeviceReader bases = device_reader_of(node.children[stride::kBases]);
  DeviceReader reader = device_reader_named("Stride", node, {bases});
  reader.scratch_bytes = bases.scratch_bytes;
  reader.rows_in_shared = bases.rows_in_shared;
  reader.most_instructions += 200;  // a product and a sum for each row, over runs whose parts are sums
  return reader;
}

}  // namespace basalt
