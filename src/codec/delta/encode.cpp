// Differences between neighbours, restarted at each tile.
#include "codec/codecs.h"
#include "codec/delta/delta.h"
#include "codec/delta/layout.h"
#include "codec/device_names.h"
#include "codec/integer_types.h"
#include "core/dispatch.h"

namespace basalt {

std::unique_ptr<Codec> make_delta() { return std::make_unique<DeltaCodec>(); }

namespace {

template <typename T>
void tile_deltas(const T* values, uint32_t rows, T* deltas) {
  for (uint32_t i = 1; i < rows; ++i) deltas[i] = static_cast<T>(values[i] - values[i - 1]);
  deltas[0] = rows > 1 ? deltas[1] : T{0};
}

// The deltas of all values, as the child stores them.
Buffer deltas_of(const Values& values) {
  Buffer deltas(values.count * width_of(values.type));
  dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
      const uint64_t first = static_cast<uint64_t>(tile) * kTileRows;
      tile_deltas(values.as<T>() + first, rows_in_tile(values.count, tile), deltas.as<T>() + first);
    }
  });
  return deltas;
}

Values child_values(const Values& parent, const Buffer& deltas) {
  Values child;
  child.type = signed_of_width(width_of(parent.type));
  child.count = parent.count;
  child.data = deltas.data();
  return child;
}

}  // namespace

std::vector<ChildSlot> DeltaCodec::children(Physical type) const {
  return {{"deltas", signed_of_width(width_of(type))}};
}

Node DeltaCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(delta::kStreams);
  const uint32_t width = width_of(values.type);
  Buffer& checkpoints = node.streams[delta::kCheckpoints];
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    checkpoints.append(values.as<std::byte>() + static_cast<uint64_t>(tile) * kTileRows * width, width);
  }
  const Buffer deltas = deltas_of(values);
  node.children.push_back(encode_tree(child_values(values, deltas), tree.children[delta::kDeltas], aims));
  return node;
}

std::optional<Estimate> DeltaCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const Buffer deltas = deltas_of(sample.values);
  Estimate child =
      chooser.best({child_values(sample.values, deltas), sample.total_rows, sample.piece_rows}, delta::kDeltas);
  const double checkpoints = static_cast<double>(tile_count(sample.total_rows)) * width_of(sample.values.type);
  return Estimate{child.bytes + checkpoints, {"delta", {std::move(child.tree)}}};
}

DeviceReader DeltaCodec::device_reader(const NodeView& node) const {
  const DeviceReader deltas = device_reader_of(node.children[delta::kDeltas]);
  DeviceReader reader = device_reader_named("Delta", node, {deltas});
  reader.scratch_bytes = delta::scratch_bytes(width_of(node.type), deltas.scratch_bytes);
  reader.rows_in_shared = true;
  reader.long_code = true;
  return reader;
}

}  // namespace basalt
