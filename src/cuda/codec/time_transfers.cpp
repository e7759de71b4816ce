// How long columns take from pinned memory to values on the device: in turn, and with the copy of one beside the kernel
// of another, in the order that they have and in Johnson's.
#include <algorithm>
#include <functional>
#include <numeric>

#include "cuda/backend.h"
#include "cuda/codec/timed_arrays.h"
#include "exec/transfer_order.h"

namespace basalt::cuda {

namespace {

// A column that is on the device already: what is copied is what lies there.
class TimedBlock {
 public:
  TimedBlock(std::span<const NodeView> arrays, Modules& modules, cudaStream_t stream)
      : arrays_(arrays, false, modules, stream) {
    uint64_t bytes = 0;
    for (const UploadedArray& array : arrays_.uploaded()) bytes += array.streams.bytes();
    pinned_.ensure(bytes);
    copy(cudaMemcpyDeviceToHost, stream);
    check(cudaStreamSynchronize(stream), "copying arrays");
  }
  void copy_to_device(cudaStream_t stream) const { copy(cudaMemcpyHostToDevice, stream); }
  void launch(cudaStream_t stream) const { arrays_.launch(stream); }
  uint64_t bytes() const { return pinned_.bytes(); }
  void compare(const NodeView& first, cudaStream_t stream) const { arrays_.compare(0, first, stream); }

 private:
  void copy(cudaMemcpyKind direction, cudaStream_t stream) const {
    std::byte* at = pinned_.data();
    for (const UploadedArray& array : arrays_.uploaded()) {
      void* device = array.streams.data();
      const bool up = direction == cudaMemcpyHostToDevice;
      check(cudaMemcpyAsync(up ? device : at, up ? at : device, array.streams.bytes(), direction, stream),
            "copying arrays");
      at += array.streams.bytes();
    }
  }

  TimedArrays arrays_;
  PinnedBuffer pinned_;
};
using TimedBlocks = std::vector<std::unique_ptr<TimedBlock>>;

double median_of(int rounds, const std::function<double()>& round) {
  std::vector<double> all;
  round();  // loads code
  for (int i = 0; i < rounds; ++i) all.push_back(round());
  std::ranges::sort(all);
  return all[all.size() / 2];
}

double seconds_of(cudaStream_t stream, const std::function<void()>& work) {
  Event begin;
  Event end;
  begin.record(stream);
  work();
  end.record(stream);
  check(cudaEventSynchronize(end), "timing transfers");
  return elapsed_ms(begin, end) * 1e-3;
}

// Copies in one stream, kernels in the other, each behind its copy.
double pipelined(const TimedBlocks& blocks, std::span<const uint32_t> order, cudaStream_t copies,
                 cudaStream_t kernels) {
  Event begin;
  Event end;
  std::vector<std::unique_ptr<Event>> copied;
  begin.record(kernels);
  check(cudaStreamWaitEvent(copies, begin, 0), "ordering streams");
  for (const uint32_t number : order) {
    blocks[number]->copy_to_device(copies);
    copied.push_back(std::make_unique<Event>());
    copied.back()->record(copies);
    check(cudaStreamWaitEvent(kernels, *copied.back(), 0), "ordering streams");
    blocks[number]->launch(kernels);
  }
  end.record(kernels);
  check(cudaEventSynchronize(end), "timing transfers");
  return elapsed_ms(begin, end) * 1e-3;
}

}  // namespace

TransferTiming CudaBackend::time_transfers(std::span<const std::vector<NodeView>> blocks, int rounds) {
  const std::lock_guard lock(mutex_);
  use_device();
  TimedBlocks timed;
  for (const std::vector<NodeView>& arrays : blocks) {
    require_timed(arrays);
    timed.push_back(std::make_unique<TimedBlock>(arrays, modules_, compute_));
  }
  TransferTiming out;
  std::vector<exec::TransferBlock> jobs;
  for (const auto& block : timed) {
    const auto copy = [&] { return seconds_of(compute_, [&] { block->copy_to_device(compute_); }); };
    const auto kernel = [&] { return seconds_of(compute_, [&] { block->launch(compute_); }); };
    out.copies.push_back(median_of(rounds, copy));
    out.kernels.push_back(median_of(rounds, kernel));
    jobs.push_back({out.copies.back(), out.kernels.back(), block->bytes()});
  }
  out.in_turn = median_of(rounds, [&] {
    return seconds_of(compute_, [&] {
      for (const auto& block : timed) block->copy_to_device(compute_);
      for (const auto& block : timed) block->launch(compute_);
    });
  });
  std::vector<uint32_t> given(timed.size());
  std::iota(given.begin(), given.end(), 0u);
  out.as_given = median_of(rounds, [&] { return pipelined(timed, given, copies_[0], compute_); });
  const exec::TransferOrder johnson = exec::johnson_order(jobs);
  out.reordered = median_of(rounds, [&] { return pipelined(timed, johnson, copies_[0], compute_); });
  for (size_t i = 0; i < timed.size(); ++i) timed[i]->compare(blocks[i][0], compute_);
  return out;
}

}  // namespace basalt::cuda
