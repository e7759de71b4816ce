// Chunks are decided first; the zones of a chunk only where that leaves it open.
#include "exec/rows_left.h"

#include <algorithm>

#include "exec/chunk_tiles.h"

namespace basalt::exec {

namespace {

uint64_t rows_left_of_chunk(const Pipeline& scan, const ChunkTiles& tiles) {
  if (!scan.has_filter) return tiles.chunk_rows();
  const Decision whole = decide(scan.filter, tiles.chunk_statistics());
  if (whole == Decision::kNone) return 0;
  if (whole == Decision::kAll) return tiles.chunk_rows();
  uint64_t rows = 0;
  for (uint64_t first = 0; first < tiles.chunk_rows(); first += kZoneRows) {
    const auto zone = static_cast<uint32_t>(first / kZoneRows);
    if (decide(scan.filter, tiles.zone_statistics(zone)) == Decision::kNone) continue;
    rows += std::min<uint64_t>(kZoneRows, tiles.chunk_rows() - first);
  }
  return rows;
}

}  // namespace

uint64_t rows_left(const Pipeline& scan, uint64_t most) {
  uint64_t rows = 0;
  ChunkTiles tiles;
  for (const auto& file : scan.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size() && rows <= most; ++chunk) {
      tiles.open(*file, scan.columns, chunk);
      rows += rows_left_of_chunk(scan, tiles);
    }
  }
  return rows;
}

}  // namespace basalt::exec
