// Neighbouring zones that are decided alike make one run; see tile_runs.h.
#include "exec/tile_runs.h"

#include <algorithm>

#include "exec/device/work.h"

namespace basalt::exec {

std::vector<TileRun> tile_runs(const std::vector<Decision>& zones, uint32_t tiles, TileCounts& counts) {
  std::vector<TileRun> runs;
  for (uint32_t zone = 0; zone < zones.size(); ++zone) {
    const uint32_t first = zone * kTilesPerZone;
    const uint32_t end = std::min(tiles, first + kTilesPerZone);
    const Decision decision = zones[zone];
    uint64_t& count = decision == Decision::kNone  ? counts.skipped
                      : decision == Decision::kAll ? counts.all_true
                                                   : counts.decoded;
    count += end - first;
    if (decision == Decision::kNone) continue;
    const bool all_pass = decision == Decision::kAll;
    if (!runs.empty() && runs.back().end == first && runs.back().all_pass == all_pass) {
      runs.back().end = end;
    } else {
      runs.push_back({first, end, all_pass});
    }
  }
  return runs;
}

void keep_tiles(const TileRange& range, std::vector<TileRun>& runs) {
  std::erase_if(runs, [&](TileRun& run) {
    run.first = std::max(run.first, static_cast<uint32_t>(range.begin));
    run.end = std::min(run.end, static_cast<uint32_t>(range.end));
    return run.first >= run.end;
  });
}

uint64_t tiles_of(const std::vector<TileRun>& runs) {
  uint64_t tiles = 0;
  for (const TileRun& run : runs) tiles += run.end - run.first;
  return tiles;
}

uint32_t* write_work(const std::vector<TileRun>& runs, uint32_t slot, uint32_t* out) {
  for (const TileRun& run : runs) {
    for (uint32_t tile = run.first; tile < run.end; ++tile) *out++ = device::make_work(slot, tile, run.all_pass);
  }
  return out;
}

}  // namespace basalt::exec
