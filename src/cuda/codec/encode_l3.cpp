#include "cuda/codec/encode_l3.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kWarpsPerMultiprocessor = 16;  // as many as registers allow

// The inputs' table lies before the arrays of the work.
size_t table_bytes(size_t chunks) { return (chunks * sizeof(l3::EncodeInput) + 255) / 256 * 256; }

}  // namespace

L3BatchEncoder::L3BatchEncoder(std::span<const l3::EncodeInput> chunks, Physical type, Effort effort,
                               cudaStream_t stream)
    : inputs_(chunks.begin(), chunks.end()), effort_(effort), stream_(stream), sizes_(chunks.size()) {
  for (const l3::EncodeInput& chunk : inputs_) {
    if (chunk.rows > kMaxChunkRows) throw Error(ErrorCode::kInternal, "a chunk is longer than chunks can be");
  }
  int device = 0;
  int multiprocessors = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "asking for its size");
  const auto warps = static_cast<uint32_t>(multiprocessors) * kWarpsPerMultiprocessor;
  work_ = l3::EncodeWork::of(inputs_, width_of(type), is_signed(type), effort, warps);
  if (work_.stride == 0) return;
  const size_t table = table_bytes(inputs_.size());
  memory_ = std::make_unique<DeviceBlock>(table + l3::place_arrays(work_, nullptr), stream, stream);
  l3::place_arrays(work_, memory_->as<unsigned char>() + table);
  work_.chunks = memory_->as<l3::EncodeInput>();
  check(cudaMemcpyAsync(memory_->data(), inputs_.data(), inputs_.size() * sizeof(l3::EncodeInput),
                        cudaMemcpyHostToDevice, stream),
        "describing chunks to the encoder");
}

const std::vector<l3::EncodedSizes>& L3BatchEncoder::measure() {
  if (work_.stride == 0) return sizes_;
  check(l3::measure_streams(work_, effort_, stream_), "choosing models");
  check(cudaMemcpyAsync(sizes_.data(), work_.sizes, sizes_.size() * sizeof(sizes_[0]), cudaMemcpyDeviceToHost, stream_),
        "reading sizes back");
  check(cudaStreamSynchronize(stream_), "choosing models");
  return sizes_;
}

void L3BatchEncoder::write(std::span<const l3::EncodedStreams> streams) {
  if (work_.stride == 0) return;
  check(cudaMemcpyAsync(work_.streams, streams.data(), streams.size_bytes(), cudaMemcpyHostToDevice, stream_),
        "describing streams to the encoder");
  check(l3::write_streams(work_, stream_), "packing residuals");
}

}  // namespace basalt::cuda
