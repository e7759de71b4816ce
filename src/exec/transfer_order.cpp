// See transfer_order.h.
#include "exec/transfer_order.h"

#include <algorithm>
#include <numeric>

namespace basalt::exec {

namespace {

TransferOrder as_they_come(size_t blocks) {
  TransferOrder order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace

TransferOrder johnson_order(std::span<const TransferBlock> blocks) {
  TransferOrder order = as_they_come(blocks.size());
  const auto waits_for_copy = [&](uint32_t i) { return blocks[i].copy < blocks[i].kernel; };
  const auto second = std::stable_partition(order.begin(), order.end(), waits_for_copy);
  std::stable_sort(order.begin(), second, [&](uint32_t a, uint32_t b) { return blocks[a].copy < blocks[b].copy; });
  std::stable_sort(second, order.end(), [&](uint32_t a, uint32_t b) { return blocks[a].kernel > blocks[b].kernel; });
  return order;
}

double pipeline_seconds(std::span<const TransferBlock> blocks, std::span<const uint32_t> order, uint64_t cap) {
  std::vector<double> kernel_ends;  // in the order
  double copy_end = 0;
  uint64_t held = 0;  // by blocks from `oldest` on
  size_t oldest = 0;
  for (const uint32_t number : order) {
    const TransferBlock& block = blocks[number];
    double begin = copy_end;
    while (oldest < kernel_ends.size() && (held > cap || block.bytes > cap - held)) {
      begin = std::max(begin, kernel_ends[oldest]);
      held -= blocks[order[oldest++]].bytes;
    }
    held += block.bytes;
    copy_end = begin + block.copy;
    const double kernel_begin = kernel_ends.empty() ? copy_end : std::max(copy_end, kernel_ends.back());
    kernel_ends.push_back(kernel_begin + block.kernel);
  }
  return kernel_ends.empty() ? 0 : kernel_ends.back();
}

TransferOrder best_transfer_order(std::span<const TransferBlock> blocks, uint64_t cap) {
  TransferOrder given = as_they_come(blocks.size());
  TransferOrder johnson = johnson_order(blocks);
  return pipeline_seconds(blocks, johnson, cap) < pipeline_seconds(blocks, given, cap) ? johnson : given;
}

}  // namespace basalt::exec
