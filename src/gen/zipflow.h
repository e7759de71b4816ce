// What the evaluation of ZipFlow (arXiv 2602.08190) is made of: 24 columns of TPC-H and the plan that its authors chose
// for each by hand, lengths of runs, and bytes of a given entropy. The plans are written as our trees; how their words
// translate: docs/encodings.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/column.h"

namespace basalt::gen {

struct ZipflowPlan {
  const char* table;
  const char* column;
  const char* published;          // as the paper writes it
  const char* tree;               // the same in ours
  const char* instead = nullptr;  // of chunks whose values it refuses, where there may be such
};
// In the order of the paper's table.
std::span<const ZipflowPlan> zipflow_plans();

// A column of TPC-H as it is measured: numbers of 64 bits, for which decimals count as their integers, dates as days,
// and texts of few words as places among these in their order; comments stay texts.
class ZipflowColumn {
 public:
  explicit ZipflowColumn(const ZipflowPlan& plan) : plan_(&plan) {}

  const ZipflowPlan& plan() const { return *plan_; }
  void append(const Column& rows);
  // Behind the last rows.
  void finish();

  uint64_t rows() const { return rows_; }
  uint64_t plain_bytes() const;  // 8 for a number, of texts what they are long and 8 for the place of each
  Values values(uint64_t begin, uint64_t end) const;

 private:
  void append_words(const Column& rows);

  const ZipflowPlan* plan_;
  uint64_t rows_ = 0;
  std::vector<int64_t> numbers_;
  std::map<std::string, int64_t, std::less<>> words_;
  StringRows texts_;
};

// How long runs are, in the 14 ways that the paper's expansion of runs is measured.
struct RunLengths {
  const char* name;  // "even 4", "random 1-32", "outlier 1024", "mixed"
  uint32_t shortest;
  uint32_t longest;
  uint32_t outlier;  // 0: none; else one run in a thousand has this length
};
std::span<const RunLengths> zipflow_run_lengths();
// Rows of runs whose neighbours differ; values need 24 bits.
std::vector<int64_t> rows_of_runs(const RunLengths& lengths, uint64_t rows);

// One frequent value and some equally rare ones, mixed so that a row carries `bits` of information: the more rare
// values, the more skewed. Two rare ones at 1.5 bits are as l_returnflag.
struct SkewedBytes {
  double bits;
  uint32_t rare;
  double frequent() const;  // its share of the rows
};
std::vector<SkewedBytes> zipflow_skews();  // 4 ratios × 4 skews
std::vector<uint8_t> rows_of_skew(const SkewedBytes& skew, uint64_t rows);

}  // namespace basalt::gen
