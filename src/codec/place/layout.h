// `place`: value = base + how many rows a row lies behind the first one of its run, a run being neighbouring rows with
// the same source: the number of a line in its order. Modulo 2^bits of the value type.
//
// streams: 0 checkpoints  u32[tiles], the place of each tile's first row
// Parameters: u64 base. Children: 0 source (i64, one per row). Only neighbours inside a tile are compared: its first
// row's place is the checkpoint's, whatever lies before it.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::place {

constexpr uint32_t kCheckpoints = 0;
constexpr uint32_t kStreams = 1;

constexpr uint32_t kSource = 0;
constexpr uint32_t kParameterBytes = 8;

// Shared memory of the tile reader, per warp: for every 32 rows, which of them begin a run, and where the run begins
// that the first of them may be in; then what the source's reader takes.
constexpr uint32_t kStartsBytes = 2 * kRowsPerLane * 4;
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t source_scratch) {
  return kStartsBytes + (source_scratch + 15) / 16 * 16;
}

}  // namespace basalt::place
