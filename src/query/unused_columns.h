// Columns that nothing refers to are neither read nor fetched; nor are keys of a join that its first side has.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt {

// Of files and of probed stages; the rows of a stage that is read are there anyway.
void leave_out_unused_columns(Pipeline& stage);

}  // namespace basalt
