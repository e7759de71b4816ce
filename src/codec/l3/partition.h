// Cutting a chunk into partitions and choosing their models on the CPU. Works on values widened to 64 bits in an
// order-preserving way, so that one set of loops serves all types.
#pragma once

#include <span>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/l3/choose.h"

namespace basalt::l3 {

// The runs of a partition, and how their values and ends are stored.
struct RunsOf : RunsChoice {
  std::vector<int64_t> values;
  std::vector<int64_t> ends;
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

}  // namespace basalt::l3
