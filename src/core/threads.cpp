// The thread pool and its parallel loop.
#include "basalt/core/threads.h"

#include <algorithm>
#include <memory>
#include <system_error>

#include "basalt/core/error.h"

namespace basalt {

uint32_t hardware_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

void CancelToken::check() const {
  if (cancelled()) throw Error(ErrorCode::kCancelled, "the operation was cancelled");
}

namespace {

void join_all(std::mutex& mutex, bool& stopping, std::condition_variable& ready, std::vector<std::thread>& workers) {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  ready.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) {
  const uint32_t count = threads == 0 ? hardware_threads() : threads;
  workers_.reserve(count);
  try {
    for (uint32_t i = 0; i < count; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    join_all(mutex_, stopping_, ready_, workers_);  // threads that nobody joins would end the program
    throw Error(ErrorCode::kOutOfMemory, "of " + std::to_string(count) + " threads, the system starts only " +
                                             std::to_string(workers_.size()) + ": " + error.what());
  }
}

ThreadPool::~ThreadPool() { join_all(mutex_, stopping_, ready_, workers_); }

void ThreadPool::submit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  ready_.notify_one();
}

void ThreadPool::work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

namespace {

// Shared by the helpers of one loop; outlives the loop in helpers that start too late to find work.
struct LoopState {
  explicit LoopState(uint64_t loop_count) : count(loop_count), failed_index(loop_count) {}

  void run(const std::function<void(uint64_t)>& body) {
    for (;;) {
      const uint64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      bool skip = false;
      {
        std::lock_guard lock(mutex);
        skip = failed_index < i;
      }
      if (!skip) {
        try {
          body(i);
        } catch (...) {
          std::lock_guard lock(mutex);
          if (i < failed_index) {
            failed_index = i;
            error = std::current_exception();
          }
        }
      }
      std::lock_guard lock(mutex);
      if (++finished == count) done.notify_all();
    }
  }

  const uint64_t count;
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::condition_variable done;
  uint64_t finished = 0;
  uint64_t failed_index;
  std::exception_ptr error;
};

}  // namespace

void ThreadPool::parallel_for(uint64_t count, const std::function<void(uint64_t)>& body) {
  if (count == 0) return;
  auto state = std::make_shared<LoopState>(count);
  const uint64_t helpers = std::min<uint64_t>(count - 1, size() > 0 ? size() - 1 : 0);
  // `body` is only called for claimed indices, all of which finish before this function returns, so that late helpers
  // never touch it.
  for (uint64_t i = 0; i < helpers; ++i) submit([state, &body] { state->run(body); });
  state->run(body);
  std::unique_lock lock(state->mutex);
  state->done.wait(lock, [&] { return state->finished == count; });
  if (state->error) std::rethrow_exception(state->error);
}

}  // namespace basalt
