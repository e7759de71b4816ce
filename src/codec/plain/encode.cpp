// Storing values as they are.
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/plain/layout.h"
#include "codec/plain/plain.h"

namespace basalt {

std::unique_ptr<Codec> make_plain() { return std::make_unique<PlainCodec>(); }

bool PlainCodec::accepts(Physical type, bool is_bytes) const {
  return is_bytes ? type == Physical::kBytes : width_of(type) != 0;
}

Node PlainCodec::encode(const Values& values, const Tree&, Aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  if (values.type != Physical::kBytes) {
    node.streams.resize(plain::kFixedStreams);
    node.streams[plain::kValues].append(values.data, values.count * width_of(values.type));
    return node;
  }
  node.streams.resize(plain::kBytesStreams);
  const int64_t base = values.count == 0 ? 0 : values.offsets[0];
  const uint32_t tiles = tile_count(values.count);
  Buffer& starts = node.streams[plain::kTileStarts];
  starts.reserve((tiles + 1) * sizeof(uint64_t));
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    starts.push(static_cast<uint64_t>(values.offsets[static_cast<uint64_t>(tile) * kTileRows] - base));
  }
  const int64_t end = values.count == 0 ? 0 : values.offsets[values.count];
  starts.push(static_cast<uint64_t>(end - base));
  node.streams[plain::kBytes].append(values.bytes + base, static_cast<size_t>(end - base));
  return node;
}

std::optional<Estimate> PlainCodec::estimate(const Sample& sample, ChildChooser&) const {
  const Values& values = sample.values;
  if (values.type != Physical::kBytes) {
    return Estimate{static_cast<double>(sample.total_rows) * width_of(values.type), {"plain", {}}};
  }
  const double bytes = values.count == 0 ? 0 : static_cast<double>(values.offsets[values.count] - values.offsets[0]);
  return Estimate{bytes * sample.scale() + 8.0 * (tile_count(sample.total_rows) + 1), {"plain", {}}};
}

DeviceReader PlainCodec::device_reader(const NodeView& node) const {
  DeviceReader reader = device_reader_named("Plain", node);
  reader.direct = true;
  return reader;
}

}  // namespace basalt
