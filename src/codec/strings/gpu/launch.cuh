// Host side of launching decoders of strings.
#pragma once

#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/strings/gpu/decode_work.h"

namespace basalt::strings {

// x covers the tiles of the longest array, `warps` to a block; y the arrays.
inline dim3 tile_grid(const TextBatch& batch, uint32_t warps) {
  const uint32_t blocks = (batch.most_tiles + warps - 1) / warps;
  return dim3(blocks == 0 ? 1 : blocks, batch.count);
}

// Calls f with a reader of the child's type.
template <typename T, typename F>
cudaError_t with_child(Child child, F f) {
  return child == Child::kPacked ? f(device::Packed<T>()) : f(device::Plain<T>());
}

}  // namespace basalt::strings
