// The meaning of functions of dates by the standard library's calendar, for years from −32767 to 32767.
#pragma once

#include <optional>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::test {

std::optional<Value> plain_date_function(const Expr& expr, const std::vector<Value>& args);

}  // namespace basalt::test
