// The list of codecs with precompiled decoders.
#include "cuda/codec/precompiled.h"

#include <algorithm>

#include "codec/ans/gpu/kernels.h"
#include "codec/delta/gpu/kernels.h"
#include "codec/dict/gpu/kernels.h"
#include "codec/galp/gpu/kernels.h"
#include "codec/l3/gpu/kernels.h"
#include "codec/packed/gpu/kernels.h"
#include "codec/rle/gpu/kernels.h"

namespace basalt::cuda {

const device::PrecompiledDecoder* find_precompiled(std::string_view reader) {
  for (const device::PrecompiledDecoders list :
       {packed::decoders(), dict::decoders(), rle::decoders(), delta::decoders(), l3::decoders(), galp::decoders(),
        ans::decoders()}) {
    for (const device::PrecompiledDecoder& decoder : list) {
      if (reader == decoder.reader) return &decoder;
    }
  }
  return nullptr;
}

void launch_decoder(const LoadedKernel& kernel, LaunchShape shape, device::ChunkBatch batch, void* out, uint32_t* fault,
                    cudaStream_t stream) {
  constexpr uint32_t kMostRows = 65535;  // of a grid
  const uint32_t warps = std::min(static_cast<uint32_t>(kernel.threads) / kLanes, shape.warps);
  const uint32_t tiles = warps * shape.tiles;
  const dim3 blocks((batch.tiles_per_chunk + tiles - 1) / tiles, std::min(batch.chunks, kMostRows));
  void* arguments[] = {&batch, &out, &fault};
  check(cudaLaunchKernel(kernel.function(), blocks, dim3(warps * kLanes), arguments, 0, stream), "launching a decoder");
}

}  // namespace basalt::cuda
