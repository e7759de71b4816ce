// An array of floats, encoded with `galp` on the device: memory and order of the launches. Integers stay on the device
// for the child's encoder.
#pragma once

#include "codec/galp/encode_kernels.h"
#include "cuda/runtime.h"

namespace basalt::cuda {

template <typename T>
class GalpEncoder {
 public:
  // Of the streams whose length does not follow from the rows.
  struct Sizes {
    uint32_t exception_words;
    bool has_dictionaries;
    bool has_short_starts() const { return exception_words <= galp::kMaxShortStarts; }
  };

  // `values` are in device memory.
  GalpEncoder(const T* values, uint64_t rows, Effort effort, cudaStream_t stream);

  // Each tile its own scheme; waits for the sizes.
  Sizes choose_schemes();
  // What is best for all tiles; waits for it.
  galp::ArraySchemes search_pair();
  // One scheme for all tiles; waits for the sizes.
  Sizes take_schemes(uint32_t scheme);

  // Fills streams and integers in device memory, which have room for what was measured; does not wait. Exceptions
  // need not be clean.
  void write(const Sizes& sizes, const galp::EncodedStreams& streams, galp::IntOf<T>* integers);

  const uint8_t* schemes() const { return work_.schemes; }
  uint32_t tiles() const { return work_.tiles; }
  uint32_t groups() const { return work_.groups; }
  size_t temporary_bytes() const { return memory_ == nullptr ? 0 : memory_->bytes(); }

 private:
  Sizes measure();

  cudaStream_t stream_;
  galp::EncodeWork<T> work_;
  std::unique_ptr<DeviceBlock> memory_;
  size_t zeros_ = 0;  // what begins here has to be zero before each search
};

}  // namespace basalt::cuda
