// Device code on the CPU, one warp at a time: lanes are fibers that take turns, each running until it needs the others.
// Slow, but it runs the very headers that kernels are made of where there is no GPU. Include it after everything that
// is not device code and before everything that is.
#pragma once

#include <ucontext.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace basalt::test {

class EmulatedWarp {
 public:
  static constexpr uint32_t kCount = 32;

  // Runs body() once per lane, to its end.
  static void run(const std::function<void()>& body) {
    EmulatedWarp warp(body);
    for (uint32_t i = 0; i < kCount; ++i) warp.prepare(i);
    current_ = &warp;
    while (warp.finished_ < kCount) {
      for (warp.lane_ = 0; warp.lane_ < kCount; ++warp.lane_) {
        if (warp.lanes_[warp.lane_].done) throw std::logic_error("some lanes ended while others waited for them");
        swapcontext(&warp.home_, &warp.lanes_[warp.lane_].context);
      }
      if (warp.finished_ != 0 && warp.finished_ != kCount) throw std::logic_error("lanes went different ways");
    }
    current_ = nullptr;
  }

  static uint32_t lane() { return current_ == nullptr ? 0 : current_->lane_; }

  // Every lane gives a value and sees those of all.
  static const std::array<uint64_t, kCount>& exchange(uint64_t value) {
    EmulatedWarp& warp = *current_;
    Lane& own = warp.lanes_[warp.lane_];
    auto& round = warp.rounds_[own.round];
    own.round ^= 1;
    round[warp.lane_] = value;
    swapcontext(&own.context, &warp.home_);
    return round;
  }

 private:
  static constexpr size_t kStackBytes = 256 << 10;
  struct Lane {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    uint32_t round = 0;
    bool done = false;
  };

  explicit EmulatedWarp(const std::function<void()>& body) : body_(body), lanes_(kCount) {}

  void prepare(uint32_t i) {
    Lane& lane = lanes_[i];
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = kStackBytes;
    lane.context.uc_link = &home_;
    makecontext(&lane.context, &EmulatedWarp::enter, 0);
  }
  static void enter() {
    EmulatedWarp& warp = *current_;
    warp.body_();
    warp.lanes_[warp.lane_].done = true;
    ++warp.finished_;
  }

  inline static EmulatedWarp* current_ = nullptr;
  const std::function<void()>& body_;
  std::vector<Lane> lanes_;
  ucontext_t home_{};
  // Two rounds: a lane that is first in the next one must not write over what others have yet to read.
  std::array<std::array<uint64_t, kCount>, 2> rounds_{};
  uint32_t lane_ = 0;
  uint32_t finished_ = 0;
};

struct EmulatedIndex {
  struct Lane {
    operator uint32_t() const { return EmulatedWarp::lane(); }
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
inline constexpr basalt::test::EmulatedSize blockDim{32, 1};
inline constexpr basalt::test::EmulatedSize gridDim{1, 1};

inline void __syncwarp(uint32_t) { basalt::test::EmulatedWarp::exchange(0); }
inline void __syncthreads() { basalt::test::EmulatedWarp::exchange(0); }
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
inline int __any_sync(uint32_t mask, bool value) { return __ballot_sync(mask, value) != 0 ? 1 : 0; }
inline int __syncthreads_or(int value) { return __any_sync(0, value != 0); }
inline int __popc(uint32_t bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<uint32_t>(bits)) + 1; }
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> (shift % 32));
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

#define __device__
#define __global__
#define __shared__ thread_local
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
