// Choice of the loops over rows for this machine.
#include <algorithm>

#include "codec/l3/row_table.h"
#include "codec/l3/side_by_side.h"
#include "core/instruction_set.h"

namespace basalt::l3 {

namespace rows_baseline {
#include "codec/l3/row_loops.h"
}  // namespace rows_baseline

const RowTable& row_table() {
#if defined(__x86_64__)
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return rows_avx512::kTable;
    case InstructionSet::kAvx2: return rows_avx2::kTable;
    case InstructionSet::kBaseline: break;
  }
#endif
  return rows_baseline::kTable;
}

}  // namespace basalt::l3
