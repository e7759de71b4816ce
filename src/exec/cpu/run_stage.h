// One stage of a query on the CPU.
#pragma once

#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

struct StageInput {
  std::vector<const Table*> tables;  // read one after the other; none: the stage reads files
  std::vector<const Table*> probed;  // for each step the rows that it looks up; nullptr for filters

  uint64_t rows() const;  // of the tables
};

// A sink of groups or rows. Adds to the report.
Table run_stage(const Pipeline& stage, const StageInput& input, const RunOptions& options, RunReport& report);

}  // namespace basalt::exec
