// Decoding on the CPU, per codec, width and type. `memory` lines decode arrays of 256 MiB of plain bytes and state
// bytes read plus written per second as a share of memcpy, measured in the same run on 256 MiB; `cache` lines decode
// one tile again and again and state values per second.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "bench/cpu_clock.h"
#include "core/packing.h"

namespace basalt {
namespace {

constexpr size_t kPlainBytes = size_t{256} << 20;

// `seconds` is what all iterations took.
void report_memory(benchmark::State& state, double read_bytes, double written_bytes, double seconds) {
  const double moved = (read_bytes + written_bytes) * static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(moved));
  state.counters["read_MB"] = read_bytes / 1e6;
  state.counters["written_MB"] = written_bytes / 1e6;
  state.counters["memcpy_GB/s"] = bench::memcpy_rate() / 1e9;
  state.counters["of_memcpy"] = moved / seconds / bench::memcpy_rate();
}

// Words of a tile with random bits: every packed value takes its full width.
Buffer random_words(uint32_t width) {
  Buffer words(packed_tile_words(width) * sizeof(uint32_t));
  std::mt19937 random(width);
  for (size_t i = 0; i < words.size() / sizeof(uint32_t); ++i)
    words.as<uint32_t>()[i] = static_cast<uint32_t>(random());
  return words;
}

template <typename T>
void packed_memory(benchmark::State& state) {
  const auto width = static_cast<uint32_t>(state.range(0));
  const size_t tiles = kPlainBytes / (kTileRows * sizeof(T));
  const size_t words = packed_tile_words(width);
  const Buffer tile = random_words(width);
  Buffer in(tiles * words * sizeof(uint32_t));
  for (size_t t = 0; t < tiles; ++t) std::memcpy(in.data() + t * tile.size(), tile.data(), tile.size());
  Buffer out(kPlainBytes);
  std::memset(out.data(), 0, out.size());
  const double start = bench::cpu_seconds();
  for (auto _ : state) {
    for (size_t t = 0; t < tiles; ++t) {
      unpack_tile(in.as<uint32_t>() + t * words, width, static_cast<T>(7), out.as<T>() + t * kTileRows);
    }
    benchmark::DoNotOptimize(out.data());
  }
  report_memory(state, static_cast<double>(in.size()), static_cast<double>(kPlainBytes), bench::cpu_seconds() - start);
}

template <typename T>
void packed_cache(benchmark::State& state) {
  const auto width = static_cast<uint32_t>(state.range(0));
  const Buffer in = random_words(width);
  Buffer out(kTileRows * sizeof(T));
  for (auto _ : state) {
    unpack_tile(in.as<uint32_t>(), width, static_cast<T>(7), out.as<T>());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kTileRows);
}

// Values for the other codecs: few distinct ones, in runs, slowly rising; of so many bits, on a line, near a line.
template <typename T>
std::vector<T> shaped_values(const std::string& shape, size_t count) {
  std::mt19937_64 random(3);
  std::vector<T> values(count);
  uint64_t value = 1000;
  size_t run = 0;
  for (size_t i = 0; i < count; ++i) {
    if (shape == "dict") {
      values[i] = static_cast<T>(random() % 1000 * 7919);
    } else if (shape == "rle") {
      if (run-- == 0) {
        value = random() % 100000;
        run = random() % 63;
      }
      values[i] = static_cast<T>(value);
    } else if (shape.starts_with("bits ")) {
      values[i] = static_cast<T>(random() & low_bits(static_cast<uint32_t>(std::stoul(shape.substr(5)))));
    } else if (shape.starts_with("line + ") || shape.starts_with("steep + ")) {
      // One line for the whole chunk: three quarters of what the bits hold leave room for its rounding.
      const auto width = static_cast<uint32_t>(std::stoul(shape.substr(shape.find('+') + 2)));
      const uint64_t most = width == 0 ? 0 : width == 1 ? 1 : low_bits(width - 1) + low_bits(width - 2);
      const uint64_t line = shape.starts_with("line") ? i * 10003 / 10 : i * 1234567890123;
      values[i] = static_cast<T>(line + (most == 0 ? 0 : random() % (most + 1)));
    } else if (shape == "line" || shape == "noisy line") {
      values[i] = static_cast<T>(i * 10003 / 10 + (shape == "line" ? 0 : random() % 16));
    } else {
      value += random() % 16;
      values[i] = static_cast<T>(value);
    }
  }
  return values;
}

template <typename T>
void codec_memory(benchmark::State& state, const std::string& shape, const std::string& tree, Physical type) {
  const std::vector<T> values = shaped_values<T>(shape, kMaxChunkRows);
  Values view;
  view.type = type;
  view.count = values.size();
  view.data = values.data();
  const Node node = encode_tree(view, bind_tree(parse_tree(tree), type));
  const std::unique_ptr<Reader> reader = open_reader(view_of(node));
  const size_t repeats = kPlainBytes / (values.size() * sizeof(T));
  Buffer out(kPlainBytes);
  std::memset(out.data(), 0, out.size());
  const uint32_t tiles = tile_count(values.size());
  const double start = bench::cpu_seconds();
  for (auto _ : state) {
    for (size_t r = 0; r < repeats; ++r) {
      for (uint32_t t = 0; t < tiles; ++t) {
        reader->decode_tile(t, out.as<T>() + r * values.size() + static_cast<size_t>(t) * kTileRows);
      }
    }
    benchmark::DoNotOptimize(out.data());
  }
  const double seconds = bench::cpu_seconds() - start;
  state.SetItemsProcessed(static_cast<int64_t>(repeats * values.size()) * state.iterations());
  report_memory(state, static_cast<double>(node.encoded_bytes() * repeats), static_cast<double>(kPlainBytes), seconds);
}

// References, lines, and lines so steep that predictions need 64 bits, with residuals of so many bits.
void l3_bits_u32(benchmark::State& state) {
  codec_memory<uint32_t>(state, "bits " + std::to_string(state.range(0)), "l3", Physical::kU32);
}
void l3_bits_u64(benchmark::State& state) {
  codec_memory<uint64_t>(state, "bits " + std::to_string(state.range(0)), "l3", Physical::kU64);
}
void l3_line_u32(benchmark::State& state) {
  codec_memory<uint32_t>(state, "line + " + std::to_string(state.range(0)), "l3", Physical::kU32);
}
void l3_line_u64(benchmark::State& state) {
  codec_memory<uint64_t>(state, "line + " + std::to_string(state.range(0)), "l3", Physical::kU64);
}
void l3_steep_u64(benchmark::State& state) {
  codec_memory<uint64_t>(state, "steep + " + std::to_string(state.range(0)), "l3", Physical::kU64);
}

constexpr auto codec_memory_u32 = codec_memory<uint32_t>;
constexpr auto codec_memory_u64 = codec_memory<uint64_t>;

BENCHMARK_TEMPLATE(packed_memory, uint32_t)->DenseRange(0, 32)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(packed_memory, uint64_t)->DenseRange(0, 64, 4)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(packed_memory, uint16_t)->DenseRange(0, 16, 4)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(packed_memory, uint8_t)->DenseRange(0, 8, 2)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(packed_cache, uint32_t)->DenseRange(0, 32);
BENCHMARK_TEMPLATE(packed_cache, uint64_t)->DenseRange(0, 64, 4);
BENCHMARK_TEMPLATE(packed_cache, uint16_t)->DenseRange(0, 16, 4);
BENCHMARK_TEMPLATE(packed_cache, uint8_t)->DenseRange(0, 8, 2);
BENCHMARK_CAPTURE(codec_memory_u32, dict, "dict", "dict(packed, packed)", Physical::kU32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, dict, "dict", "dict(packed, packed)", Physical::kU64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, rle, "rle", "rle(packed, packed)", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, rle, "rle", "rle(packed, packed)", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, delta, "delta", "delta(packed)", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, delta, "delta", "delta(packed)", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, l3_4_bits, "bits 4", "l3", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, l3_12_bits, "bits 12", "l3", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, l3_line, "line", "l3", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u32, l3_noisy_line, "noisy line", "l3", Physical::kU32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, l3_4_bits, "bits 4", "l3", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, l3_12_bits, "bits 12", "l3", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, l3_40_bits, "bits 40", "l3", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, l3_line, "line", "l3", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(codec_memory_u64, l3_noisy_line, "noisy line", "l3", Physical::kU64)->Unit(benchmark::kMillisecond);
BENCHMARK(l3_bits_u32)->DenseRange(0, 32, 4)->Unit(benchmark::kMillisecond);
BENCHMARK(l3_bits_u64)->DenseRange(0, 64, 4)->Unit(benchmark::kMillisecond);
BENCHMARK(l3_line_u32)->DenseRange(0, 27)->Unit(benchmark::kMillisecond);
BENCHMARK(l3_line_u64)->DenseRange(0, 31)->Unit(benchmark::kMillisecond);
BENCHMARK(l3_steep_u64)->DenseRange(0, 60, 4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace basalt

BENCHMARK_MAIN();
