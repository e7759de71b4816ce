// Files of the repository that tests read. They run in its root or have BASALT_SOURCE_DIR set.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace basalt::testing {

inline std::filesystem::path source_path(const std::string& relative) {
  const char* root = std::getenv("BASALT_SOURCE_DIR");
  return std::filesystem::path(root != nullptr ? root : ".") / relative;
}

}  // namespace basalt::testing
