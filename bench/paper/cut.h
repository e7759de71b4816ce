// Partitions and streams by the rules that were published for L3, as far as they are known: the baseline of
// `bench/columns l3` for sizes and of `l3_gpu_bench` for speed.
//
// Values are not moved to a common base, so models see only magnitudes up to 2^53; residuals have bits(max |δ|) + 1
// bits; partitions start at 256 rows and merge pairwise up to 8192 rows in at most 8 rounds. Fits are least squares;
// residuals are those of the stepped predictions that a reader will make.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/paper/layout.h"
#include "codec/l3/fit.h"

namespace basalt::paper {

struct Part {
  size_t first = 0;
  size_t rows = 0;
  l3::Moments moments;
  Kind kind = Kind::kFor;
  uint32_t width = 0;
  int64_t base = 0;               // of a constant, a frame of reference
  std::array<double, 4> theta{};  // of a curve
  uint64_t bytes = 0;             // all
  uint64_t payload = 0;           // without record and parameters
};

// Of one chunk; partitions do not cross chunks.
std::vector<Part> cut(std::span<const int64_t> values);

struct Size {
  uint64_t bytes = 0;
  uint64_t payload = 0;
  uint64_t partitions = 0;
  std::array<uint64_t, 5> models{};  // constant or runs, line, parabola, cubic, frame of reference

  Size& operator+=(const Size& other);
};
Size size_of(std::span<const Part> parts);

// What a reader gets. Rows, words and parameters are counted from the chunk's own first ones.
struct Streams {
  std::vector<Record> records;
  std::vector<uint64_t> params;
  std::vector<uint32_t> payload;
  uint32_t most_runs = 0;  // of any partition

  uint64_t bytes() const {
    return records.size() * sizeof(Record) + params.size() * sizeof(uint64_t) + payload.size() * sizeof(uint32_t);
  }
};
Streams pack(std::span<const int64_t> values, std::span<const Part> parts);

}  // namespace basalt::paper
