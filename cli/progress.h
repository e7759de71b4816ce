// A progress bar on stderr for long work, drawn by its own thread so that a phase without news (sorting, say) still
// shows that time passes. Silent unless stderr is a terminal. Also: Ctrl-C as a callback.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "basalt/file/writer.h"

namespace basalt::cli {

class ProgressBar {
 public:
  // `share`: how much is done, 0..1, negative if unknown; called from the drawing thread. `total_bytes_in`: 0 =
  // unknown.
  ProgressBar(std::string label, bool quiet, uint64_t total_bytes_in, std::function<double()> share);
  ~ProgressBar();  // wipes the bar
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const WriteProgress& progress);
  void stop();

 private:
  void draw(double seconds);
  void work();

  std::string label_;
  uint64_t total_bytes_in_;
  std::function<double()> share_;
  std::atomic<uint64_t> rows_{0}, plain_bytes_{0}, written_bytes_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

// While it lives, Ctrl-C, SIGTERM and SIGHUP call `on_interrupt` (from a thread, not from the signal handler) instead
// of ending the program at once, so that what it has put aside is removed. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(std::function<void()> on_interrupt);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  int pipe_[2] = {-1, -1};
  std::thread thread_;
};

// SIGTERM or SIGHUP, if such a signal came under a guard: the program has to end with 128 + its number. Else 0.
int ending_signal();
// Whether Ctrl-C came under a guard.
bool was_interrupted();

}  // namespace basalt::cli
