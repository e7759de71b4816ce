// `ans` on the CPU: encoding a chunk, and decoding it tile by tile, for few and many symbols, as rows and bytes of
// values per second of one core. `over_entropy`: how much larger the array is than its entropy, in per cent.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {
namespace {

constexpr uint64_t kRows = kMaxChunkRows;

// Symbol s has (1 - p) of those that no smaller symbol has; the last one has the rest.
template <typename T>
std::vector<T> skewed(uint32_t symbols, double p) {
  std::mt19937_64 random(1);
  std::geometric_distribution<uint32_t> symbol(1 - p);
  std::vector<T> out(kRows);
  for (T& value : out) value = static_cast<T>(std::min(symbol(random), symbols - 1));
  return out;
}

template <typename T>
Values values_of(const std::vector<T>& numbers) {
  Values values;
  values.type = sizeof(T) == 1 ? Physical::kU8 : sizeof(T) == 2 ? Physical::kU16 : Physical::kU32;
  values.count = numbers.size();
  values.data = numbers.data();
  return values;
}

template <typename T>
double entropy_bytes(const std::vector<T>& numbers) {
  std::vector<double> counts(4096, 0);
  for (const T number : numbers) counts[number] += 1;
  double bits = 0;
  for (const double count : counts) {
    if (count > 0) bits += count * std::log2(static_cast<double>(numbers.size()) / count);
  }
  return bits / 8;
}

template <typename T>
std::vector<T> numbers_of(const benchmark::State& state) {
  return skewed<T>(static_cast<uint32_t>(state.range(0)), static_cast<double>(state.range(1)) / 1000);
}

void count(benchmark::State& state, uint32_t width) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kRows * width));
}

template <typename T>
void encode(benchmark::State& state) {
  const std::vector<T> numbers = numbers_of<T>(state);
  uint64_t bytes = 0;
  for (auto _ : state) bytes = encode_tree(values_of(numbers), {"ans", {}}).encoded_bytes();
  state.counters["bits"] = static_cast<double>(bytes) * 8 / kRows;
  state.counters["over_entropy"] = 100 * (static_cast<double>(bytes) / entropy_bytes(numbers) - 1);
  count(state, sizeof(T));
}

template <typename T>
void decode(benchmark::State& state) {
  const std::vector<T> numbers = numbers_of<T>(state);
  const Node node = encode_tree(values_of(numbers), {"ans", {}});
  T tile[kTileRows];
  for (auto _ : state) {
    const auto reader = open_reader(view_of(node));
    for (uint32_t i = 0; i < tile_count(kRows); ++i) {
      reader->decode_tile(i, tile);
      benchmark::DoNotOptimize(tile);
    }
  }
  count(state, sizeof(T));
}

// Symbols, and thousandths of rows that have a larger symbol than the one before.
#define BASALT_ANS_ARGUMENTS ->Args({2, 20})->Args({3, 500})->Args({16, 800})->Args({250, 980})
BENCHMARK(encode<uint8_t>) BASALT_ANS_ARGUMENTS;
BENCHMARK(decode<uint8_t>) BASALT_ANS_ARGUMENTS;
BENCHMARK(decode<uint32_t>) BASALT_ANS_ARGUMENTS->Args({2000, 996});
BENCHMARK(encode<uint32_t>)->Args({2000, 996});

}  // namespace
}  // namespace basalt

BENCHMARK_MAIN();
