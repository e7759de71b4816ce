// A source for every row, a checkpoint for every tile, and a base of the values' width.
#include <cstring>

#include "codec/checks.h"
#include "codec/place/layout.h"
#include "codec/place/place.h"

namespace basalt {

void PlaceCodec::validate(const NodeView& node) const {
  check_stream_count(node, place::kStreams);
  check_params(node, place::kParameterBytes);
  uint64_t base;
  std::memcpy(&base, node.params.data(), sizeof(base));
  const uint32_t bits = 8 * width_of(node.type);
  if (bits < 64 && base >> bits != 0) fail_corrupt(node, "a base wider than its values");
  check_child_count(node, place::kSource, node.count);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  check_stream_bytes(node, place::kCheckpoints, tiles * sizeof(uint32_t));
}

}  // namespace basalt
