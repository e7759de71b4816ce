// Arrow IPC through nanoarrow: byte sources and sinks of our own around its reader and writer, so that errors name the
// file and pipes work. A file is read by its footer; one that comes through a pipe, as the stream behind its magic.
#include "basalt/file/ipc.h"

#include <nanoarrow/nanoarrow.h>
#include <nanoarrow/nanoarrow_ipc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "basalt/core/error.h"
#include "core/output_file.h"
#include "core/regular_file.h"
#include "file/ipc_file.h"
#include "file/ipc_messages.h"

namespace basalt {
namespace {

constexpr std::string_view kFileMagic = "ARROW1";
constexpr size_t kFrontBytes = 8;

[[noreturn]] void fail_io(const std::string& name, const std::string& doing) {
  throw Error(ErrorCode::kIo, name + ": cannot " + doing + ": " + std::strerror(errno));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number_); }
  int get() const { return number_; }

 private:
  int number_;
};

size_t read_descriptor(int descriptor, void* out, size_t size, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(descriptor, out, std::min(size, size_t{1} << 30));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) fail_io(name, "read");
  }
}

ArrowErrorCode read_input(ArrowIpcInputStream* stream, uint8_t* out, int64_t size, int64_t* read, ArrowError* error) {
  try {
    *read = static_cast<int64_t>(static_cast<IpcMessages*>(stream->private_data)->read(out, static_cast<size_t>(size)));
    return NANOARROW_OK;
  } catch (const std::exception& failure) {
    ArrowErrorSet(error, "%s", failure.what());
    return EIO;
  }
}

void release_input(ArrowIpcInputStream* stream) {
  delete static_cast<IpcMessages*>(stream->private_data);
  stream->release = nullptr;
}

// Puts the input's name in front of every error of nanoarrow's stream.
struct NamedStream {
  ArrowArrayStream inner{};
  const IpcMessages* messages = nullptr;  // of `inner`
  std::string name;
  std::string error;
  int failure = 0;  // the first one, after which nothing more is read

  ~NamedStream() {
    if (inner.release != nullptr) inner.release(&inner);
  }
  template <typename Step>
  int run(Step&& step) {
    if (failure != 0) return failure;
    if (const int code = step(inner); code != 0) {
      const char* text = inner.get_last_error(&inner);
      fail(code, text == nullptr || *text == 0 ? std::strerror(code) : text);
    }
    return failure;
  }
  void fail(int code, const char* text) {
    failure = code;
    error = name + ": not a readable Arrow stream: " + text;
  }
};
NamedStream& named(ArrowArrayStream* stream) { return *static_cast<NamedStream*>(stream->private_data); }

// A truncated IPC file can end on a message border, which a stream may do but a file, which ends with its magic, not.
bool is_file_with_footer(int descriptor, const std::string& path) {
  char front[6], back[6];
  const std::optional<uint64_t> bytes = regular_file_bytes(descriptor);
  if (!bytes) return false;
  const uint64_t size = *bytes;
  if (size < sizeof(front) || ::pread(descriptor, front, sizeof(front), 0) != sizeof(front)) return false;
  if (std::string_view(front, 6) != kFileMagic) return false;
  const bool complete =
      size >= 2 * sizeof(back) &&
      ::pread(descriptor, back, sizeof(back), static_cast<off_t>(size - sizeof(back))) == sizeof(back) &&
      std::string_view(back, 6) == kFileMagic;
  if (!complete) throw Error(ErrorCode::kCorrupt, path + ": the Arrow file is cut off: its end mark is missing");
  return true;
}

std::shared_ptr<IpcFile> open_by_footer(const std::string& path) {
  try {
    return std::make_shared<IpcFile>(open_file_source(path));
  } catch (const Error& error) {
    throw error.code() == ErrorCode::kIo ? error : error.within(path + ": not a readable Arrow file");
  }
}

struct Output {
  int descriptor;
  std::string name;
  uint64_t bytes = 0;
};

