// The packing loops compiled for AVX512; chosen at run time by packing.cpp.
#if defined(__x86_64__)

#include "core/packed_tile.h"
#include "core/packing_table.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,bmi2")
namespace basalt::packing_avx512 {
#define BASALT_PACKING_VECTOR_BYTES 64
#include "core/packing_loops.h"
#undef BASALT_PACKING_VECTOR_BYTES
}  // namespace basalt::packing_avx512
#pragma GCC pop_options

#endif
