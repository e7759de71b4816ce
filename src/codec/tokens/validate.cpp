// Every tile's ids lie where its starts say, and are not too many.
#include "codec/checks.h"
#include "codec/tokens/layout.h"
#include "codec/tokens/tokens.h"

namespace basalt {

void TokensCodec::validate(const NodeView& node) const {
  check_params(node, 0);
  check_stream_count(node, tokens::kStreams);
  const uint64_t tiles = node.count / kTileRows + (node.count % kTileRows != 0 ? 1 : 0);
  if (tiles >= node.streams[tokens::kTileStarts].size()) fail_corrupt(node, "fewer tile starts than tiles");
  check_stream_bytes(node, tokens::kTileStarts, (tiles + 1) * sizeof(uint64_t));
  const auto* starts = stream_as<uint64_t>(node, tokens::kTileStarts);
  uint64_t last = 0;
  for (uint64_t tile = 0; tile <= tiles; ++tile) {
    if (starts[tile] < last || (tile == 0 && starts[0] != 0)) fail_corrupt(node, "tile starts do not ascend from 0");
    if (starts[tile] - last > tokens::kMostIdsPerTile) fail_corrupt(node, "a tile has too many ids");
    last = starts[tile];
  }
  check_child_count(node, tokens::kIds, last);
  check_child_count(node, tokens::kCounts, node.count);
  const uint64_t entries = node.children[tokens::kEntries].count;
  if (entries > tokens::kMostEntries) fail_corrupt(node, std::to_string(entries) + " entries are too many");
  if (entries > last || (entries == 0) != (last == 0)) {
    fail_corrupt(node, std::to_string(entries) + " entries for " + std::to_string(last) + " ids");
  }
}

}  // namespace basalt
