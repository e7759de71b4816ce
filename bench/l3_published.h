// Columns in the published layout of L3 on the device, and the launch of the published decoder.
#pragma once

#include "basalt/core/threads.h"
#include "bench/paper/cut.h"
#include "bench/paper/kernels.cuh"
#include "gpu_bench.h"

namespace basalt::bench {

// A block per partition.
template <typename T>
__global__ void decode_published(paper::DeviceStreams from, T* out) {
  extern __shared__ __align__(16) unsigned char shared[];
  paper::decode_partition<T>(from, blockIdx.x, out, shared);
}

template <typename T>
class PublishedColumn {
 public:
  // `chunks` copies of the chunks that differ, one after the other, each with bytes of its own.
  PublishedColumn(const std::vector<paper::Streams>& distinct, uint32_t chunks) {
    std::vector<paper::Record> records;
    std::vector<uint64_t> params;
    uint64_t words = 0;
    for (uint32_t c = 0; c < chunks; ++c) {
      const paper::Streams& chunk = distinct[c % distinct.size()];
      for (paper::Record record : chunk.records) {
        record.start += c * kMaxChunkRows;
        record.payload += static_cast<uint32_t>(words);
        record.params += static_cast<uint32_t>(params.size());
        records.push_back(record);
      }
      params.insert(params.end(), chunk.params.begin(), chunk.params.end());
      words += chunk.payload.size();
      bytes += chunk.bytes();
      most_runs_ = std::max(most_runs_, chunk.most_runs);
    }
    require(words < uint64_t{1} << 32, "the payload's places have 32 bits");
    records_ = DeviceArray<paper::Record>(records);
    params_ = DeviceArray<uint64_t>(params);
    payload_ = DeviceArray<uint32_t>(words + paper::kPaddingWords);
    uint64_t at = 0;
    for (uint32_t c = 0; c < chunks; ++c) {
      const std::vector<uint32_t>& payload = distinct[c % distinct.size()].payload;
      BASALT_CHECK(cudaMemcpy(payload_.data() + at, payload.data(), payload.size() * 4, cudaMemcpyHostToDevice));
      at += payload.size();
    }
  }

  cudaError_t decode(uint32_t warps, T* out) const {
    // Below the 48 KB that need no asking for; and nothing is asked for, since the decoder lives on what is left as
    // cache.
    const uint32_t shared = most_runs_ == 0 ? 0 : paper::shared_bytes<T>(most_runs_);
    decode_published<T><<<static_cast<unsigned>(records_.size()), warps * kLanes, shared>>>(
        {records_.data(), params_.data(), payload_.data()}, out);
    return cudaGetLastError();
  }

  uint64_t bytes = 0;  // of all streams

 private:
  DeviceArray<paper::Record> records_;
  DeviceArray<uint64_t> params_;
  DeviceArray<uint32_t> payload_;
  uint32_t most_runs_ = 0;
};

// Chunks cut and packed by the published rules.
template <typename T, bool kSigned>
std::vector<paper::Streams> publish(const std::vector<T>& rows) {
  using Value = std::conditional_t<kSigned, std::make_signed_t<T>, T>;
  std::vector<paper::Streams> chunks(rows.size() / kMaxChunkRows);
  ThreadPool pool(hardware_threads());
  pool.parallel_for(chunks.size(), [&](uint64_t i) {
    std::vector<int64_t> values(kMaxChunkRows);
    for (uint64_t row = 0; row < kMaxChunkRows; ++row) {
      values[row] = static_cast<int64_t>(static_cast<Value>(rows[i * kMaxChunkRows + row]));
    }
    chunks[i] = paper::pack(values, paper::cut(values));
  });
  return chunks;
}

// Every partition of 8192 rows a frame of reference at 0 with the same width, which the values have to fit in.
template <typename T>
std::vector<paper::Streams> publish_fixed(const std::vector<T>& rows, uint32_t width) {
  std::vector<paper::Streams> chunks(rows.size() / kMaxChunkRows);
  for (uint64_t i = 0; i < chunks.size(); ++i) {
    const std::vector<int64_t> values(rows.begin() + static_cast<ptrdiff_t>(i * kMaxChunkRows),
                                      rows.begin() + static_cast<ptrdiff_t>((i + 1) * kMaxChunkRows));
    std::vector<paper::Part> parts;
    for (size_t first = 0; first < kMaxChunkRows; first += paper::kMostRows) {
      paper::Part part;
      part.first = first;
      part.rows = paper::kMostRows;
      part.width = width;
      parts.push_back(part);
    }
    chunks[i] = paper::pack(values, parts);
  }
  return chunks;
}

}  // namespace basalt::bench
