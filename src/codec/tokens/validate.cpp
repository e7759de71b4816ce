// Every tile's ids lie where its starts say, and are not too many.
#include <algorithm>

#include "codec/checks.h"
#include "codec/tokens/layout.h"
#include "codec/tokens/tokens.h"

namespace basalt {

void TokensCodec::validate(const NodeView& node) const {
  check_params(node, 0);
  check_stream_count(node, tokens::kStreams);
  const uint64_t last =
      check_starts<uint64_t>(node, tokens::kTileStarts, whole_tiles(node.count), tokens::kMostIdsPerTile);
  check_child_count(node, tokens::kIds, last);
  check_child_count(node, tokens::kCounts, node.count);
  const uint64_t entries = node.children[tokens::kEntries].count;
  if (entries > tokens::kMostEntries) fail_corrupt(node, std::to_string(entries) + " entries are too many");
  if (entries > last || (entries == 0) != (last == 0)) {
    fail_corrupt(node, std::to_string(entries) + " entries for " + std::to_string(last) + " ids");
  }
}

uint64_t TokensCodec::held_bytes(const NodeView& node) const {
  const auto* starts = stream_as<uint64_t>(node, tokens::kTileStarts);
  uint64_t most = 0;  // ids of a tile
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) most = std::max(most, starts[tile + 1] - starts[tile]);
  return most * sizeof(uint32_t);
}

}  // namespace basalt
