// The loops over rows compiled for AVX2; chosen at run time by row_loops.cpp.
#if defined(__x86_64__)

#include <algorithm>
#include <limits>

#include "codec/galp/row_table.h"

#pragma GCC push_options
#pragma GCC target("avx2,bmi2")
namespace basalt::galp::rows_avx2 {
#define BASALT_GALP_VECTOR_BYTES 32
#include "codec/galp/row_loops.h"
#undef BASALT_GALP_VECTOR_BYTES
}  // namespace basalt::galp::rows_avx2
#pragma GCC pop_options

#endif
