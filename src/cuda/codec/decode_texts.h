// The steps that decoders of strings share: lengths are added up, memory is found, kernels run, faults become errors.
#pragma once

#include "codec/strings/gpu/kernels.h"
#include "cuda/codec/decode_strings.h"

namespace basalt::cuda {

// A codec's work in device memory, with room for its rows. Work derives from strings::TextWork.
template <typename Work>
class TextDecoding {
 public:
  TextDecoding(Work work, uint64_t rows, cudaStream_t stream)
      : work_(work), stream_(stream), fault_(cleared(sizeof(uint32_t), stream)), on_device_(sizeof(Work), stream) {
    work_.rows = static_cast<uint32_t>(rows);
    work_.fault = fault_.as<uint32_t>();
    out_.count = rows;
  }

  // Bytes of all rows by their lengths; more than `most` is a fault, since damaged lengths may ask for anything.
  void place_tiles(const DeviceChild& lengths, uint64_t most) {
    const uint32_t tiles = work_.tiles();
    text_starts_ = DeviceBuffer((tiles + size_t{1}) * sizeof(uint64_t), stream_);
    work_.lengths = lengths.descriptor();
    work_.text_starts = text_starts_.as<uint64_t>();
    send();
    check(strings::place_tiles(strings::text_batch(on_device(), 1, tiles, lengths.stored), stream_),
          "adding up lengths");
    const uint64_t bytes = fetch(work_.text_starts + tiles, stream_);
    if (bytes > most) throw_corrupt();
    reserve(bytes);
  }
  void reserve(uint64_t bytes) {
    out_.byte_count = bytes;
    out_.bytes = DeviceBuffer(bytes, stream_);
    out_.offsets = DeviceBuffer((out_.count + 1) * sizeof(int64_t), stream_);
    work_.text = out_.bytes.template as<unsigned char>();
    work_.offsets = out_.offsets.data();
    send();
  }

  const Work* on_device() const { return on_device_.template as<Work>(); }
  uint32_t tiles() const { return work_.tiles(); }

  // After the kernels were launched.
  DeviceStrings finish() {
    if (fetch(work_.fault, stream_) != 0) throw_corrupt();
    return std::move(out_);
  }

 private:
  void send() {
    check(cudaMemcpyAsync(on_device_.data(), &work_, sizeof(Work), cudaMemcpyHostToDevice, stream_),
          "copying a descriptor");
  }

  Work work_;
  cudaStream_t stream_;
  DeviceBuffer fault_;
  DeviceBuffer on_device_;
  DeviceBuffer text_starts_;
  DeviceStrings out_;
};

}  // namespace basalt::cuda
