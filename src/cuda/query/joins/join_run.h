// One stage that filters and joins on its way to its sink.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/query/joins/graph_run.h"
#include "cuda/query/joins/join_table.h"
#include "cuda/query/joins/joined_rows.h"
#include "cuda/query/joins/source_filter.h"

namespace basalt::cuda {

class JoinRun {
 public:
  // `tiles`: of its files, if it reads any.
  JoinRun(GraphRun& graph, const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report);
  StageRows run();

 private:
  struct Places {
    DeviceBuffer places;  // uint32
    uint64_t count = 0;
  };
  // The second side of a join and what rows find there.
  struct Join {
    const Probe& probe;
    std::shared_ptr<const DeviceTable> build;
    const JoinTable& table;
    const KeySide& side;  // of the first side
    const JoinTable::Found& found;
  };

  std::optional<StageRows> run_fused();
  std::optional<StageRows> read_source();
  JoinedRows source();
  void add_rung(const std::string& text);
  void filter(const Expr& predicate);
  void probe(const Probe& probe);
  void join_pairs(const Join& join);
  void join_by_condition(const Join& join);
  JoinPairs passing_pairs(const Join& join, const JoinPairs& pairs);
  void flag_rows_in_doubt(const Join& join, const JoinPairs& pairs, const DeviceBuffer& flags);
  DeviceBuffer rows_of(const JoinPairs& pairs, const Places& some) const;
  void add_alone(const Probe& probe, const DeviceBuffer& matched, JoinPairs& pairs);
  void keep_pairs(const Join& join, JoinPairs pairs, const DeviceBuffer& met);
  void keep_matched(const Join& join, const DeviceBuffer& matched, const DeviceBuffer& unknown);
  JoinedRows paired(const Join& join, const JoinPairs& pairs) const;
  StageRows sink();

  DeviceTable gathered(const JoinedRows& rows, const std::vector<uint32_t>& columns);
  // The rows for which a predicate over their columns holds.
  Places passing(const JoinedRows& rows, const Expr& predicate);
  std::vector<DeviceColumn> evaluate(const JoinedRows& rows, const std::vector<Expr>& exprs);

  GraphRun& graph_;
  Pipeline stage_;  // without what has been done
  size_t place_;
  TileRange tiles_;
  RunReport& report_;
  cudaStream_t stream_;
  JoinedRows rows_;
};

}  // namespace basalt::cuda
