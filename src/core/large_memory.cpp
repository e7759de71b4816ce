#include "core/large_memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace basalt {

namespace {

constexpr size_t kUsuallyWaiting = size_t{64} << 20;
constexpr size_t kMostBlocks = kUsuallyWaiting / kLargePage;
constexpr size_t kAnyPage = 64 << 10;  // a multiple of the small pages of all systems

// As far as `multiple`; the same where there is no such number.
size_t rounded_up(size_t bytes, size_t multiple) {
  const size_t missing = (multiple - bytes % multiple) % multiple;
  return bytes <= SIZE_MAX - missing ? bytes + missing : bytes;
}

struct Block {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// Takes no memory itself: blocks are given back where there is none.
class WaitingBlocks {
 public:
  // Never goes: others may give blocks back until the process ends. A child begins with none, and with no lock that a
  // thread of its parent has.
  static WaitingBlocks& all() {
    static auto* const blocks = new WaitingBlocks;
    static const int forks = pthread_atfork(nullptr, nullptr, [] { std::construct_at(blocks); });
    (void)forks;
    return *blocks;
  }

  std::byte* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (size_t i = count_; i-- > 0;) {
      if (blocks_[i].bytes == bytes) return remove(i).data;
    }
    return nullptr;
  }

  void give_back(Block block) noexcept {
    const std::lock_guard lock(mutex_);
    if (block.bytes > most_) return unmap(block);
    while (count_ == kMostBlocks || bytes_ + block.bytes > most_) unmap(remove(0));
    blocks_[count_++] = block;
    bytes_ += block.bytes;
  }

  size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  void set_most(size_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
    while (bytes_ > most_) unmap(remove(0));
  }

  void give_up() {
    const std::lock_guard lock(mutex_);
    while (count_ > 0) unmap(remove(0));
  }

 private:
  static void unmap(Block block) noexcept { munmap(block.data, block.bytes); }

  Block remove(size_t place) noexcept {
    const Block block = blocks_[place];
    std::move(blocks_.begin() + place + 1, blocks_.begin() + count_, blocks_.begin() + place);
    --count_;
    bytes_ -= block.bytes;
    return block;
  }

  std::mutex mutex_;
  std::array<Block, kMostBlocks> blocks_;  // the newest last
  size_t count_ = 0;
  size_t bytes_ = 0;
  size_t most_ = kUsuallyWaiting;
};

std::byte* map(size_t bytes) {
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

}  // namespace

size_t large_size(size_t bytes) {
  const size_t whole = rounded_up(bytes, kLargePage);
  if (whole - bytes <= bytes / 8) return whole;
  return bytes < kLargePage ? bytes : rounded_up(bytes, kAnyPage);
}

std::byte* take_large(size_t bytes) {
  if (std::byte* const waiting = WaitingBlocks::all().take(bytes)) return waiting;
  if (std::byte* const mapped = map(bytes)) return mapped;
  give_up_waiting();
  return map(bytes);
}

void give_back_large(std::byte* data, size_t bytes) noexcept { WaitingBlocks::all().give_back({data, bytes}); }

size_t waiting_bytes() { return WaitingBlocks::all().bytes(); }
void set_most_waiting(size_t bytes) { WaitingBlocks::all().set_most(bytes); }
void give_up_waiting() { WaitingBlocks::all().give_up(); }

}  // namespace basalt
