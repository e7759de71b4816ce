#include "streamed_rows.h"

#include <utility>

#include "work.h"

namespace pybasalt {

std::shared_ptr<StreamedRows> StreamedRows::make(std::shared_ptr<basalt::Session> session,
                                                 std::shared_ptr<ArrowArrayStream> rows) {
  // A forked process has none of the threads: there it is left as it is.
  const auto end = [process = Process()](StreamedRows* held) {
    if (process.is_ours()) run_unlocked([&] { delete held; });
  };
  return {new StreamedRows(std::move(session), std::move(rows)), end};
}

std::shared_ptr<const ArrowArray> StreamedRows::fetch() {
  try {
    // What fails behind the first rows is almost always a value: a cast, a division.
    if (auto batch = next_array(*rows_, basalt::ErrorCode::kInvalidArgument)) return batch;
  } catch (...) {
    running_ = false;
    rows_.reset();
    throw;
  }
  running_ = false;
  rows_.reset();
  return nullptr;
}

std::shared_ptr<const ArrowArray> StreamedRows::next() {
  const std::lock_guard lock(mutex_);
  if (!fetched_.empty()) {
    auto batch = std::move(fetched_.front());
    fetched_.pop_front();
    return batch;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return rows_ == nullptr ? nullptr : fetch();
}

void StreamedRows::settle() {
  const std::lock_guard lock(mutex_);
  try {
    while (rows_ != nullptr) {
      if (auto batch = fetch()) fetched_.push_back(std::move(batch));
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void StreamedRows::cancel() {
  if (running_) session_->interrupt();
}

}  // namespace pybasalt
