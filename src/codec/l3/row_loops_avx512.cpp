// The loops over rows compiled for AVX-512; chosen at run time by row_loops.cpp.
#if defined(__x86_64__)

#include <algorithm>

#include "codec/l3/row_table.h"
#include "codec/l3/side_by_side.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,bmi2")
namespace basalt::l3::rows_avx512 {
#include "codec/l3/row_loops.h"
}  // namespace basalt::l3::rows_avx512
#pragma GCC pop_options

#endif
