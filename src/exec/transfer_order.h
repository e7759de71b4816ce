// The order in which blocks go to a device: each is copied, then a kernel runs over it, while the next one is copied.
// Johnson's rule for two machines makes the last kernel end as early as any order can; a ring of staging memory that is
// too small for it may make another order better, so orders are compared by simulating the ring.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace basalt::exec {

struct TransferBlock {
  double copy = 0;     // seconds on the link
  double kernel = 0;   // seconds on the device, behind the copy
  uint64_t bytes = 0;  // of staging memory, from the beginning of the copy to the end of the kernel
};
using TransferOrder = std::vector<uint32_t>;  // numbers of blocks

constexpr uint64_t kNoCap = ~uint64_t{0};

// First what is copied sooner than its kernel runs, the shortest copy first; then the rest, the longest kernel first.
// Equal blocks keep their order.
TransferOrder johnson_order(std::span<const TransferBlock> blocks);

// Seconds until the last kernel has ended. Copies follow each other, kernels follow each other; a copy begins when the
// blocks that are copied or wait for the end of their kernels leave room for it in `cap` bytes. A block that is larger
// than the cap has the ring to itself.
double pipeline_seconds(std::span<const TransferBlock> blocks, std::span<const uint32_t> order, uint64_t cap = kNoCap);

// Of Johnson's order and the one that the blocks have, the one that ends first with this cap.
TransferOrder best_transfer_order(std::span<const TransferBlock> blocks, uint64_t cap);

}  // namespace basalt::exec
