// Marks functions shared by host code, nvcc and run-time compiled kernels, and gives all three the same fixed-width
// integer names. Run-time compilation has no standard headers, so this is the only header that may include one.
#pragma once

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long size_t_rtc;
#else
#include <cstddef>
#include <cstdint>
#endif

#if defined(__CUDACC__)
#define BASALT_HD __host__ __device__ __forceinline__
// Long functions: a kernel has one copy of them, which is what its compilation takes.
#define BASALT_HD_LONG __host__ __device__ __noinline__
#else
#define BASALT_HD inline
#define BASALT_HD_LONG inline
#endif

namespace basalt {

using int128_t = __int128;
using uint128_t = unsigned __int128;

// The units of the format: a tile is what one warp decodes, a zone is what statistics cover, a chunk is what is
// written, cached and transferred as one.
constexpr uint32_t kTileRows = 1024;
constexpr uint32_t kLanes = 32;
constexpr uint32_t kRowsPerLane = kTileRows / kLanes;
constexpr uint32_t kTilesPerZone = 8;
constexpr uint32_t kZoneRows = kTileRows * kTilesPerZone;
constexpr uint32_t kMaxChunkRows = 1u << 20;

}  // namespace basalt
