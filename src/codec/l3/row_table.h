// One instruction set's loops over rows for cutting and choosing models; row_loops.cpp chooses between them.
#pragma once

#include "codec/l3/choose.h"

namespace basalt::l3 {

struct UnitScan {
  int64_t low;
  int64_t high;
  uint32_t runs;
};

// Sums over one unit of 256 rows whose values less their first, or the halves of those, fit in 31 bits with sign: then
// 64-bit sums cannot overflow.
constexpr uint32_t kHalfBits = 30;

struct RowTable {
  UnitScan (*scan)(const int64_t* values, uint32_t rows);
  // Of values that span at most kHalfBits, at most twice as many.
  Moments (*narrow_moments)(const int64_t* values, uint32_t rows);
  Moments (*wide_moments)(const int64_t* values, uint32_t rows);
  // By degree − 1. Gives up after the unit in which the span passes `most`.
  Residuals (*residuals[3])(const int64_t* values, uint64_t rows, const Predictor& p, uint64_t most);
};

// Of this machine.
const RowTable& row_table();

#if defined(__x86_64__)
namespace rows_avx2 {
extern const RowTable kTable;
}
namespace rows_avx512 {
extern const RowTable kTable;
}
#endif

}  // namespace basalt::l3
