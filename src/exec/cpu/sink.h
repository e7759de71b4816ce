// Where the rows go that pass a pipeline's filter. One thread at a time uses a sink; sinks of several threads are put
// together at the end.
#pragma once

#include "exec/chunk_tiles.h"
#include "exec/vector.h"

namespace basalt::exec {

// A part of a chunk, or of a table that an earlier stage made.
struct PartBegin {
  size_t part = 0;              // in the order of rows
  StatisticsList stats;         // entries are nullptr where nothing is known
  ChunkTiles* chunk = nullptr;  // nullptr: of a table
  bool first_of_chunk = false;
  bool all_pass = false;  // no row of the chunk is filtered out
  bool prune = true;      // statistics may be used as answers
};

class TileSink {
 public:
  virtual ~TileSink() = default;
  // False if the rows of the part need not be read.
  virtual bool open(const PartBegin& part) = 0;
  // The input's rows, of which those count that are live; `first_row`: the place of the tile in the whole input.
  virtual void add(TileInput& input, uint64_t first_row) = 0;
  // Whether further rows of the part would change nothing.
  virtual bool full() const { return false; }
  virtual void close() {}
};

}  // namespace basalt::exec
