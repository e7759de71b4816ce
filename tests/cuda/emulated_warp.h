// Device code on the CPU, one block at a time: threads are fibers that take turns, each running until it needs the
// others. Slow, but it runs the very headers that kernels are made of where there is no GPU. Include it after
// everything that is not device code and before everything that is.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cuda/fiber.h"

namespace basalt::test {

class EmulatedBlock {
 public:
  static constexpr uint32_t kLanes = 32;

  // Runs body() once per thread, to its end.
  static void run(uint32_t threads, const std::function<void()>& body) {
    EmulatedBlock block(threads, body);
    current_ = &block;
    while (block.finished_ < threads) block.advance();
    current_ = nullptr;
  }

  static uint32_t thread() { return current_ == nullptr ? 0 : current_->thread_; }
  static uint32_t lane() { return thread() % kLanes; }
  static uint32_t threads() { return current_ == nullptr ? kLanes : static_cast<uint32_t>(current_->threads_.size()); }

  // Every lane of a warp gives a value and sees those of all.
  static const std::array<uint64_t, kLanes>& exchange(uint64_t value) {
    EmulatedBlock& block = *current_;
    Thread& own = block.threads_[block.thread_];
    auto& round = block.warps_[block.thread_ / kLanes].rounds[own.round];
    own.round ^= 1;
    round[block.thread_ % kLanes] = value;
    block.leave(own, false);
    return round;
  }
  // Every thread of the block arrives.
  static void barrier() { current_->leave(current_->threads_[current_->thread_], true); }

 private:
  struct Thread {
    Fiber fiber{&EmulatedBlock::enter};
    uint32_t round = 0;
    bool done = false;
    bool at_barrier = false;
  };
  struct Warp {
    // Two rounds: a lane that is first in the next one must not write over what others have yet to read.
    std::array<std::array<uint64_t, kLanes>, 2> rounds{};
    bool waits = false;  // at a barrier, for other warps
  };

  EmulatedBlock(uint32_t threads, const std::function<void()>& body)
      : body_(body), threads_(threads), warps_(threads / kLanes) {}

  static void enter() {
    EmulatedBlock& block = *current_;
    block.body_();
    Thread& own = block.threads_[block.thread_];
    own.done = true;
    ++block.finished_;
    own.fiber.leave_for_good(block.home_);
  }
  // On to the next lane, or home after the last.
  void leave(Thread& own, bool at_barrier) {
    own.at_barrier = at_barrier;
    const bool last = thread_ % kLanes == kLanes - 1 || threads_[thread_ + 1].done;
    if (!last) ++thread_;
    own.fiber.switch_to(last ? home_ : threads_[thread_].fiber);
  }

  // Each warp that need not wait runs to its next exchange, its next barrier or its end.
  void advance() {
    bool moved = false;
    for (uint32_t w = 0; w < warps_.size(); ++w) {
      const uint32_t first = w * kLanes;
      if (warps_[w].waits || threads_[first].done) continue;
      moved = true;
      for (thread_ = first; thread_ < first + kLanes; ++thread_) {
        if (threads_[thread_].done) throw std::logic_error("some lanes ended while others waited for them");
        home_.switch_to(threads_[thread_].fiber);
      }
      for (uint32_t i = first; i < first + kLanes; ++i) {
        if (threads_[i].done != threads_[first].done || threads_[i].at_barrier != threads_[first].at_barrier) {
          throw std::logic_error("lanes went different ways");
        }
      }
      warps_[w].waits = !threads_[first].done && threads_[first].at_barrier;
    }
    if (moved) return;
    if (finished_ != 0) throw std::logic_error("some warps ended while others waited for them");
    for (Warp& warp : warps_) warp.waits = false;
  }

  inline static EmulatedBlock* current_ = nullptr;
  const std::function<void()>& body_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Fiber home_;
  uint32_t thread_ = 0;
  uint32_t finished_ = 0;
};

// A block of one warp.
class EmulatedWarp {
 public:
  static void run(const std::function<void()>& body) { EmulatedBlock::run(EmulatedBlock::kLanes, body); }
  static uint32_t lane() { return EmulatedBlock::lane(); }
  static const std::array<uint64_t, EmulatedBlock::kLanes>& exchange(uint64_t value) {
    return EmulatedBlock::exchange(value);
  }
};

struct EmulatedIndex {
  struct Thread {
    operator uint32_t() const { return EmulatedBlock::thread(); }
  } x;
};
struct EmulatedThreads {
  struct Count {
    operator uint32_t() const { return EmulatedBlock::threads(); }
  } x;
};
struct EmulatedSize {
  uint32_t x;
  uint32_t y;
};

}  // namespace basalt::test

