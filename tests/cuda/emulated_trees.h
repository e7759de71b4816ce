// Tile readers over arrays of many kinds, run on the CPU: what tests of readers share.
// Include it after everything that is not device code.
#pragma once

#include <string>
#include <vector>

#include "codec/arrays.h"
#include "exec/tables.h"
//
#include "cuda/emulated_reads.h"

namespace basalt::test {

// Runs of all lengths, so that spans cross tiles of the children.
template <typename T>
std::vector<T> runs(Random& random, size_t rows, uint64_t longest, uint64_t span) {
  std::vector<T> out;
  while (out.size() < rows) {
    const auto value = static_cast<T>(random() % span);
    const uint64_t length = random() % 20 == 0 ? longest * 40 : 1 + random() % longest;
    for (uint64_t i = 0; i < length && out.size() < rows; ++i) out.push_back(value);
  }
  return out;
}

template <typename Reader>
void check_tree(const std::string& text, Physical type) {
  using T = typename Reader::value_type;
  Random random(5);
  for (const size_t rows : {size_t{1}, size_t{1023}, size_t{1024}, size_t{5000}}) {
    for (const uint64_t longest : {1, 3, 40, 2000}) {
      for (const uint64_t span : {uint64_t{1}, uint64_t{200}, uint64_t{1} << 40}) {
        const std::vector<T> values = runs<T>(random, rows, longest, span);
        const Node node = encoded(values, text, type);
        expect_reads<Reader>(view_of(node), values,
                             text + ", " + std::to_string(rows) + " rows, runs up to " + std::to_string(longest) +
                                 ", values below " + std::to_string(span));
      }
    }
  }
}

}  // namespace basalt::test
