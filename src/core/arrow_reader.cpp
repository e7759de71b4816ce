// Arrow streams in: see the header.
#include "core/arrow_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "basalt/core/error.h"

namespace basalt {
namespace arrow {
namespace {

// Releases an Arrow structure that a callback has filled.
template <typename Released>
struct ReleaseGuard {
  Released& value;
  ~ReleaseGuard() {
    if (value.release != nullptr) value.release(&value);
  }
};

// Rows of more than this many bytes that come from dictionaries are given out in pieces.
constexpr uint64_t kMostExpanded = 64 << 20;

}  // namespace

StreamReader::StreamReader(ArrowArrayStream* stream, std::string name, Notices* notices)
    : stream_(*stream), name_(std::move(name)) {
  stream->release = nullptr;
  try {
    check(stream_.get_schema(&stream_, &arrow_schema_));
    schema_ = import_schema(arrow_schema_, notices);
  } catch (...) {
    ReleaseGuard<ArrowSchema>{arrow_schema_};
    ReleaseGuard<ArrowArrayStream>{stream_};
    throw;
  }
}

StreamReader::~StreamReader() {
  ReleaseGuard<ArrowArray>{batch_};
  ReleaseGuard<ArrowSchema>{arrow_schema_};
  ReleaseGuard<ArrowArrayStream>{stream_};
}

void StreamReader::check(int status) {
  if (status == 0) return;
  const char* text = stream_.get_last_error(&stream_);
  throw Error(ErrorCode::kIo, (name_.empty() ? "" : name_ + ": the rows to write could not be read: ") +
                                  (text != nullptr ? text : std::strerror(status)));
}

bool StreamReader::next_batch() {
  ReleaseGuard<ArrowArray>{batch_};
  batch_ = {};
  check(stream_.get_next(&stream_, &batch_));
  row_ = 0;
  piece_rows_ = batch_.length;
  return batch_.release != nullptr;
}

std::unique_ptr<Table> StreamReader::next() {
  const bool is_over = batch_.release == nullptr || row_ == batch_.length;
  if (is_over && !next_batch()) return nullptr;
  for (;;) {
    const int64_t rows = std::min(piece_rows_, batch_.length - row_);
    try {
      auto piece = std::make_unique<Table>(import_rows(batch_, arrow_schema_, schema_, row_, rows, kMostExpanded));
      row_ += rows;
      if (row_ == batch_.length) ReleaseGuard<ArrowArray>{batch_};  // soon, since it may be large
      return piece;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOverLimit || rows <= 1) throw;
      piece_rows_ = (rows + 1) / 2;
    }
  }
}

}  // namespace arrow

void import_stream(ArrowArrayStream* stream, Notices* notices, ArrowArrayStream* out) {
  const auto reader = std::make_shared<arrow::StreamReader>(stream, "", notices);
  export_stream(
      reader->schema(), [reader] { return reader->next(); }, out);
}

}  // namespace basalt
