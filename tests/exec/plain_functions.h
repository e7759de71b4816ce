// The meaning of functions of single values, written down once more in the plainest way: what the tests compare both
// backends with.
#pragma once

#include <optional>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::test {

// The result of an operation over these arguments; nothing if it is none of the functions. Throws Error(kOutOfRange).
std::optional<Value> plain_function(const Expr& expr, const std::vector<Value>& args);

}  // namespace basalt::test
