// Byte masks against bitmaps for filters: one tile of 1024 values is compared with two literals, the masks are combined
// and counted, and the values that passed are summed: what the interpreter does per conjunct and aggregate.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "basalt/core/host_device.h"

namespace basalt {
namespace {

template <typename T>
std::vector<T> tile_values() {
  std::mt19937 random(5);
  std::vector<T> values(kTileRows);
  for (T& value : values) value = static_cast<T>(random() % 100);
  return values;
}

// Comparison, AND, count, masked sum with one byte per row.
template <typename T>
void byte_mask(benchmark::State& state) {
  const std::vector<T> values = tile_values<T>();
  alignas(64) uint8_t mask[kTileRows];
  const T low = 20;
  const T high = 70;
  for (auto _ : state) {
    const T* v = values.data();
    for (uint32_t i = 0; i < kTileRows; ++i) mask[i] = v[i] >= low ? 1 : 0;
    for (uint32_t i = 0; i < kTileRows; ++i) mask[i] &= v[i] < high ? 1 : 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < kTileRows; ++i) count += mask[i];
    int64_t sum = 0;
    for (uint32_t i = 0; i < kTileRows; ++i) sum += static_cast<int64_t>(v[i]) & -static_cast<int64_t>(mask[i]);
    benchmark::DoNotOptimize(count);
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kTileRows);
}

// The same with one bit per row.
template <typename T>
void bitmap(benchmark::State& state) {
  const std::vector<T> values = tile_values<T>();
  uint64_t mask[kTileRows / 64];
  const T low = 20;
  const T high = 70;
  for (auto _ : state) {
    const T* v = values.data();
    for (uint32_t w = 0; w < kTileRows / 64; ++w) {
      uint64_t bits = 0;
      for (uint32_t i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(v[w * 64 + i] >= low ? 1 : 0) << i;
      mask[w] = bits;
    }
    for (uint32_t w = 0; w < kTileRows / 64; ++w) {
      uint64_t bits = 0;
      for (uint32_t i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(v[w * 64 + i] < high ? 1 : 0) << i;
      mask[w] &= bits;
    }
    uint32_t count = 0;
    for (const uint64_t word : mask) count += static_cast<uint32_t>(std::popcount(word));
    int64_t sum = 0;
    for (uint32_t w = 0; w < kTileRows / 64; ++w) {
      for (uint64_t word = mask[w]; word != 0; word &= word - 1) {
        sum += static_cast<int64_t>(v[w * 64 + static_cast<uint32_t>(std::countr_zero(word))]);
      }
    }
    benchmark::DoNotOptimize(count);
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kTileRows);
}

BENCHMARK_TEMPLATE(byte_mask, uint8_t);
BENCHMARK_TEMPLATE(bitmap, uint8_t);
BENCHMARK_TEMPLATE(byte_mask, int32_t);
BENCHMARK_TEMPLATE(bitmap, int32_t);
BENCHMARK_TEMPLATE(byte_mask, int64_t);
BENCHMARK_TEMPLATE(bitmap, int64_t);

}  // namespace
}  // namespace basalt

BENCHMARK_MAIN();
