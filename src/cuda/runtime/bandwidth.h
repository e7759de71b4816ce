// What the device can move at most, measured: the ceilings that every other number is compared with.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "basalt/cuda/backend.h"
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

GpuBandwidth measure(cudaStream_t stream);

// Fills L2 with what nothing else reads, without leaving anything to be written back.
class ColdCache {
 public:
  explicit ColdCache(cudaStream_t stream);
  void make(cudaStream_t stream) const;

 private:
  DeviceBuffer other_;
};

// Seconds that work put into the stream takes: the median of some rounds, none of which finds anything in L2.
template <typename Work>
double median_seconds(const ColdCache& cold, int rounds, cudaStream_t stream, Work&& work) {
  Event begin;
  Event end;
  std::vector<double> all;
  for (int round = 0; round <= rounds; ++round) {
    cold.make(stream);
    begin.record(stream);
    work();
    end.record(stream);
    check(cudaEventSynchronize(end), "timing kernels");
    if (round > 0) all.push_back(elapsed_ms(begin, end) * 1e-3);  // the first one loads code
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace basalt::cuda
