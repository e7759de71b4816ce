// The time that the device takes for work beside generated kernels.
#pragma once

#include "basalt/exec/pipeline.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

// Adds what the device did while it lived to the time of kernels.
class TimedWork {
 public:
  TimedWork(RunReport& report, cudaStream_t stream) : report_(report), stream_(stream) { begin_.record(stream); }
  ~TimedWork() {
    float ms = 0;
    const bool ended = cudaEventRecord(end_, stream_) == cudaSuccess && cudaEventSynchronize(end_) == cudaSuccess;
    if (ended && cudaEventElapsedTime(&ms, begin_, end_) == cudaSuccess) report_.kernel_ms += ms;
  }
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;

 private:
  RunReport& report_;
  cudaStream_t stream_;
  Event begin_;
  Event end_;
};

}  // namespace basalt::cuda