ArrowErrorCode write_output(ArrowIpcOutputStream* stream, const void* data, int64_t size, int64_t* written,
                            ArrowError* error) {
  auto* output = static_cast<Output*>(stream->private_data);
  for (;;) {
    const ssize_t put = ::write(output->descriptor, data, static_cast<size_t>(std::min<int64_t>(size, 1 << 30)));
    if (put >= 0) {
      output->bytes += static_cast<uint64_t>(put);
      *written = put;
      return NANOARROW_OK;
    }
    if (errno == EINTR) continue;
    const int code = errno;
    ArrowErrorSet(error, "cannot write: %s", std::strerror(code));
    return code;
  }
}

void release_output(ArrowIpcOutputStream* stream) { stream->release = nullptr; }

// nanoarrow's pieces, released in every case.
struct WriteState {
  ArrowIpcWriter writer{};
  ArrowSchema schema{};
  ArrowArray array{};
  ArrowArrayView view{};
  ArrowError error{};
  const std::string& name;

  explicit WriteState(const std::string& file_name) : name(file_name) {
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
  }
  ~WriteState() {
    if (writer.private_data != nullptr) ArrowIpcWriterReset(&writer);
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
    ArrowArrayViewReset(&view);
  }
  void check(int code) const {
    if (code != 0)
      throw Error(code == EPIPE || code == ENOSPC || code == EIO ? ErrorCode::kIo : ErrorCode::kUnsupported,
                  name + ": " + (error.message[0] == 0 ? std::strerror(code) : error.message));
  }
};

struct StreamGuard {
  ArrowArrayStream* stream;
  ~StreamGuard() {
    if (stream->release != nullptr) stream->release(stream);
  }
  void check(int code) const {
    if (code == 0) return;
    const char* text = stream->get_last_error(stream);
    throw Error(ErrorCode::kIo, text == nullptr || *text == 0 ? std::strerror(code) : text);
  }
};

}  // namespace

bool is_ipc(std::string_view front) {
  if (front.size() < kFrontBytes) return false;
  // A stream begins with a continuation mark and the length of its first message.
  int32_t length;
  std::memcpy(&length, front.data() + 4, sizeof(length));
  return front.starts_with(kFileMagic) || (front.starts_with("\xff\xff\xff\xff") && length > 0);
}

bool is_ipc_name(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] == '/') return false;
  std::string ending(path.substr(dot + 1));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == "arrow" || ending == "arrows" || ending == "ipc" || ending == "feather";
}

namespace {

// `whole`: nothing comes behind the last message.
void open_messages(ByteReader reader, const std::string& name, ArrowArrayStream* out, uint64_t size, bool whole) {
  std::string front(kFrontBytes, 0);
  size_t got = 0;
  for (size_t more = 1; got < kFrontBytes && more > 0; got += more)
    more = reader(front.data() + got, kFrontBytes - got);
  front.resize(got);
  if (!is_ipc(front)) throw Error(ErrorCode::kCorrupt, name + ": neither an Arrow IPC stream nor an Arrow IPC file");
  if (front.starts_with(kFileMagic)) front.clear();
  const uint64_t left = size == kUnknownBytes ? size : size - std::min<uint64_t>(size, got);
  auto input = std::make_unique<IpcMessages>(std::move(reader), std::move(front), left, whole);

  ArrowIpcInputStream bytes{};
  bytes.read = read_input;
  bytes.release = release_input;
  bytes.private_data = input.release();
  auto stream = std::make_unique<NamedStream>();
  stream->name = name;
  stream->messages = static_cast<const IpcMessages*>(bytes.private_data);
  if (ArrowIpcArrayStreamReaderInit(&stream->inner, &bytes, nullptr) != NANOARROW_OK) {
    if (bytes.release != nullptr) bytes.release(&bytes);
    throw Error(ErrorCode::kOutOfMemory, name + ": no memory for an Arrow reader");
  }
  *out = ArrowArrayStream{};
  out->get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
    return named(self).run([&](ArrowArrayStream& inner) { return inner.get_schema(&inner, schema); });
  };
  out->get_next = [](ArrowArrayStream* self, ArrowArray* array) {
    NamedStream& from = named(self);
    array->release = nullptr;
    const int code = from.run([&](ArrowArrayStream& inner) { return inner.get_next(&inner, array); });
    // A batch that could not be decoded in the end looks like the end.
    if (code == 0 && array->release == nullptr && !from.messages->ended())
      from.fail(EINVAL, "a batch cannot be decoded");
    return from.failure;
  };
  out->get_last_error = [](ArrowArrayStream* self) {
    return named(self).error.empty() ? nullptr : named(self).error.c_str();
  };
  out->release = [](ArrowArrayStream* self) {
    delete &named(self);
    self->release = nullptr;
  };
  out->private_data = stream.release();
}

}  // namespace

