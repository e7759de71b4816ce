// Work without the interpreter's lock that Ctrl-C can stop.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "worker.h"

namespace pybasalt {

namespace nb = nanobind;

struct Watch {
  std::function<void()> cancel;  // makes the work end soon, with an error
  std::function<void()> tick;    // now and then meanwhile, with the interpreter's lock; may raise
};

// The process that something was made in: one forked from it has none of its threads.
class Process {
 public:
  bool is_ours() const { return ::getpid() == made_in_; }

 private:
  pid_t made_in_ = ::getpid();
};

// The end of the interpreter. A thread that asks for its lock from then on is ended where it stands, and the process
// with it where that is in a destructor: what such a thread wanted to let go of is left.
class InterpreterEnd {
 public:
  // Once for each module of the package.
  static void watch() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(&come)); }
  // Calls this with the interpreter's lock; false where it is too late for that.
  template <typename LetGo>
  static bool unless_come(const LetGo& let_go) {
    if (PyGILState_Check() != 0) {
      let_go();
      return true;
    }
    const std::lock_guard lock(mutex());
    if (ended()) return false;
    const nb::gil_scoped_acquire acquired;
    let_go();
    return true;
  }

 private:
  // Before the interpreter ends, with its lock; waits for those who are letting go.
  static void come() {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex());
    ended() = true;
  }
  static std::mutex& mutex() {
    static auto* one = new std::mutex;  // threads may be left when static objects go
    return *one;
  }
  static bool& ended() {
    static bool one = false;
    return one;
  }
};

// The same object, to be held by threads that may outlive the interpreter: Python's owner is let go of by whoever is
// last, unless that is too late.
template <typename T>
std::shared_ptr<T> outlasting(std::shared_ptr<T> given) {
  auto* held = new std::shared_ptr<T>(std::move(given));
  return {held->get(), [held](T*) { InterpreterEnd::unless_come([&] { delete held; }); }};
}

// What was raised, without the way it came. With the interpreter's lock.
inline std::string sentence_of(const nb::python_error& error) {
  const nb::str type(error.type().attr("__name__"));
  const nb::str text(error.value());
  return nb::len(text) == 0 ? type.c_str() : std::string(type.c_str()) + ": " + text.c_str();
}

// The same about a file. Errors of the package name it themselves.
inline std::string sentence_about(const std::string& name, const nb::python_error& error) {
  const bool is_ours = nb::isinstance(error.value(), nb::module_::import_("pybasalt._errors").attr("Error"));
  return is_ours ? nb::str(error.value()).c_str() : name + ": " + sentence_of(error);
}

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
  std::optional<std::invoke_result_t<Work>> result;
  std::shared_ptr<Job> job;
  const auto take_result = [&] {
    job->rethrow();
    return std::move(*result);
  };
  {
    const nb::gil_scoped_release released;
    job = start_job([&] { result.emplace(work()); });
    if (job->wait_for(kPause)) return take_result();
  }
  // Raised only once the work has ended: it refers to what the caller holds.
  const auto stop = [&] {
    if (watch.cancel) watch.cancel();
    const nb::gil_scoped_release released;
    job->wait();
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
    if (job->wait_for(kPause)) return take_result();
  }
}

}  // namespace pybasalt
