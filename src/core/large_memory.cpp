#include "core/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>

namespace basalt {

namespace {

constexpr size_t kMostWaiting = size_t{64} << 20;
constexpr size_t kAnyPage = 64 << 10;  // a multiple of the small pages of all systems

// As far as `multiple`; the same where there is no such number.
size_t rounded_up(size_t bytes, size_t multiple) {
  const size_t missing = (multiple - bytes % multiple) % multiple;
  return bytes <= SIZE_MAX - missing ? bytes + missing : bytes;
}

struct Block {
  std::byte* data;
  size_t bytes;
};

class WaitingBlocks {
 public:
  // Never goes: others may give blocks back until the process ends.
  static WaitingBlocks& all() {
    static auto* const blocks = new WaitingBlocks;
    return *blocks;
  }

  std::byte* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(blocks_, bytes, &Block::bytes);
    if (found == blocks_.end()) return nullptr;
    std::byte* const data = found->data;
    bytes_ -= bytes;
    blocks_.erase(found);
    return data;
  }

  // The newest is asked for first, the oldest goes where there are too many.
  void give_back(Block block) {
    std::deque<Block> leaving;
    {
      const std::lock_guard lock(mutex_);
      blocks_.push_front(block);
      bytes_ += block.bytes;
      while (bytes_ > kMostWaiting) {
        leaving.push_back(blocks_.back());
        bytes_ -= blocks_.back().bytes;
        blocks_.pop_back();
      }
    }
    for (const Block& one : leaving) munmap(one.data, one.bytes);
  }

  size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  std::mutex mutex_;
  std::deque<Block> blocks_;
  size_t bytes_ = 0;
};

}  // namespace

size_t large_size(size_t bytes) {
  const size_t whole = rounded_up(bytes, kLargePage);
  if (whole - bytes <= bytes / 8) return whole;
  return bytes < kLargePage ? bytes : rounded_up(bytes, kAnyPage);
}

std::byte* take_large(size_t bytes) {
  if (std::byte* const waiting = WaitingBlocks::all().take(bytes)) return waiting;
  if (bytes > SIZE_MAX - kLargePage) return nullptr;
  void* const mapped = mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t before = (kLargePage - reinterpret_cast<uintptr_t>(mapped) % kLargePage) % kLargePage;
  const size_t behind = kLargePage - before;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, behind);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish
  return begin + before;
}

size_t waiting_bytes() { return WaitingBlocks::all().bytes(); }

void give_back_large(std::byte* data, size_t bytes) { WaitingBlocks::all().give_back({data, bytes}); }

}  // namespace basalt
