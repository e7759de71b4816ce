// Nested chunks in device memory for benchmarks: packed children over random words, and run-length chunks whose shape
// is made once on the host and copied for every chunk, so that each chunk's bytes come from memory of their own.
#pragma once

#include "codec/rle/layout.h"
#include "packed_column.h"

namespace basalt::bench {

// A packed stream made on the host, of values that ascend or not.
struct HostPacked {
  std::vector<uint32_t> references;
  std::vector<uint32_t> descriptors;
  std::vector<uint32_t> words;
};

inline HostPacked pack_on_host(const std::vector<uint32_t>& values) {
  HostPacked packed_values;
  for (size_t begin = 0; begin < values.size(); begin += kTileRows) {
    const size_t end = std::min(values.size(), begin + kTileRows);
    uint32_t least = ~0u;
    uint32_t most = 0;
    for (size_t i = begin; i < end; ++i) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    uint32_t width = 0;
    while (width < 32 && (uint64_t{most - least} >> width) != 0) ++width;
    const size_t first = packed_values.words.size();
    packed_values.references.push_back(least);
    packed_values.descriptors.push_back(packed::make_descriptor(static_cast<uint32_t>(first / kLanes), width));
    packed_values.words.resize(first + packed_tile_words(width));
    if (width == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t raw = values[i] - least;
      const uint32_t lane = static_cast<uint32_t>((i - begin) % kLanes);
      const uint32_t bit = static_cast<uint32_t>((i - begin) / kLanes) * width;
      uint32_t* word = packed_values.words.data() + first + (bit / 32) * kLanes + lane;
      word[0] |= static_cast<uint32_t>(raw << (bit % 32));
      if (bit % 32 + width > 32) word[kLanes] |= static_cast<uint32_t>(raw >> (32 - bit % 32));
    }
  }
  return packed_values;
}

// Streams of one chunk laid out one after the other on 128-byte borders, to be copied for every chunk.
class ChunkImage {
 public:
  template <typename T>
  size_t add(const std::vector<T>& values) {
    const size_t at = bytes_.size();
    used_ += values.size() * sizeof(T);
    bytes_.resize(at + (values.size() * sizeof(T) + 127) / 128 * 128);
    std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    return at;
  }
  size_t stride() const { return bytes_.size(); }
  size_t used() const { return used_; }

  DeviceArray<unsigned char> replicate(uint32_t chunks) const {
    DeviceArray<unsigned char> all(stride() * chunks);
    BASALT_CHECK(cudaMemcpy(all.data(), bytes_.data(), stride(), cudaMemcpyHostToDevice));
    uint32_t done = 1;
    while (done < chunks) {
      const uint32_t more = std::min(done, chunks - done);
      BASALT_CHECK(cudaMemcpy(all.data() + stride() * done, all.data(), stride() * more, cudaMemcpyDeviceToDevice));
      done += more;
    }
    return all;
  }

 private:
  std::vector<unsigned char> bytes_;
  size_t used_ = 0;
};

// Run-length chunks, all with the same runs; run values differ by chunk.
struct RleColumn {
  uint32_t chunks = 0;
  uint32_t runs = 0;                  // per chunk
  uint32_t words_per_chunk = 0;       // of the descriptor
  double stream_bytes = 0;            // of all chunks
  DeviceArray<unsigned char> shape;   // entries and ends
  DeviceArray<unsigned char> values;  // references and descriptors of the run values
  DeviceArray<uint32_t> run_of_row;   // of one chunk, for checking
  DeviceArray<uint64_t> nodes;
  DeviceArray<uint64_t> first_rows;

  device::ChunkBatch batch() const {
    return {nodes.data(), first_rows.data(), words_per_chunk, chunks, kTilesPerChunk};
  }
};

inline std::vector<uint32_t> delta_of(const std::vector<uint32_t>& values, std::vector<uint32_t>& checkpoints) {
  std::vector<uint32_t> deltas(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % kTileRows == 0) {
      checkpoints.push_back(values[i]);
      deltas[i] = i + 1 < values.size() ? values[i + 1] - values[i] : 0;
    } else {
      deltas[i] = values[i] - values[i - 1];
    }
  }
  return deltas;
}

