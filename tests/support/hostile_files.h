// Files that are small and sealed with fitting checksums, and that ask for much more time or memory than their bytes
// could: what the tests of the library and of the program are put to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace basalt::test {

struct HostileFile {
  std::string name;
  std::function<std::vector<std::byte>()> make;
  bool opens = true;   // its footer is in order
  bool sound = false;  // all of it is in order: verify says so
};

std::vector<HostileFile> hostile_files();

// One list of so many empty strings.
std::vector<std::byte> list_of_strings(uint64_t count);
// Columns "id" (0, 1, …) and "s", whose strings are all the same.
std::vector<std::byte> long_strings(uint64_t rows, uint32_t length);

}  // namespace basalt::test
