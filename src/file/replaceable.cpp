// Telling our own files from others by their first bytes: a damaged file is still ours.
#include "file/replaceable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "basalt/core/error.h"
#include "file/format.h"

namespace basalt::format_v1 {

void check_replaceable(const std::string& path) {
  struct stat status {};
  // Of what is no regular file, OutputFile has its own opinion.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  char front[sizeof(kMagic)] = {};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) {
    const ssize_t got = ::pread(descriptor, front, sizeof(front), 0);
    ::close(descriptor);
    if (got == sizeof(front) && std::memcmp(front, kMagic, sizeof(front)) == 0) return;
  }
  throw Error(
      ErrorCode::kIo,
      fmt::format("{}: refused to write: it exists and is not a Basalt file; remove it, or choose another name", path));
}

}  // namespace basalt::format_v1
