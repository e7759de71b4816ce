// Chunks of galp(packed) in device memory for benchmarks: integers of one width over random words, and the same number
// of exceptions in every tile, at random rows. What is counted over them is checked by the arithmetic and the search
// that the CPU uses too.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "codec/galp/exceptions.h"
#include "codec/galp/scale.h"
#include "core/device/warp.h"
#include "nested_columns.h"

namespace basalt::bench {

template <typename T>
using FloatOf = typename device::SelectType<sizeof(T) == 8, double, float>::type;
// Three digits behind the point; of floats one.
template <typename T>
constexpr galp::Pair kPair = sizeof(T) == 8 ? galp::Pair{5, 2} : galp::Pair{1, 0};

// Schemes and exceptions of one chunk, copied for every chunk.
template <typename T>
class PatchedChunks {
 public:
  static constexpr uint32_t kNodeWords = 1 + galp::kStreams + 1 + packed::kStreams;

  PatchedChunks(uint32_t chunks, uint32_t exceptions) : chunks_(chunks) {
    std::mt19937_64 random(exceptions);
    std::vector<uint32_t> order(kTileRows);
    std::iota(order.begin(), order.end(), 0u);
    std::vector<uint32_t> starts{0};
    Buffer blocks;
    for (uint32_t tile = 0; tile < kTilesPerChunk; ++tile) {
      std::shuffle(order.begin(), order.end(), random);
      galp::LaneRows rows;
      rows.count = exceptions;
      std::vector<T> values(kTileRows);
      for (uint32_t i = 0; i < exceptions; ++i) {
        rows.rows[order[i] % kLanes] |= 1u << order[i] / kLanes;
        values[order[i]] = static_cast<T>(random());
      }
      galp::append_block(rows, values.data(), 8 * sizeof(T), blocks);
      starts.push_back(static_cast<uint32_t>(blocks.size() / sizeof(uint32_t)));
    }
    schemes_at_ = image_.add(std::vector<uint8_t>(kTilesPerChunk, galp::pair_number(kPair<T>)));
    words_ = starts.back();
    if (exceptions != 0) {
      starts_at_ = words_ <= galp::kMaxShortStarts ? image_.add(std::vector<uint16_t>(starts.begin(), starts.end()))
                                                   : image_.add(starts);
      const auto* words = reinterpret_cast<const uint32_t*>(blocks.data());
      words_at_ = image_.add(std::vector<uint32_t>(words, words + words_));
    }
    images_ = image_.replicate(chunks);
  }

  // With integers below them.
  struct Column {
    PackedColumn<T> integers;
    DeviceArray<uint64_t> nodes;
    device::ChunkBatch batch;
    double bytes;
  };
  Column of_width(const DeviceArray<unsigned char>& pool, uint32_t width) const {
    Column column{make_packed_column<T>(
                      pool, chunks_, [&](uint64_t) { return width; }, [](uint64_t) { return T{0}; }),
                  {},
                  {},
                  0};
    std::vector<uint64_t> nodes;
    for (uint32_t c = 0; c < chunks_; ++c) {
      const auto at = reinterpret_cast<uint64_t>(images_.data() + image_.stride() * c);
      nodes.push_back(kMaxChunkRows | static_cast<uint64_t>(words_) << 32);
      nodes.insert(nodes.end(), {at + schemes_at_, at, at + starts_at_, at + words_at_});
      const auto child = column.integers.host_nodes.begin() + 4 * c;
      nodes.insert(nodes.end(), child, child + 4);
    }
    column.nodes = DeviceArray<uint64_t>(nodes);
    column.batch = {column.nodes.data(), column.integers.first_rows.data(), kNodeWords, chunks_, kTilesPerChunk};
    column.bytes = column.integers.stream_bytes() + static_cast<double>(image_.used()) * chunks_;
    return column;
  }

 private:
  uint32_t chunks_;
  ChunkImage image_;
  size_t schemes_at_ = 0;
  size_t starts_at_ = 0;
  size_t words_at_ = 0;
  uint32_t words_ = 0;
  DeviceArray<unsigned char> images_;
};

template <typename T>
struct ExpectedFloat {
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const {
    using Float = FloatOf<T>;
    const uint32_t tile = row / kTileRows;
    const auto words = static_cast<uint32_t>(node[0] >> 32);
    if (words != 0) {
      const void* starts = reinterpret_cast<const void*>(node[1 + galp::kExceptionStarts]);
      const auto* blocks = reinterpret_cast<const uint32_t*>(node[1 + galp::kExceptions]);
      const uint32_t start = galp::exception_start(starts, words <= galp::kMaxShortStarts, tile);
      const auto block = galp::Exceptions::of(blocks + start, 8 * sizeof(T));
      const uint32_t found = galp::find_exception(block, row % kTileRows);
      if (found < block.count) return static_cast<T>(block.value(found));
    }
    const T number = expected_row<T>(node + 1 + galp::kStreams, row);
    return galp::bits_of(
        galp::decode<Float>(static_cast<galp::IntOf<Float>>(number), galp::Scale<Float>::of(kPair<T>)));
  }
};

// The value of an integer in the middle of a width: about half of the rows are at most this.
template <typename T>
FloatOf<T> middle_of(uint32_t width) {
  using Float = FloatOf<T>;
  return galp::decode<Float>(static_cast<galp::IntOf<Float>>(int64_t{1} << (width - 1)),
                             galp::Scale<Float>::of(kPair<T>));
}

// What launch(result) adds to a count.
template <typename Launch>
unsigned long long counted(const Launch& launch) {
  DeviceArray<unsigned long long> result(1);
  BASALT_CHECK(cudaMemset(result.data(), 0, result.bytes()));
  launch(result.data());
  BASALT_CHECK(cudaGetLastError());
  return result.to_host(0, 1)[0];
}

// Adds what the lanes of a warp counted, or more than any count where one of them met something bad.
__device__ __forceinline__ void add_count(uint32_t count, uint32_t bad, unsigned long long* result) {
  count = device::sum_of_lanes(count);
  const bool any_bad = device::any_lane(bad != 0);
  if (device::lane_id() == 0) atomicAdd(result, any_bad ? 1ull << 60 : static_cast<unsigned long long>(count));
}

}  // namespace basalt::bench
