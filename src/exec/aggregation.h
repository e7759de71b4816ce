// Aggregates over the alive rows of tiles, one chunk at a time. Arguments that several aggregates share are evaluated
// once per tile; counts, minima and maxima come from statistics where these are exact.
#pragma once

#include <vector>

#include "exec/aggregate.h"
#include "exec/chunk_tiles.h"
#include "exec/evaluate.h"

namespace basalt::exec {

class Aggregation {
 public:
  // `aggregates` must outlive this object.
  explicit Aggregation(const std::vector<Aggregate>& aggregates);

  // Starts a chunk. With `whole_chunk` every row counts (no filter, or one that is true for all): aggregates that
  // statistics answer are then finished. False if nothing is left to do for this chunk.
  bool open_chunk(ChunkTiles& tiles, bool whole_chunk, bool use_statistics);
  // Adds the alive rows of the current tile.
  void add(ChunkTiles& tiles);
  // The chunk's states, one per aggregate.
  std::vector<AggregateState> take();

 private:
  struct Argument {
    const Expr* expr = nullptr;
    Step step;
    std::vector<size_t> users;  // indices of aggregates
    bool only_counted = false;
    Buffer mask;
  };
  bool from_statistics(const Aggregate& aggregate, const ChunkTiles& tiles, AggregateState& state) const;
  void add_argument(Argument& argument, ChunkTiles& tiles);

  const std::vector<Aggregate>& aggregates_;
  std::vector<AggregateState> states_;
  std::vector<bool> finished_;
  std::vector<Argument> arguments_;
  uint64_t live_rows_ = 0;
};

}  // namespace basalt::exec
