// Work without the interpreter's lock that Ctrl-C can stop.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <type_traits>

namespace pybasalt {

namespace nb = nanobind;

struct Watch {
  std::function<void()> cancel;  // makes the work end soon, with an error
  std::function<void()> tick;    // now and then meanwhile, with the interpreter's lock; may raise
};

// Signals reach Python in its main thread only: that one waits, while another one works.
inline bool in_main_thread() { return ::getpid() == ::gettid(); }

// Ends something that waits for threads which may want the interpreter's lock.
template <typename Work>
void run_unlocked(const Work& work) {
  if (PyGILState_Check() == 0) return work();
  const nb::gil_scoped_release released;
  work();
}

template <typename Work>
auto run_watched(const Work& work, const Watch& watch) -> std::invoke_result_t<Work> {
  constexpr std::chrono::milliseconds kPause(25);
  if (!in_main_thread() && !watch.tick) {
    const nb::gil_scoped_release released;
    return work();
  }
  std::future<std::invoke_result_t<Work>> result;
  {
    const nb::gil_scoped_release released;
    result = std::async(std::launch::async, work);
    if (result.wait_for(kPause) == std::future_status::ready) return result.get();
  }
  // Raised only once the work has ended: it refers to what the caller holds.
  const auto stop = [&] {
    if (watch.cancel) watch.cancel();
    const nb::gil_scoped_release released;
    result.wait();
  };
  for (;;) {
    if (PyErr_CheckSignals() != 0) {
      nb::python_error raised;
      stop();
      throw raised;
    }
    if (watch.tick) {
      try {
        watch.tick();
      } catch (...) {
        stop();
        throw;
      }
    }
    const nb::gil_scoped_release released;
    if (result.wait_for(kPause) == std::future_status::ready) return result.get();
  }
}

}  // namespace pybasalt
