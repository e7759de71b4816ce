// Writing, syncing and renaming of the file under construction.
#include "file/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "basalt/core/error.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

constexpr size_t kPendingBytes = 4 << 20;

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot write: it exists and is not a regular file", path));
  }
  std::random_device random;
  temporary_ = fmt::format("{}.tmp-{}-{:08x}", path, ::getpid(), random());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const std::string reason = std::strerror(errno);
    temporary_.clear();
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot create the file: {}", path, reason));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(const char* action) const {
  throw Error(ErrorCode::kIo, fmt::format("{}: {}: {}", path_, action, std::strerror(errno)));
}

void OutputFile::write(ByteView bytes) {
  position_ += bytes.size();
  if (pending_.size() + bytes.size() <= kPendingBytes) {
    pending_.append(bytes.data(), bytes.size());
    return;
  }
  flush();
  if (bytes.size() >= kPendingBytes) {
    write_through(bytes.data(), bytes.size());
  } else {
    pending_.append(bytes.data(), bytes.size());
  }
}

void OutputFile::pad_to(uint64_t alignment) {
  static constexpr std::byte kZeros[kLargeRegionAlignment] = {};
  write({kZeros, static_cast<size_t>(align_up(position_, alignment) - position_)});
}

void OutputFile::flush() {
  write_through(pending_.data(), pending_.size());
  pending_.clear();
}

void OutputFile::write_through(const std::byte* bytes, size_t count) {
  while (count > 0) {
    const ssize_t done = ::write(descriptor_, bytes, std::min<size_t>(count, size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot write");
    bytes += done;
    count -= static_cast<size_t>(done);
  }
}

void OutputFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail("cannot write to the disk");
  const int closing = std::exchange(descriptor_, -1);
  if (::close(closing) != 0) fail("cannot close the file");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot put the file in its place");
  temporary_.clear();

  // The new name itself has to survive a crash; file systems that cannot sync folders have nothing to lose.
  const size_t slash = path_.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
}

}  // namespace basalt::format_v1
