// A stage whose joins only look something up: each of its rows has one partner at most, whose columns lie in arrays by
// the number that the row has. Its kernel then reads files and does the rest in one go; no row is written in between.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/query/joins/graph_run.h"
#include "cuda/query/joins/members.h"

namespace basalt::cuda {

class FusedStage {
 public:
  // Whether a stage has no other joins, and kernels can fetch what these fetch, as far as can be told without rows.
  static bool may_be(const Pipeline& stage);
  // Nothing where there are other joins, or what they look up does not lie close enough or takes too much memory.
  static std::optional<FusedStage> of(GraphRun& graph, const Pipeline& stage);

  // Over files, without steps. Strings that were looked up are numbers in it.
  const Pipeline& pipeline() const { return pipeline_; }
  // What it leaves, with strings for their numbers.
  StageRows with_strings(StageRows rows) const;
  std::string text() const;
  uint64_t bytes() const;  // on the device

 private:
  FusedStage(GraphRun& graph, const Pipeline& stage);
  bool take_steps();
  bool find_members();
  bool take_probe(const Probe& probe, const Members& set);
  bool look_up(const DeviceTable& rows, const DeviceColumn& keys, const Expr& number, const Members& set,
               const PipelineColumn& fetched);
  void take_sink();
  Expr replaced(Expr expr) const;
  Expr output(const Expr& expr, size_t place);

  // A column in sight: what is read instead of it, nothing if nobody reads it.
  struct Column {
    std::optional<Expr> value;
    DeviceColumn texts{};  // of strings that were looked up: their list
    bool is_text = false;
  };

  GraphRun& graph_;
  const Pipeline& stage_;
  Pipeline pipeline_;
  std::vector<bool> used_;
  std::vector<Column> columns_;
  int64_t next_set_ = 0;
  std::vector<Members> sets_;
  std::vector<DeviceBuffer> arrays_;
  std::vector<std::optional<DeviceColumn>> texts_;  // by column of the output
};

}  // namespace basalt::cuda
