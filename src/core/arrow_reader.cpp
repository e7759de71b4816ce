// Arrow streams in: see the header.
#include "core/arrow_reader.h"

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
  ReleaseGuard<ArrowSchema>{arrow_schema_};
  ReleaseGuard<ArrowArrayStream>{stream_};
}

void StreamReader::check(int status) {
  if (status == 0) return;
  const char* text = stream_.get_last_error(&stream_);
  throw Error(ErrorCode::kIo, (name_.empty() ? "" : name_ + ": ") + "the rows to write could not be read: " +
                                  (text != nullptr ? text : std::strerror(status)));
}

std::unique_ptr<Table> StreamReader::next() {
  ArrowArray batch{};
  const ReleaseGuard<ArrowArray> guard{batch};
  check(stream_.get_next(&stream_, &batch));
  if (batch.release == nullptr) return nullptr;
  return std::make_unique<Table>(import_batch(batch, arrow_schema_, schema_));
}

}  // namespace arrow

void import_stream(ArrowArrayStream* stream, Notices* notices, ArrowArrayStream* out) {
  const auto reader = std::make_shared<arrow::StreamReader>(stream, "", notices);
  export_stream(
      reader->schema(), [reader] { return reader->next(); }, out);
}

}  // namespace basalt
