// Window functions over the rows of a stage.
#pragma once

#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Adds a column for each function; `fields` are those of all columns. `cancel` may be nullptr.
Table add_windows(Table rows, const std::vector<WindowFunction>& functions, const std::vector<Field>& fields,
                  const CancelToken* cancel);

}  // namespace basalt::exec
