// What the SQL tests share: a scratch folder, a statement's rows as text, and the devices to run on.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/sql/session.h"
#include "support/sanitized.h"

namespace basalt::testing {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "basalt-sql-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::vector<std::string> rows_of(QueryResult result) {
  std::string text;
  result.write_csv([&](std::string_view part) { text += part; }, false, '|');
  std::vector<std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  return rows;
}

inline std::vector<std::string> rows_of(Session& session, const std::string& query) {
  return rows_of(session.execute(query));
}

inline SessionOptions session_options(Device device) {
  SessionOptions options;
  options.device = device;
  options.threads = 2;
  return options;
}

// Where there is no GPU, says once that its cases are left out; scripts/run_tests.sh looks for these words.
inline std::vector<Device> test_devices() {
  if (gpu().backend != nullptr) return {Device::kCpu, Device::kCuda};
  [[maybe_unused]] static const bool said = [] {
    std::cerr << "GPU test skipped: all SQL cases on the device, " << gpu().reason << "\n";
    return true;
  }();
  return {Device::kCpu};
}

// Sanitized builds are many times slower and need less of everything.
constexpr bool kQuick = test::kSanitized;

}  // namespace basalt::testing
