// One checkpoint per tile, one delta per row.
#include "codec/checks.h"
#include "codec/delta/delta.h"
#include "codec/delta/layout.h"

namespace basalt {

void DeltaCodec::validate(const NodeView& node) const {
  check_stream_count(node, delta::kStreams);
  check_params(node, 0);
  check_child_count(node, delta::kDeltas, node.count);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  if (tiles > node.streams[delta::kCheckpoints].size()) fail_corrupt(node, "fewer checkpoints than tiles");
  check_stream_bytes(node, delta::kCheckpoints, tiles * width_of(node.type));
}

}  // namespace basalt
