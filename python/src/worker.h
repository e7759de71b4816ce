// Threads that wait for work. One that is made for each statement starts behind all others on a busy machine: 3.6 ms
// instead of 0.35 for a statement of 0.28 ms, on two cores at load 5.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace pybasalt {

class Job {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}

  void wait();
  // Whether it has ended.
  bool wait_for(std::chrono::milliseconds pause);
  // What it threw, once it has ended.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  friend class Worker;
  void run() noexcept;
  void end();

  std::function<void()> work_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

// Begins it in a thread of its own. Forked processes have none of the threads that waited, and make others.
std::shared_ptr<Job> start_job(std::function<void()> work);

}  // namespace pybasalt
