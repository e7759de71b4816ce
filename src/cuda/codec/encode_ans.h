// Encoding integers of few symbols by `ans` on the device, step by step: counting, shares, units, their stream.
#pragma once

#include "basalt/core/buffer.h"
#include "codec/ans/gpu/encode_work.h"
#include "cuda/codec/value_range.h"
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

// T: unsigned, of the values' width. The values stay on the device; one at least, and fewer than 2^32.
template <typename T>
class AnsEncoder {
 public:
  AnsEncoder(const T* values, uint64_t rows, const ValueRange& range, cudaStream_t stream);

  void count_symbols();
  // What they become in the stream of the table. Waits for the counts.
  Buffer give_shares();

  // Encodes all units, and finds where each begins in their stream.
  void encode(uint32_t unit_tiles);
  // Of that stream. Waits for the units.
  uint64_t unit_bytes() const;
  void place(uint32_t* units) const;

  Buffer starts() const;
  uint32_t symbols() const { return work_.symbols; }

 private:
  size_t bytes_by_symbol() const { return work_.symbols * sizeof(uint32_t); }

  cudaStream_t stream_;
  ans::EncodeWork<T> work_{};
  uint64_t units_ = 0;
  DeviceBuffer symbol_counts_, codes_, words_, counts_, states_, tails_, unit_words_, starts_;
};

}  // namespace basalt::cuda
