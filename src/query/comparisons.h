// Comparisons with literals in one form, whatever way a planner wrote them: a list of literals that a value may equal
// is one test of it, and the same statement with other literals is the same stage.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt {

// In all expressions of a stage: AND and OR over the same are one; several values that an expression may equal, or must
// not, are one list.
void unite_comparisons(Pipeline& stage);

}  // namespace basalt
