// Drawing the progress bar, and turning Ctrl-C and its like into a call.
#include "cli/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iterator>

#include "basalt/core/error.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

constexpr auto kFirstDraw = std::chrono::milliseconds(300);  // short work shows no bar at all
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kBarCells = 24;

std::string bar(double share) {
  std::string out;
  const double filled = share * kBarCells;
  for (int i = 0; i < kBarCells; ++i) out += i + 1 <= filled ? "█" : i < filled ? "▌" : "░";
  return out;
}

int interrupt_pipe = -1;
volatile sig_atomic_t signal_to_end = 0;
volatile sig_atomic_t interrupts = 0;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction previous_actions[std::size(kSignals)];

void on_signal(int number) {
  if (number == SIGINT) {
    interrupts = 1;
  } else {
    signal_to_end = number;
  }
  const char byte = 'c';
  // A full pipe means that an earlier Ctrl-C is still waiting: nothing is lost.
  [[maybe_unused]] const ssize_t put = ::write(interrupt_pipe, &byte, 1);
}

}  // namespace

ProgressBar::ProgressBar(std::string label, bool quiet, uint64_t total_bytes_in, std::function<double()> share)
    : label_(printable(label)), total_bytes_in_(total_bytes_in), share_(std::move(share)) {
  if (!quiet && is_terminal(STDERR_FILENO)) thread_ = std::thread([this] { work(); });
}

ProgressBar::~ProgressBar() { stop(); }

void ProgressBar::update(const WriteProgress& progress) {
  rows_ = progress.rows;
  plain_bytes_ = progress.plain_bytes;
  written_bytes_ = progress.written_bytes;
}

void ProgressBar::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::work() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, kFirstDraw, [&] { return stopping_; })) return;
  do {
    draw(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  } while (!wake_.wait_for(lock, kRedraw, [&] { return stopping_; }));
}

void ProgressBar::draw(double seconds) {
  // Whoever says that all is done while work goes on does not know.
  double share = share_ ? share_() : -1;
  if (share >= 1) share = -1;
  const uint64_t rows = rows_;
  const uint64_t bytes_in = total_bytes_in_ > 0 && share >= 0
                                ? static_cast<uint64_t>(share * static_cast<double>(total_bytes_in_))
                                : plain_bytes_.load();
  std::string line = label_;
  if (share >= 0) line += fmt::format(" {} {:3.0f} %", bar(share), share * 100);
  if (rows > 0)
    line += fmt::format(" · {} rows/s · {} in · {} out", human_rate(static_cast<double>(rows) / seconds),
                        human_bytes(bytes_in), human_bytes(written_bytes_));
  if (share > 0.01)
    line += fmt::format(" · {} left", human_seconds(seconds * (1 - share) / share));
  else
    line += fmt::format("{}{}", line.empty() ? "" : " · ", human_seconds(seconds));
  std::fputs(("\r" + line + "\033[K").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

int ending_signal() { return signal_to_end; }
bool was_interrupted() { return interrupts != 0; }

InterruptGuard::InterruptGuard(std::function<void()> on_interrupt) {
  // It came when there was nothing left to stop.
  if (signal_to_end != 0) throw Error(ErrorCode::kCancelled, "asked to end by a signal");
  if (::pipe2(pipe_, O_CLOEXEC) != 0) throw Error(ErrorCode::kIo, "cannot create a pipe for signals");
  ::fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
  interrupt_pipe = pipe_[1];
  thread_ = std::thread([read_end = pipe_[0], on_interrupt = std::move(on_interrupt)] {
    char byte;
    while (::read(read_end, &byte, 1) == 1 && byte == 'c') on_interrupt();
  });
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &action, &previous_actions[i]);
    // What nohup lets pass by does so here as well.
    const bool ignored = previous_actions[i].sa_handler == SIG_IGN;
    if (ignored && kSignals[i] != SIGINT) ::sigaction(kSignals[i], &previous_actions[i], nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &previous_actions[i], nullptr);
  const char byte = 'q';
  ::fcntl(pipe_[1], F_SETFL, 0);
  [[maybe_unused]] const ssize_t put = ::write(pipe_[1], &byte, 1);
  thread_.join();
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

}  // namespace basalt::cli
