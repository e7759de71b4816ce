// Rows of a tile from its runs of equal values: for readers that have runs, and for those that turn the values of runs
// into others before they become rows.
#pragma once

#include <algorithm>
#include <cstring>

#include "basalt/core/host_device.h"

namespace basalt {

// Below this many rows per run, rows look for their run; above, runs fill their rows.
constexpr uint32_t kRowsOfShortRuns = 16;

// Each row adds up the runs that began before it, eight rows at a time: no branch depends on the lengths of runs, which
// nobody can predict. Writes whole groups of eight rows.
template <typename T>
void expand_short_runs(const T* __restrict values, const uint32_t* __restrict ends, uint32_t runs, uint32_t rows,
                       T* __restrict out) {
  constexpr uint32_t kGroup = 8;
  uint8_t begins[kTileRows] = {};
#pragma GCC unroll 4
  for (uint64_t i = 0; i < runs - 1; ++i) begins[ends[i]] = 1;
  for (uint32_t first = 0; first < rows; first += kGroup) {
    uint64_t ones;
    std::memcpy(&ones, begins + first, sizeof(ones));
    // Byte k: how many of the group's rows up to k begin a run.
    const uint64_t counts = ones * 0x0101010101010101;
#pragma GCC unroll 8
    for (uint32_t k = 0; k < kGroup; ++k) out[k] = values[counts >> (8 * k) & 0xFF];
    values += counts >> 56;
    out += kGroup;
  }
}

// In blocks of a cache line, whose stores are written out: a store per turn of the loop takes 1.4 times as long.
template <typename T>
void fill_run(T* begin, T* end, T value) {
  constexpr ptrdiff_t kBlock = 64 / sizeof(T);
  for (; end - begin >= kBlock; begin += kBlock) {
    for (ptrdiff_t i = 0; i < kBlock; ++i) begin[i] = value;
  }
  std::fill(begin, end, value);
}

// `ends` ascend, begin above 0, and the last one is `rows`; `out` has room for the next multiple of eight.
template <typename T>
void expand_runs(const T* values, const uint32_t* ends, uint32_t runs, uint32_t rows, T* out) {
  if (rows < runs * kRowsOfShortRuns) return expand_short_runs(values, ends, runs, rows, out);
  uint32_t row = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    fill_run(out + row, out + ends[i], values[i]);
    row = ends[i];
  }
}

}  // namespace basalt
