// Aggregates over the alive rows of tiles, one part of a chunk at a time. Arguments that several aggregates share are
// evaluated once per tile; counts, minima and maxima come from statistics where these are exact.
#pragma once

#include <vector>

#include "exec/aggregate.h"
#include "exec/chunk_tiles.h"
#include "exec/evaluate.h"

namespace basalt::exec {

// What a part of a chunk leaves.
struct PartStates {
  std::vector<AggregateState> states;          // one per aggregate; without float sums
  std::vector<std::vector<double>> tile_sums;  // float sums of tiles, in order, per aggregate
};

class Aggregation {
 public:
  // `aggregates` must outlive this object. `float_filter_sum`: what is_float_filter_sum() says of their statement.
  Aggregation(const std::vector<Aggregate>& aggregates, bool float_filter_sum);

  // Starts a part of a chunk. With `whole_chunk` every row counts (no filter, or one that is true for all): aggregates
  // that statistics answer are then finished, and only the chunk's first part states the answer. False if nothing is
  // left to do.
  bool open_chunk(ChunkTiles& tiles, bool whole_chunk, bool use_statistics, bool first_part);
  // Adds the alive rows of the current tile.
  void add(ChunkTiles& tiles);
  PartStates take();

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
  bool float_filter_sum_;
  std::vector<AggregateState> states_;
  std::vector<std::vector<double>> tile_sums_;
  std::vector<bool> finished_;
  std::vector<Argument> arguments_;
  uint64_t live_rows_ = 0;
};

}  // namespace basalt::exec
