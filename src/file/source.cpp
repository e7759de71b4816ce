// Sources of bytes: files read with pread, memory, and the one function that turns many small ranges into few requests.
#include "basalt/file/source.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "basalt/core/error.h"
#include "core/regular_file.h"

namespace basalt {

namespace {

class FileSource final : public Source {
 public:
  bool is_local() const override { return true; }
  explicit FileSource(const std::string& path) : path_(path) {
    descriptor_ = open_regular_file(path);
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) {
      const int code = errno;
      ::close(descriptor_);
      throw Error(ErrorCode::kIo, fmt::format("{}: cannot read: {}", path, std::strerror(code)));
    }
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::string name() const override { return path_; }
  uint64_t size() const override { return size_; }

  void read(Range range, std::byte* out) const override {
    if (range.offset > size_ || range.length > size_ - range.offset) {
      throw Error(ErrorCode::kIo, fmt::format("{}: a read of {} bytes at byte {} passes the end of the file ({} bytes)",
                                              path_, range.length, range.offset, size_));
    }
    uint64_t done = 0;
    while (done < range.length) {
      // Linux moves at most 2 GiB per call; one call never asks for more than 1 GiB.
      const size_t want = static_cast<size_t>(std::min<uint64_t>(range.length - done, uint64_t{1} << 30));
      const ssize_t got = ::pread(descriptor_, out + done, want, static_cast<off_t>(range.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw Error(ErrorCode::kIo,
                    fmt::format("{}: reading at byte {} failed: {}", path_, range.offset + done, std::strerror(errno)));
      }
      if (got == 0) {
        throw Error(ErrorCode::kIo, fmt::format("{}: the file ends at byte {}: it was cut while it was being read",
                                                path_, range.offset + done));
      }
      done += static_cast<uint64_t>(got);
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

class MemorySource final : public Source {
 public:
  bool is_local() const override { return true; }
  MemorySource(Buffer bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}

  std::string name() const override { return name_; }
  uint64_t size() const override { return bytes_.size(); }
  void read(Range range, std::byte* out) const override {
    if (range.offset > bytes_.size() || range.length > bytes_.size() - range.offset) {
      throw Error(ErrorCode::kIo, fmt::format("{}: a read of {} bytes at byte {} passes the end ({} bytes)", name_,
                                              range.length, range.offset, bytes_.size()));
    }
    if (range.length != 0) std::memcpy(out, bytes_.data() + range.offset, range.length);
  }

 private:
  Buffer bytes_;
  std::string name_;
};

}  // namespace

std::shared_ptr<Source> open_file_source(const std::string& path) { return std::make_shared<FileSource>(path); }

std::shared_ptr<Source> memory_source(Buffer bytes, std::string name) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(name));
}

std::vector<Buffer> read_ranges(const Source& source, std::span<const Range> ranges, uint64_t max_gap) {
  // Checked before anything is allocated: lengths may come from a file.
  const uint64_t size = source.size();
  for (const Range& range : ranges) {
    if (range.offset > size || range.length > size - range.offset) {
      throw Error(ErrorCode::kIo, fmt::format("{}: a read of {} bytes at byte {} passes the end ({} bytes)",
                                              source.name(), range.length, range.offset, size));
    }
  }
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return ranges[a].offset != ranges[b].offset ? ranges[a].offset < ranges[b].offset : a < b;
  });

  std::vector<Buffer> out(ranges.size());
  size_t first = 0;
  while (first < order.size()) {
    uint64_t begin = ranges[order[first]].offset;
    uint64_t end = begin + ranges[order[first]].length;
    size_t last = first + 1;
    while (last < order.size() && ranges[order[last]].offset <= end + max_gap) {
      end = std::max(end, ranges[order[last]].offset + ranges[order[last]].length);
      ++last;
    }
    if (last == first + 1) {
      Buffer& only = out[order[first]];
      only.resize(static_cast<size_t>(end - begin));
      if (end > begin) source.read({begin, end - begin}, only.data());
    } else {
      Buffer joined(static_cast<size_t>(end - begin));
      if (end > begin) source.read({begin, end - begin}, joined.data());
      for (size_t i = first; i < last; ++i) {
        const Range& range = ranges[order[i]];
        out[order[i]].append(joined.data() + (range.offset - begin), static_cast<size_t>(range.length));
      }
    }
    first = last;
  }
  return out;
}

}  // namespace basalt