struct ulonglong2 {
  unsigned long long x;
  unsigned long long y;
};

inline constexpr basalt::test::EmulatedIndex threadIdx;
inline constexpr basalt::test::EmulatedSize blockIdx{0, 0};
inline constexpr basalt::test::EmulatedThreads blockDim;
inline constexpr basalt::test::EmulatedSize gridDim{1, 1};

inline void __syncwarp(uint32_t) { basalt::test::EmulatedWarp::exchange(0); }
inline void __syncthreads() { basalt::test::EmulatedBlock::barrier(); }
template <typename T>
T emulated_shuffle(T value, uint32_t from) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  bits = basalt::test::EmulatedWarp::exchange(bits)[from];
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
template <typename T>
T __shfl_sync(uint32_t, T value, int from) {
  return emulated_shuffle(value, static_cast<uint32_t>(from) % 32);
}
template <typename T>
T __shfl_up_sync(uint32_t, T value, uint32_t distance) {
  const uint32_t lane = basalt::test::EmulatedWarp::lane();
  return emulated_shuffle(value, lane < distance ? lane : lane - distance);
}
template <typename T>
T __shfl_xor_sync(uint32_t, T value, int distance) {
  return emulated_shuffle(value, basalt::test::EmulatedWarp::lane() ^ static_cast<uint32_t>(distance));
}
inline uint32_t __ballot_sync(uint32_t, bool value) {
  uint32_t bits = 0;
  const auto& all = basalt::test::EmulatedWarp::exchange(value ? 1 : 0);
  for (uint32_t lane = 0; lane < 32; ++lane) bits |= static_cast<uint32_t>(all[lane]) << lane;
  return bits;
}
inline uint32_t __match_any_sync(uint32_t, uint32_t value) {
  uint32_t bits = 0;
  const auto& all = basalt::test::EmulatedWarp::exchange(value);
  for (uint32_t lane = 0; lane < 32; ++lane) bits |= (all[lane] == value ? 1u : 0u) << lane;
  return bits;
}
inline int __any_sync(uint32_t mask, bool value) { return __ballot_sync(mask, value) != 0 ? 1 : 0; }
inline int __syncthreads_or(int value) { return __any_sync(0, value != 0); }
// Threads of a block take turns only where they wait for each other; tests may call device code from real threads, too.
template <typename T>
T atomicCAS(T* to, T expected, T value) {
  std::atomic_ref<T>(*to).compare_exchange_strong(expected, value);
  return expected;
}
template <typename T>
T atomicExch(T* to, T value) {
  return std::atomic_ref<T>(*to).exchange(value);
}
template <typename T, typename Change>
T emulated_atomic(T* to, const Change& change) {
  T before = std::atomic_ref<T>(*to).load();
  while (!std::atomic_ref<T>(*to).compare_exchange_weak(before, change(before))) {
  }
  return before;
}
template <typename T>
T atomicAdd(T* to, T value) {
  return emulated_atomic(to, [&](T before) { return static_cast<T>(before + value); });
}
template <typename T>
T atomicMax(T* to, T value) {
  return emulated_atomic(to, [&](T before) { return before < value ? value : before; });
}
template <typename T>
T atomicMin(T* to, T value) {
  return emulated_atomic(to, [&](T before) { return value < before ? value : before; });
}
template <typename T>
T atomicOr(T* to, T value) {
  return emulated_atomic(to, [&](T before) { return before | value; });
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline int __popc(uint32_t bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<uint32_t>(bits)); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<uint32_t>(bits)) + 1; }
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> (shift % 32));
}
inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) << (shift % 32) >> 32);
}
template <typename T>
T __ldg(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));  // streams of tests may begin anywhere
  return value;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline int __double2loint(double value) { return static_cast<int>(std::bit_cast<uint64_t>(value)); }
// Rounded down; numbers beyond the type become its ends, as on the device.
template <typename Integer>
Integer floored(double value) {
  constexpr double kBeyond = -2.0 * static_cast<double>(std::numeric_limits<Integer>::min() / 2);
  if (!(value >= -kBeyond)) return std::numeric_limits<Integer>::min();
  return value >= kBeyond ? std::numeric_limits<Integer>::max() : static_cast<Integer>(std::floor(value));
}
inline int __double2int_rd(double value) { return floored<int>(value); }
inline long long __double2ll_rd(double value) { return floored<long long>(value); }
// Rounds down, for sums of a number and a larger one whose last bit is worth 1.
inline double __dadd_rd(double value, double whole) { return std::floor(value) + whole; }

#define __device__
#define __global__
#define __shared__ thread_local
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
