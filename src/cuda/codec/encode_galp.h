// An array of floats, encoded with `galp` on the device: memory and order of the launches. What comes out stays on the
// device: integers for the child's encoder, or all streams of galp(packed).
#pragma once

#include "codec/galp/gpu/encode_kernels.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

template <typename T>
class GalpEncoder {
 public:
  // Of the streams whose length does not follow from the rows.
  struct Sizes {
    uint32_t exception_words;
    uint32_t packed_rows;  // of 128 bytes; 0 after take_schemes()
    bool has_dictionaries;
    bool has_short_starts() const { return exception_words <= galp::kMaxShortStarts; }
  };

  // `values` are in device memory.
  GalpEncoder(const T* values, uint64_t rows, Effort effort, cudaStream_t stream);

  // Each tile its own scheme, for the child `packed`; waits for the sizes. Throws where `packed` would.
  Sizes choose_schemes();
  // What is best for all tiles; waits for it.
  galp::ArraySchemes search_pair();
  // One scheme for all tiles, after search_pair(); waits for the sizes.
  Sizes take_schemes(uint32_t scheme);

  // Fills streams in device memory, which have room for what was measured; does not wait.
  void write(const galp::EncodedStreams<T>& streams);

  // Streams that need no more than choosing, by tile: galp's and those of `packed`.
  const uint8_t* schemes() const { return work_.schemes; }
  const galp::BitsOf<T>* references() const { return work_.references; }
  uint32_t tiles() const { return work_.tiles; }
  uint32_t groups() const { return work_.groups; }
  size_t temporary_bytes() const { return memory_ == nullptr ? 0 : memory_->bytes() + scan_->bytes(); }

 private:
  cudaError_t sum_sizes(void* temporary, size_t& bytes);
  Sizes measure();

  cudaStream_t stream_;
  galp::EncodeWork<T> work_;
  std::unique_ptr<DeviceBlock> memory_;
  std::unique_ptr<DeviceBlock> scan_;  // kept, since allocating it again would take longer than the scan
  size_t zeros_ = 0;                   // what begins here has to be zero before each search
};

}  // namespace basalt::cuda
