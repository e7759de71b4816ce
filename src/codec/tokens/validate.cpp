// Every tile's ids lie where its starts say, and are not too many.
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

}  // namespace basalt
