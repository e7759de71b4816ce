// What a column would take by the rules that were published for L3, as far as they are known: the baseline of
// `basalt bench l3`. Sizes only; nothing is written.
//
// Values are not moved to a common base, so models see only magnitudes up to 2^53; residuals have bits(max |δ|) + 1
// bits; partitions start at 256 rows and merge pairwise up to 8192 rows in at most 8 rounds; a partition's record has
// 16 bytes, a parameter 8. Fits are least squares; residuals are of the polynomial evaluated at each row.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace basalt::cli {

struct PaperSize {
  uint64_t bytes = 0;    // all
  uint64_t payload = 0;  // without records and parameters
  uint64_t partitions = 0;
  std::array<uint64_t, 5> models{};  // constant, line, parabola, cubic, frame of reference

  PaperSize& operator+=(const PaperSize& other);
};

// Of one chunk; partitions do not cross chunks.
PaperSize paper_size(std::span<const int64_t> values);

}  // namespace basalt::cli
