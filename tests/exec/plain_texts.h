// The meaning of functions of strings, code point by code point.
#pragma once

#include <optional>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::test {

std::optional<Value> plain_text_function(const Expr& expr, const std::vector<Value>& args);

}  // namespace basalt::test