void open_ipc(ByteReader reader, const std::string& name, ArrowArrayStream* out, uint64_t size) {
  open_messages(std::move(reader), name, out, size, false);
}

void open_ipc(const std::string& path, ArrowArrayStream* out, const std::shared_ptr<std::atomic<uint64_t>>& counter) {
  auto file = std::make_shared<Descriptor>(open_regular_file(path));
  ByteReader read = [file, path](void* into, size_t size) { return read_descriptor(file->get(), into, size, path); };
  uint64_t bytes = regular_file_bytes(file->get()).value_or(kUnknownBytes);
  const bool has_footer = is_file_with_footer(file->get(), path);
  if (has_footer) {
    const std::shared_ptr<IpcFile> blocks = open_by_footer(path);
    read = [blocks](void* into, size_t size) { return blocks->read(static_cast<uint8_t*>(into), size); };
    bytes = blocks->stream_bytes();
  }
  const auto count = [read, counter](void* into, size_t size) {
    const size_t got = read(into, size);
    if (counter != nullptr) *counter += got;
    return got;
  };
  open_messages(count, path, out, bytes, has_footer);
}

IpcSummary write_ipc(ArrowArrayStream* stream, int descriptor, const std::string& name, IpcKind kind) {
  const StreamGuard guard{stream};
  Output output{descriptor, name};
  ArrowIpcOutputStream sink{};
  sink.write = write_output;
  sink.release = release_output;
  sink.private_data = &output;

  WriteState state(name);
  state.check(ArrowIpcWriterInit(&state.writer, &sink));
  if (kind == IpcKind::kFile) state.check(ArrowIpcWriterStartFile(&state.writer, &state.error));
  guard.check(stream->get_schema(stream, &state.schema));
  state.check(ArrowIpcWriterWriteSchema(&state.writer, &state.schema, &state.error));
  state.check(ArrowArrayViewInitFromSchema(&state.view, &state.schema, &state.error));
  IpcSummary summary;
  for (;;) {
    guard.check(stream->get_next(stream, &state.array));
    if (state.array.release == nullptr) break;
    state.check(ArrowArrayViewSetArray(&state.view, &state.array, &state.error));
    state.check(ArrowIpcWriterWriteArrayView(&state.writer, &state.view, &state.error));
    summary.rows += static_cast<uint64_t>(state.array.length);
    state.array.release(&state.array);
  }
  state.check(ArrowIpcWriterWriteArrayView(&state.writer, nullptr, &state.error));
  if (kind == IpcKind::kFile) state.check(ArrowIpcWriterFinalizeFile(&state.writer, &state.error));
  summary.bytes = output.bytes;
  return summary;
}

IpcSummary write_ipc(ArrowArrayStream* stream, const std::string& path, IpcKind kind) {
  std::unique_ptr<OutputFile> file;
  try {
    file = std::make_unique<OutputFile>(path, OutputOptions{.may_be_device = true});
  } catch (const Error&) {
    if (stream->release != nullptr) stream->release(stream);
    throw;
  }
  const IpcSummary summary = write_ipc(stream, file->descriptor(), path, kind);
  file->commit();
  return summary;
}

}  // namespace basalt
