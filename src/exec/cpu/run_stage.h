// One stage of a query on the CPU.
#pragma once

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// A sink of groups or rows. `input`: the rows of the stage before; nullptr: the stage reads files. Adds to the report.
Table run_stage(const Pipeline& stage, const Table* input, const RunOptions& options, RunReport& report);

}  // namespace basalt::exec
