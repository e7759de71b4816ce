// Keeps what several threads hold at the same time below a limit: who would exceed it waits until others are done, and
// who needs more than the limit by itself is told so.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "basalt/codec/codec.h"
#include "basalt/core/threads.h"

namespace basalt {

class MemoryGate {
 public:
  explicit MemoryGate(uint64_t limit) : limit_(limit) {}

  // What was let in; leaves when it is destroyed.
  class Pass {
   public:
    Pass(MemoryGate& gate, uint64_t bytes) : gate_(&gate), bytes_(bytes) {}
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), bytes_(other.bytes_) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave(bytes_);
    }

   private:
    MemoryGate* gate_;
    uint64_t bytes_;
  };

  // Bytes that are stored in full do not count. A thread holds one pass at a time, so that nobody waits for himself.
  // Throws Error(kOutOfMemory) where the limit can never be kept, and Error(kCancelled) as soon as `cancel` says so.
  Pass enter(uint64_t decoded, uint64_t stored, const CancelToken* cancel = nullptr) {
    const uint64_t bytes = decoded - (decoded < stored ? decoded : stored);
    if (bytes > limit_) fail_decoded_limit(decoded, limit_ + stored);
    std::unique_lock lock(mutex_);
    // Nobody wakes a waiter when the token changes.
    while (!changed_.wait_for(lock, kLook, [&] { return bytes <= limit_ - held_; })) {
      if (cancel != nullptr) cancel->check();
    }
    held_ += bytes;
    return {*this, bytes};
  }

 private:
  static constexpr std::chrono::milliseconds kLook{50};

  void leave(uint64_t bytes) {
    {
      std::lock_guard lock(mutex_);
      held_ -= bytes;
    }
    changed_.notify_all();
  }

  uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t held_ = 0;
};

}  // namespace basalt
