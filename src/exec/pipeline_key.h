// What a pipeline does, as bytes: two pipelines over the same files with equal keys are the same work.
#pragma once

#include <string>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Everything but the files.
std::string pipeline_key(const Pipeline& pipeline);
// All that is known of a column, in the same way.
std::string statistics_key(const Statistics& stats);

}  // namespace basalt::exec
