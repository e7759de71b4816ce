// What the fuzz targets of files share: the sound files that they start from, and all that a reader does with a file
// that it does not trust.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/file/reader.h"
#include "basalt/file/verify.h"

namespace basalt::test {

// The golden files, by name. Targets run in the repository's root or have BASALT_SOURCE_DIR set.
inline const std::vector<std::vector<std::byte>>& golden_files() {
  static const auto files = [] {
    const char* root = std::getenv("BASALT_SOURCE_DIR");
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(root ? root : ".") / "tests/golden/v1")) {
      if (entry.path().extension() == ".basalt") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::vector<std::byte>> out;
    for (const auto& path : paths) {
      std::ifstream in(path, std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      const auto* data = reinterpret_cast<const std::byte*>(text.data());
      out.emplace_back(data, data + text.size());
    }
    return out;
  }();
  return files;
}

// Refusals are what is asked for; an internal error is a refusal that nobody thought of.
template <typename Body>
void refusing(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
}

inline void read_untrusted(const std::vector<std::byte>& bytes) {
  Buffer copy;
  copy.append(bytes.data(), bytes.size());
  refusing([&] {
    const auto file = File::open(memory_source(std::move(copy), "fuzz"));
    static ThreadPool pool(1);
    refusing([&] { verify_file(*file, pool); });
    for (uint32_t column = 0; column < file->schema().fields.size(); ++column) {
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
        refusing([&] { file->decode_column(column, chunk); });
      }
    }
    for (uint32_t field = 0; field < file->fields().size(); ++field) {
      refusing([&] {
        if (!file->column(field).has_dictionary) return;
        file->read_dictionary(field);
        for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) file->read_code_map(field, chunk);
      });
    }
  });
}

}  // namespace basalt::test