// `lengths` add up to one chunk. Run values are packed with `value_width` bits from the pool of random words.
template <typename T>
RleColumn make_rle_column(const DeviceArray<unsigned char>& pool, uint32_t chunks, const std::vector<uint32_t>& lengths,
                          uint32_t value_width, bool delta_ends) {
  RleColumn column;
  column.chunks = chunks;
  column.runs = static_cast<uint32_t>(lengths.size());
  std::vector<uint32_t> ends(lengths.size());
  std::vector<uint32_t> run_of_row(kMaxChunkRows);
  std::vector<rle::TileEntry> entries;
  uint32_t row = 0;
  for (uint32_t run = 0; run < lengths.size(); ++run) {
    for (uint32_t tile = (row + kTileRows - 1) / kTileRows; tile * kTileRows < row + lengths[run]; ++tile) {
      entries.push_back({run, tile * kTileRows - row});
    }
    for (uint32_t i = 0; i < lengths[run]; ++i) run_of_row[row + i] = run;
    row += lengths[run];
    ends[run] = row;
  }
  require(row == kMaxChunkRows && entries.size() == kTilesPerChunk, "runs do not fill a chunk");
  column.run_of_row = DeviceArray<uint32_t>(run_of_row);

  ChunkImage shape;
  const size_t entries_at = shape.add(entries);
  std::vector<uint32_t> checkpoints;
  const HostPacked packed_ends = pack_on_host(delta_ends ? delta_of(ends, checkpoints) : ends);
  const size_t checkpoints_at = shape.add(checkpoints);
  const size_t references_at = shape.add(packed_ends.references);
  const size_t descriptors_at = shape.add(packed_ends.descriptors);
  const size_t words_at = shape.add(packed_ends.words);
  column.shape = shape.replicate(chunks);

  ChunkImage value_image;
  const uint32_t value_tiles = device::tiles_of(column.runs);
  std::vector<T> value_references(value_tiles);
  std::vector<uint32_t> value_descriptors(value_tiles);
  for (uint32_t t = 0; t < value_tiles; ++t) {
    value_references[t] = static_cast<T>(mix(t));
    value_descriptors[t] = packed::make_descriptor(t * value_width, value_width);
  }
  const size_t value_references_at = value_image.add(value_references);
  const size_t value_descriptors_at = value_image.add(value_descriptors);
  column.values = value_image.replicate(chunks);
  const uint64_t value_bytes = uint64_t{value_tiles} * packed_tile_words(value_width) * 4;
  require(value_bytes * chunks <= pool.bytes(), "the pool of random words is too small");

  std::vector<uint64_t> nodes;
  for (uint32_t c = 0; c < chunks; ++c) {
    const auto place = [&](const DeviceArray<unsigned char>& all, size_t stride, size_t at) {
      nodes.push_back(reinterpret_cast<uint64_t>(all.data() + stride * c + at));
    };
    nodes.push_back(kMaxChunkRows);
    place(column.shape, shape.stride(), entries_at);
    nodes.push_back(column.runs);
    place(column.values, value_image.stride(), value_references_at);
    place(column.values, value_image.stride(), value_descriptors_at);
    nodes.push_back(reinterpret_cast<uint64_t>(pool.data() + value_bytes * c));
    nodes.push_back(column.runs);
    if (delta_ends) {
      place(column.shape, shape.stride(), checkpoints_at);
      nodes.push_back(column.runs);
    }
    place(column.shape, shape.stride(), references_at);
    place(column.shape, shape.stride(), descriptors_at);
    place(column.shape, shape.stride(), words_at);
    if (c == 0) column.words_per_chunk = static_cast<uint32_t>(nodes.size());
  }
  column.nodes = DeviceArray<uint64_t>(nodes);
  column.first_rows = DeviceArray<uint64_t>(chunk_starts(chunks));
  column.stream_bytes =
      static_cast<double>(chunks) *
      (static_cast<double>(shape.used()) + static_cast<double>(value_image.used()) + static_cast<double>(value_bytes));
  return column;
}

// A row of a run-length chunk: its run's value, by the arithmetic that the CPU uses too.
template <typename T>
struct ExpectedRle {
  const uint32_t* run_of_row;
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const {
    return expected_row<T>(node + 2, run_of_row[row]);
  }
};

// The patterns of run lengths that the bars name, each filling one chunk.
struct RunPattern {
  std::string name;
  std::vector<uint32_t> lengths;
};

class RunMaker {
 public:
  std::vector<uint32_t> fixed(uint32_t length, uint32_t rows) {
    return make(rows, [&] { return length; });
  }
  std::vector<uint32_t> uniform(uint32_t least, uint32_t most, uint32_t rows) {
    return make(rows, [&] { return least + static_cast<uint32_t>(next() % (most - least + 1)); });
  }
  // Runs of 1 with one run of 1024 in `rare`.
  std::vector<uint32_t> spiked(uint32_t rare, uint32_t rows) {
    return make(rows, [&] { return next() % rare == 0 ? 1024u : 1u; });
  }

 private:
  template <typename Length>
  static std::vector<uint32_t> make(uint32_t rows, const Length& length) {
    std::vector<uint32_t> lengths;
    for (uint32_t used = 0; used < rows; used += lengths.back()) lengths.push_back(std::min(length(), rows - used));
    return lengths;
  }
  uint64_t next() { return mix(++state_); }
  uint64_t state_ = 99;
};

inline std::vector<RunPattern> run_patterns() {
  RunMaker make;
  const uint32_t rows = kMaxChunkRows;
  std::vector<RunPattern> patterns;
  for (const uint32_t length : {1u, 2u, 4u, 16u, 64u, 256u, 1024u}) {
    patterns.push_back({label("runs ", length), make.fixed(length, rows)});
  }
  for (const uint32_t most : {8u, 64u, 1024u}) {
    patterns.push_back({label("runs 1..", most), make.uniform(1, most, rows)});
  }
  patterns.push_back({"1 + 1% 1024", make.spiked(100, rows)});
  patterns.push_back({"1 + 0.1% 1024", make.spiked(1000, rows)});
  const auto join = [&](const std::string& name, const std::vector<std::vector<uint32_t>>& parts) {
    std::vector<uint32_t> lengths;
    for (const auto& part : parts) lengths.insert(lengths.end(), part.begin(), part.end());
    patterns.push_back({name, lengths});
  };
  join("concat short", {make.fixed(1, rows / 4), make.uniform(1, 8, rows / 2), make.spiked(100, rows / 4)});
  join("concat mixed", {make.fixed(1, rows / 4), make.fixed(1024, rows / 4), make.uniform(1, 64, rows / 4),
                        make.uniform(1, 1024, rows / 4)});
  return patterns;
}

}  // namespace basalt::bench
