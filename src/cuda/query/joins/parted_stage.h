// A stage that the device's memory does not hold at once. Its rows before the sink are found part by part: those of
// some tiles, or those whose key of a join leaves one remainder, of which the other side then has no others either.
// They wait on the device or beside it, and the sink reads them from there. Where several joins are too much, one is
// done after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/query/joins/graph_run.h"

namespace basalt::cuda {

class PartedStage {
 public:
  PartedStage(GraphRun& graph, const Pipeline& stage, size_t place, RunReport& report);
  // `has_more_room`: than when all of it was tried. Throws Error(kOutOfMemory) where the smallest parts do not fit.
  StageRows run(bool has_more_room);

 private:
  // Of a join whose sides may be divided by what their keys leave.
  struct Divided {
    const Probe* probe = nullptr;
    const JoinKey* key = nullptr;
    bool is_large = false;  // the second side: there is little to gain from fewer rows of the first
  };
  struct Remainder {
    int64_t divisor = 1;
    int64_t value = 0;
  };
  struct Part {
    TileRange tiles;
    std::vector<Remainder> remainders;
  };
  class Pieces;

  StageRows rows_of(const Pipeline& stage);
  StageRows join_after_join(const Pipeline& stage);
  StageRows in_parts(const Pipeline& stage, bool whole);
  StageRows with_sink(const Pipeline& sink, StageRows rows);
  std::optional<Divided> divided_join(const Pipeline& stage) const;
  StageRows run_part(const Pipeline& stage, const std::optional<Divided>& divided, const Part& part);
  class ShownPart;
  void run_parts(const Pipeline& stage, const std::optional<Divided>& divided, const Part& part, size_t depth,
                 Pieces& pieces);
  std::vector<Part> smaller_parts(const Pipeline& stage, const std::optional<Divided>& divided, const Part& part,
                                  size_t depth) const;

  GraphRun& graph_;
  Pipeline stage_;
  size_t place_;
  RunReport& report_;
  size_t least_depth_ = 0;  // parts that are less divided do not fit
  uint64_t fitted_ = 0;     // parts since one did not fit
  uint64_t parts_ = 0;      // that were run to their end
};

}  // namespace basalt::cuda
