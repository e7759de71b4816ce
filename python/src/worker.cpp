#include "worker.h"

#include <pthread.h>

#include <thread>
#include <vector>

namespace pybasalt {

void Job::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return done_; });
}

bool Job::wait_for(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, pause, [&] { return done_; });
}

void Job::run() noexcept {
  try {
    work_();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Job::end() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  ended_.notify_all();
}

class Worker {
 public:
  Worker() {
    std::thread([this] { serve(); }).detach();
  }

  void give(std::shared_ptr<Job> job) {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    wanted_.notify_one();
  }

  static Worker& idle_or_new() {
    {
      const std::lock_guard lock(idle().mutex);
      if (!idle().workers.empty()) {
        Worker* worker = idle().workers.back();
        idle().workers.pop_back();
        return *worker;
      }
    }
    return *new Worker();
  }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<Worker*> workers;
  };

  // Never destroyed: workers wait in it while the process ends.
  static Idle& idle() {
    static Idle* current = new Idle();
    static const int forks = pthread_atfork(nullptr, nullptr, [] { current = new Idle(); });
    (void)forks;
    return *current;
  }

  [[noreturn]] void serve() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wanted_.wait(lock, [&] { return job_ != nullptr; });
        job = std::move(job_);
      }
      job->run();
      // Before it is told: whoever waits may have more work at once.
      {
        const std::lock_guard lock(idle().mutex);
        idle().workers.push_back(this);
      }
      job->end();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::shared_ptr<Job> job_;
};

std::shared_ptr<Job> start_job(std::function<void()> work) {
  auto job = std::make_shared<Job>(std::move(work));
  Worker::idle_or_new().give(job);
  return job;
}

}  // namespace pybasalt
