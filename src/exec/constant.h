// Values of expressions that read no column.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Of an expression of functions and literals. An error is what evaluating it for a row would raise.
Value constant_value(const Expr& expr);

}  // namespace basalt::exec
