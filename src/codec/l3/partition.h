// Cutting a chunk into partitions and choosing their models. Works on values widened to 64 bits in an order-preserving
// way, so that one set of loops serves all types.
#pragma once

#include <span>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/l3/fit.h"

namespace basalt::l3 {

// A run of whole units with its best model.
struct Partition {
  uint32_t first_unit = 0;
  uint32_t units = 0;
  uint64_t rows = 0;
  int64_t first = 0, low = 0, high = 0;  // first, smallest, largest value
  Moments moments;

  uint32_t runs = 0;  // of equal neighbours

  Model model = Model::kFor;
  uint32_t width = 0;
  Coefficients coefficients;
  int64_t base = 0;
  uint64_t bytes = 0;        // record, parameters and residuals
  uint32_t refused_end = 0;  // a union with the next partition up to this unit was tried and did not pay
};
constexpr uint32_t kMostParams = 10;  // words, without those of runs

// The runs of a partition, and how their values and ends are stored.
struct RunsOf {
  std::vector<int64_t> values;
  std::vector<int64_t> ends;
  Partition value_model, end_model;
  bool by_tile = false;  // ends have no model
  uint64_t words = 0;    // of the bit stream
  uint64_t bytes = 0;    // of the partition

  RunsHeader header() const;
};
// `values` are the chunk's.
RunsOf find_runs(std::span<const int64_t> values, const Partition& partition, uint32_t value_bytes);

// `value_bytes` of the type that will be stored. Effort::kFast cuts where the estimated width jumps and has frames of
// reference and lines; kBalanced has all models and merges neighbours while that pays; kBest finds the cheapest cut of
// all into partitions of up to 8192 rows, then merges these.
std::vector<Partition> cut(std::span<const int64_t> values, uint32_t value_bytes, Effort effort);

// One partition over all of `values`, at most 8192 rows, with its cheapest model.
Partition cut_once(std::span<const int64_t> values, uint32_t value_bytes);

// About what a tile would take, from its moments alone: a tenth of the time of cutting it.
uint64_t estimate_tile(std::span<const int64_t> values, uint32_t value_bytes, Effort effort);

// The stored form of a partition's model, as a reader will see it; places are zero.
Record record_of(const Partition& partition);
// Writes at most kMostParams words and says how many.
uint32_t put_params(const Partition& partition, uint64_t base, uint32_t value_bytes, uint32_t* to);

}  // namespace basalt::l3
