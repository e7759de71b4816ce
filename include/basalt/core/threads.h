// A fixed pool of worker threads with first-in-first-out order, and a parallel loop over indices. No global pool:
// owners create one with the number of threads the user asked for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace basalt {

// Cooperative cancellation, shared between the caller and the workers.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void check() const;  // throws Error(kCancelled)

 private:
  std::atomic<bool> cancelled_{false};
};

class ThreadPool {
 public:
  explicit ThreadPool(uint32_t threads);  // 0 = all cores
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(workers_.size()); }
  void submit(std::function<void()> task);

  // Runs body(i) for i in [0, count) on size() threads, of which the calling one is one; returns when all are done. The
  // exception of the smallest failing index is thrown again.
  void parallel_for(uint64_t count, const std::function<void(uint64_t)>& body);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

uint32_t hardware_threads();

}  // namespace basalt
