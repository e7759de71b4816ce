// Files are opened without waiting for anybody and looked at before they are read.
#include "core/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "basalt/core/error.h"

namespace basalt {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse(const std::string& path, mode_t mode) {
  throw Error(ErrorCode::kIo, fmt::format("{}: cannot read: it is not a regular file but {}", path, kind_of(mode)));
}

[[noreturn]] void fail_to_open(const std::string& path, int code) {
  throw Error(ErrorCode::kIo, fmt::format("{}: cannot open: {}", path, std::strerror(code)));
}

}  // namespace

int open_regular_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    const int code = errno;
    check_regular_file(path);  // sockets cannot be opened at all
    fail_to_open(path, code);
  }
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  refuse(path, status.st_mode);
}

std::optional<uint64_t> regular_file_bytes(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

void check_regular_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) refuse(path, status.st_mode);
}

}  // namespace basalt
