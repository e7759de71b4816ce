// Choice of the loops over rows for this machine.
#include <algorithm>
#include <limits>

#include "codec/galp/row_table.h"
#include "core/instruction_set.h"

namespace basalt::galp {

namespace rows_baseline {
#define BASALT_GALP_VECTOR_BYTES 16
#include "codec/galp/row_loops.h"
#undef BASALT_GALP_VECTOR_BYTES
}  // namespace rows_baseline

namespace {

const RowTables& tables() {
#if defined(__x86_64__)
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return rows_avx512::kTables;
    case InstructionSet::kAvx2: return rows_avx2::kTables;
    case InstructionSet::kBaseline: break;
  }
#endif
  return rows_baseline::kTables;
}

}  // namespace

template <>
const RowTable<double>& row_table<double>() {
  return tables().of_double;
}
template <>
const RowTable<float>& row_table<float>() {
  return tables().of_float;
}

}  // namespace basalt::galp
