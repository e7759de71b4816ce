// Rows of a statement as they are found. A session runs one statement at a time: before the next one begins, what is
// left of these is fetched into memory, so that neither has to wait for the other.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "arrow.h"
#include "basalt/sql/session.h"

namespace pybasalt {

class StreamedRows {
 public:
  // Made by this: one that ends waits for threads, which may want the interpreter's lock.
  static std::shared_ptr<StreamedRows> make(std::shared_ptr<basalt::Session> session,
                                            std::shared_ptr<ArrowArrayStream> rows);

  // The next batch, nullptr at the end. In any thread.
  std::shared_ptr<const ArrowArray> next();
  // Fetches what is left: the session is another statement's then. What fails is thrown by next().
  void settle();
  // Stops the statement. In any thread, also while another one fetches.
  void cancel();

 private:
  StreamedRows(std::shared_ptr<basalt::Session> session, std::shared_ptr<ArrowArrayStream> rows)
      : session_(std::move(session)), rows_(std::move(rows)) {}
  std::shared_ptr<const ArrowArray> fetch();

  std::shared_ptr<basalt::Session> session_;
  std::atomic<bool> running_ = true;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<ArrowArrayStream> rows_;
  std::deque<std::shared_ptr<const ArrowArray>> fetched_;
  std::exception_ptr failure_;
};

}  // namespace pybasalt
