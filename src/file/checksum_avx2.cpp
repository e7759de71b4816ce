// Checksums compiled for AVX2; chosen at run time by checksum.cpp.
#if defined(__x86_64__) && !defined(__clang__)

#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx2")
#define XXH_VECTOR XXH_AVX2
#include "file/checksum.h"

namespace basalt::format_v1::checksum_avx2 {
#include "file/checksum_table.h"
}  // namespace basalt::format_v1::checksum_avx2
#pragma GCC pop_options

#endif
