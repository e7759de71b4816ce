// Text helpers of the session that need no database.
#pragma once

#include <string>
#include <vector>

#include "basalt/sql/session.h"

namespace basalt::sql {

// See Session::split().
std::vector<std::string> split_statements(const std::string& text, std::string* rest);
std::string strip_semicolons(std::string query);

}  // namespace basalt::sql
