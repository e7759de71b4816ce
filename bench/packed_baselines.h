// What packed tiles are compared with: the lane-major layout of the L3 paper with its direct decoder, and one
// horizontal bit stream. Both decode random words of one width, with one reference per 2048 values.
#pragma once

#include "basalt/core/host_device.h"
#include "core/packed_tile.h"
#include "gpu_bench.h"

namespace basalt::bench {

// Paper: 64 values per lane, lanes follow each other, value k of lane l is element 32·k + l of its 2048.
constexpr uint32_t kLaneMajorValues = 64;
constexpr uint32_t kLaneMajorTile = kLaneMajorValues * kLanes;

// `width` bits at bit `bit` of a stream of 32-bit words; may read two words beyond the value's.
template <typename T>
__host__ __device__ inline T stream_bits(const uint32_t* words, uint64_t bit, uint32_t width) {
  const uint32_t* at = words + bit / 32;
  const uint32_t shift = bit % 32;
  const uint64_t low = uint64_t{at[1]} << 32 | at[0];
  uint64_t value = low >> shift;
  if (width > 32 && shift > 0) value |= uint64_t{at[2]} << (64 - shift);
  return static_cast<T>(value & low_bits(width));
}

template <typename T>
__global__ __launch_bounds__(128) void decode_lane_major(const uint32_t* words, const T* references, uint32_t width,
                                                         uint64_t tiles, T* out) {
  const uint64_t tile = blockIdx.x * uint64_t{4} + threadIdx.x / kLanes;
  if (tile >= tiles) return;
  const uint32_t lane = threadIdx.x % kLanes;
  const uint32_t lane_words = 2 * width;  // 64 values of `width` bits
  const uint32_t* own = words + (tile * kLanes + lane) * lane_words;
  const T reference = references[tile];
  T* to = out + tile * kLaneMajorTile + lane;
#pragma unroll 4
  for (uint32_t k = 0; k < kLaneMajorValues; ++k) {
    const uint32_t bit = k * width;
    T value;
    if (sizeof(T) == 4 || width <= 32) {
      const uint32_t mask = width >= 32 ? ~0u : (1u << width) - 1;
      value = __funnelshift_r(own[bit / 32], own[bit / 32 + 1], bit) & mask;
    } else {
      value = stream_bits<T>(own, bit, width);
    }
    to[k * kLanes] = reference + value;
  }
}

template <typename T>
__global__ __launch_bounds__(256) void decode_horizontal(const uint32_t* words, const T* references, uint32_t width,
                                                         uint64_t rows, T* out) {
  const uint64_t first = blockIdx.x * uint64_t{1024} + threadIdx.x;
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint64_t row = first + j * 256;
    if (row < rows) out[row] = references[row / kLaneMajorTile] + stream_bits<T>(words, row * width, width);
  }
}

// Compares 64 tiles of the output with what the host reads from the same words.
template <typename T, typename BitOf>
void require_baseline(const DeviceArray<unsigned char>& pool, const std::vector<T>& references, uint32_t width,
                      uint64_t tiles, const DeviceArray<T>& out, const BitOf& bit_of, const std::string& what) {
  for (uint32_t i = 0; i < 64; ++i) {
    const uint64_t tile = i == 0 ? 0 : i == 1 ? tiles - 1 : mix(i) % tiles;
    const size_t tile_bytes = size_t{kLaneMajorTile} / 8 * width;
    std::vector<unsigned char> bytes(tile_bytes + 16);
    BASALT_CHECK(cudaMemcpy(bytes.data(), pool.data() + tile * tile_bytes, tile_bytes + 16, cudaMemcpyDeviceToHost));
    const std::vector<T> got(out.to_host(tile * kLaneMajorTile, kLaneMajorTile));
    for (uint32_t row = 0; row < kLaneMajorTile; ++row) {
      const T want = static_cast<T>(
          references[tile] + stream_bits<T>(reinterpret_cast<const uint32_t*>(bytes.data()), bit_of(row), width));
      require(got[row] == want, what + label(" width ", width));
    }
  }
}

}  // namespace basalt::bench
