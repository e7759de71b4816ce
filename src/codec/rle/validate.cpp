// Tile entries must name runs that exist, in ascending order; what the run ends hold shows only when they are decoded.
#include "codec/checks.h"
#include "codec/rle/layout.h"
#include "codec/rle/rle.h"

namespace basalt {

void RleCodec::validate(const NodeView& node) const {
  check_stream_count(node, rle::kStreams);
  check_params(node, 0);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  if (tiles > node.streams[rle::kTileEntries].size()) fail_corrupt(node, "fewer tile entries than tiles");
  check_stream_bytes(node, rle::kTileEntries, tiles * sizeof(rle::TileEntry));
  const uint64_t runs = node.children[rle::kValues].count;
  check_child_count(node, rle::kRunEnds, runs);
  if (runs > node.count || (runs == 0) != (node.count == 0)) {
    fail_corrupt(node, std::to_string(runs) + " runs for " + std::to_string(node.count) + " rows");
  }
  const auto* entries = stream_as<rle::TileEntry>(node, rle::kTileEntries);
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    const bool ascends = tile == 0 ? entries[0].first_run == 0 && entries[0].consumed == 0
                                   : entries[tile].first_run >= entries[tile - 1].first_run;
    if (!ascends || entries[tile].first_run >= runs || entries[tile].consumed > tile * kTileRows) {
      fail_corrupt(node, "tile entry " + std::to_string(tile) + " names no possible run");
    }
  }
}

}  // namespace basalt
