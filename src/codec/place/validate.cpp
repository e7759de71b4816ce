// A source for every row and a checkpoint for every tile.
#include "codec/checks.h"
#include "codec/place/layout.h"
#include "codec/place/place.h"

namespace basalt {

void PlaceCodec::validate(const NodeView& node) const {
  check_stream_count(node, place::kStreams);
  check_params(node, 0);
  check_child_count(node, place::kSource, node.count);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  check_stream_bytes(node, place::kCheckpoints, tiles * sizeof(uint32_t));
}

}  // namespace basalt
