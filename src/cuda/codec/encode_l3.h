// A batch of chunks of one column, encoded with `l3` on the device: memory and order of the launches.
#pragma once

#include <span>
#include <vector>

#include "codec/l3/gpu/encode_kernels.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

class L3BatchEncoder {
 public:
  // `chunks` are in device memory, of one integer type. Allocates what encoding takes besides input and streams, at
  // most twice the input of chunks as long as the longest, of 1024 rows or more.
  L3BatchEncoder(std::span<const l3::EncodeInput> chunks, Physical type, Effort effort, cudaStream_t stream);

  // Cuts, chooses, and waits for the sizes: the only synchronisation.
  const std::vector<l3::EncodedSizes>& measure();
  // Fills streams in device memory, one entry per chunk; does not wait.
  void write(std::span<const l3::EncodedStreams> streams);

  size_t temporary_bytes() const { return memory_ == nullptr ? 0 : memory_->bytes(); }

 private:
  std::vector<l3::EncodeInput> inputs_;
  Effort effort_;
  cudaStream_t stream_;
  l3::EncodeWork work_{};
  std::unique_ptr<DeviceBlock> memory_;
  std::vector<l3::EncodedSizes> sizes_;
};

}  // namespace basalt::cuda
