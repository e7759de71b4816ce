// Stream lengths of plain arrays.
#include "codec/checks.h"
#include "codec/plain/layout.h"
#include "codec/plain/plain.h"

namespace basalt {

void PlainCodec::validate(const NodeView& node) const {
  check_params(node, 0);
  if (node.type != Physical::kBytes) {
    check_stream_count(node, plain::kFixedStreams);
    const uint32_t width = width_of(node.type);
    if (node.count > node.streams[plain::kValues].size()) fail_corrupt(node, "more values than bytes");
    check_stream_bytes(node, plain::kValues, node.count * width);
    return;
  }
  check_stream_count(node, plain::kBytesStreams);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  if (tiles >= node.streams[plain::kTileStarts].size()) fail_corrupt(node, "fewer tile starts than tiles");
  check_stream_bytes(node, plain::kTileStarts, (tiles + 1) * sizeof(uint64_t));
  const auto* starts = stream_as<uint64_t>(node, plain::kTileStarts);
  uint64_t last = 0;
  for (uint64_t tile = 0; tile <= tiles; ++tile) {
    if (starts[tile] < last || (tile == 0 && starts[0] != 0)) fail_corrupt(node, "tile starts do not ascend from 0");
    last = starts[tile];
  }
  check_stream_bytes(node, plain::kBytes, last);
}

}  // namespace basalt
