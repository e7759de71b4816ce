// Texts are compressed by DuckDB, which takes rows: a pipe carries the text from the session that makes it to another
// one, which copies its lines to the file.
#include "cli/text_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "basalt/core/arrow.h"
#include "basalt/core/error.h"
#include "cli/output.h"

namespace basalt::cli {
namespace {

[[noreturn]] void fail(const char* doing) {
  throw Error(ErrorCode::kIo, std::string("cannot ") + doing + ": " + std::strerror(errno));
}

class TextPipe {
 public:
  TextPipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) fail("create a pipe");
  }
  ~TextPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  TextPipe(const TextPipe&) = delete;
  TextPipe& operator=(const TextPipe&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t put = ::write(ends_[1], text.data(), text.size());
      if (put < 0 && errno != EINTR) fail("write to a pipe");
      if (put > 0) text.remove_prefix(static_cast<size_t>(put));
    }
  }
  // Nothing at the end.
  size_t read(char* to, size_t size) const {
    for (;;) {
      const ssize_t got = ::read(ends_[0], to, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) fail("read from a pipe");
    }
  }
  void end_reading() { close(ends_[0]); }
  void end_writing() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

// Many lines at a time, without the last one's end, which DuckDB puts behind each row. `rest` is what follows them.
std::string next_lines(const TextPipe& pipe, std::string& rest) {
  constexpr size_t kAtOnce = 256 << 10;
  std::string lines = std::move(rest);
  rest.clear();
  for (size_t end = std::string::npos; end == std::string::npos || lines.size() < kAtOnce;) {
    const size_t before = lines.size();
    lines.resize(before + kAtOnce);
    const size_t got = pipe.read(lines.data() + before, kAtOnce);
    lines.resize(before + got);
    if (got == 0) break;
    end = lines.rfind('\n');
  }
  const size_t end = lines.rfind('\n');
  if (end == std::string::npos) return "";
  rest = lines.substr(end + 1);
  lines.resize(end);
  return lines;
}

void compress(const TextPipe& pipe, const std::string& path, const std::string& method) {
  Table empty;
  empty.add("text", DataType::varchar(), std::vector<std::string>{});
  ArrowArrayStream stream;
  const auto next = [&pipe, rest = std::string()]() mutable -> std::unique_ptr<Table> {
    const std::string lines = next_lines(pipe, rest);
    if (lines.empty()) return nullptr;
    auto table = std::make_unique<Table>();
    table->add("text", DataType::varchar(), std::vector<std::string>{lines});
    return table;
  };
  export_stream(empty.schema, next, &stream);
  SessionOptions settings;
  settings.device = Device::kCpu;
  settings.threads = 1;
  Session session(settings);
  session.register_arrow("lines", &stream);
  session.execute("copy lines to " + quote_literal(path) +
                  " (format csv, header false, delimiter '', quote '', escape '', use_tmp_file false, compression " +
                  method + ")");
}

void write_compressed(const std::string& path, const std::string& method,
                      const std::function<void(const TextSink&)>& make) {
  OutputFile file(path, {.may_be_device = true});
  TextPipe pipe;
  std::future<void> made = std::async(std::launch::async, [&] {
    const std::shared_ptr<void> end(nullptr, [&](void*) { pipe.end_writing(); });
    make([&](std::string_view text) { pipe.write(text); });
  });
  try {
    compress(pipe, file.path_to_open(), method);
  } catch (...) {
    pipe.end_reading();  // so that the other thread ends
    throw;
  }
  made.get();
  file.commit();
}

}  // namespace

TextTarget::TextTarget(const std::string& path) {
  if (!path.empty()) file_.emplace(path, OutputOptions{.may_be_device = true});
}

void TextTarget::write(std::string_view text) {
  file_ ? file_->write({reinterpret_cast<const std::byte*>(text.data()), text.size()}) : output_.write(text);
}

void TextTarget::finish() { file_ ? file_->commit() : output_.flush(); }

void write_lines_to(const std::string& path, const std::function<void(const TextSink&)>& make) {
  if (const std::string method = compression_by_name(path); !method.empty())
    return write_compressed(path, method, make);
  TextTarget target(path);
  make([&](std::string_view text) { target.write(text); });
  target.finish();
}

}  // namespace basalt::cli
