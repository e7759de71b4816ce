// The tiles of a chunk that statistics leave, as runs of neighbours: what a kernel's work list is written from.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

struct TileRun {
  uint32_t first = 0;  // tiles [first, end)
  uint32_t end = 0;
  bool all_pass = false;
  bool operator==(const TileRun&) const = default;
};

// Of a chunk's runs, those of tiles of a range.
void keep_tiles(const TileRange& range, std::vector<TileRun>& runs);

// Of a chunk of so many tiles, by what is known of each of its zones. Adds to `counts` how each tile was decided.
std::vector<TileRun> tile_runs(const std::vector<Decision>& zones, uint32_t tiles, TileCounts& counts);
uint64_t tiles_of(const std::vector<TileRun>& runs);
// Writes an item for each tile to `out`, which has room for them, and gives the place behind the last.
uint32_t* write_work(const std::vector<TileRun>& runs, uint32_t slot, uint32_t* out);

}  // namespace basalt::exec
