// Tile entries must name runs that exist and follow each other possibly; whether they agree with the run ends shows
// only when those are decoded.
#include "codec/checks.h"
#include "codec/rle/layout.h"
#include "codec/rle/rle.h"

namespace basalt {

namespace {

// Whether a tile's entry is possible behind the one before: either the same run goes on through a whole tile, or the
// runs that ended in that tile and the part of the new run that lies there fit into its rows.
bool follows(const rle::TileEntry& entry, const rle::TileEntry& before) {
  if (entry.first_run == before.first_run) return entry.consumed == uint64_t{before.consumed} + kTileRows;
  return entry.first_run > before.first_run &&
         uint64_t{entry.first_run} - before.first_run + entry.consumed <= kTileRows;
}

}  // namespace

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
    const rle::TileEntry entry = entries[tile];
    if (!(tile == 0 ? entry.first_run == 0 && entry.consumed == 0 : follows(entry, entries[tile - 1])) ||
        entry.first_run >= runs) {
      fail_corrupt(node, "tile entry " + std::to_string(tile) + " names no possible run");
    }
  }
  if (tiles > 0 && runs - entries[tiles - 1].first_run > rows_in_tile(node.count, static_cast<uint32_t>(tiles - 1))) {
    fail_corrupt(node, "more runs begin in the last tile than it has rows");
  }
}

}  // namespace basalt
