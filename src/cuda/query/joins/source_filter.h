// What joins of a stage ask of its rows, asked where these are read from files: whether their keys occur on the second
// side. Rows that would find nobody are never written, and some joins have nothing left to do.
#pragma once

#include <string>
#include <vector>

#include "cuda/query/joins/graph_run.h"
#include "cuda/query/joins/members.h"

namespace basalt::cuda {

// Whether some row may raise an error, which it then does also where it would be dropped earlier.
bool may_throw(const Expr& expr);
// What `explain` says of sets that rows are asked for; empty: nothing.
std::string text_of(const std::vector<Members>& sets);

class SourceFilter {
 public:
  SourceFilter(GraphRun& graph, const Query& query, const Pipeline& stage);

  // To the stage's own filter.
  void add_to(Pipeline& stage) const;
  // Steps that ask no more than this filter does.
  void leave_out_answered(Pipeline& stage) const;
  std::string text() const;  // of what is asked; empty: nothing
  uint64_t bytes() const;    // on the device

 private:
  std::vector<Members> sets_;
  std::vector<Expr> conditions_;
  std::vector<bool> answered_;
};

// A stage with the filter that it is likely to have, of numbers that are not known yet: its kernel will be the same.
Pipeline likely_filtered(const Query& query, const Pipeline& stage);

}  // namespace basalt::cuda
