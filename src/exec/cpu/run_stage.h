// One stage of a query on the CPU.
#pragma once

#include <functional>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

struct StageInput {
  std::vector<const Table*> tables;  // read one after the other; none: the stage reads files
  std::vector<const Table*> probed;  // for each step the rows that it looks up; nullptr for filters

  uint64_t rows() const;  // of the tables
};

// What a stage of a query reads; `rows_of` gives the rows of earlier ones.
StageInput input_of(const Query& query, size_t place, const std::function<const Table*(uint32_t)>& rows_of);

// A sink of groups or rows. Adds to the report.
Table run_stage(const Pipeline& stage, const StageInput& input, const RunOptions& options, RunReport& report);

}  // namespace basalt::exec
