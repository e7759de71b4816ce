// Making, locking and removing private folders.
#include "core/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "basalt/core/error.h"

namespace basalt {

namespace fs = std::filesystem;

namespace {

constexpr size_t kRandomDigits = 16;

// The name without its random end; empty if it has none.
std::string_view prefix_of(std::string_view name) {
  if (name.size() <= kRandomDigits + 1 || name[name.size() - kRandomDigits - 1] != '-') return {};
  if (name.find_first_not_of("0123456789abcdef", name.size() - kRandomDigits) != name.npos) return {};
  return name.substr(0, name.size() - kRandomDigits - 1);
}

// A folder of this user, locked; -1 if it is in use or is anything else.
int lock_own_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status {};
  // A file system without locks says something else than that the lock is taken.
  const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken && ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() && status.st_nlink > 0) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

// Every process holds a lock on its folder as long as it lives.
void remove_abandoned(const std::string& path) {
  const fs::path own = path;
  const std::string name = own.filename().string();
  std::error_code ignored;
  for (fs::directory_iterator entry(own.parent_path(), ignored), end; entry != end; entry.increment(ignored)) {
    const std::string other = entry->path().filename().string();
    if (prefix_of(other).empty() || prefix_of(other) != prefix_of(name)) continue;
    const int lock = lock_own_folder(entry->path().string());
    if (lock < 0) continue;
    fs::remove_all(entry->path(), ignored);
    ::close(lock);
  }
}

}  // namespace

std::string PrivateFolder::unused_name(const std::string& parent, std::string_view prefix) {
  std::random_device random;
  for (;;) {
    const std::string name = fmt::format("{}-{:08x}{:08x}", prefix, random(), random());
    const fs::path path = fs::path(parent.empty() ? "." : parent) / name;
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(path, ignored))) return path.string();
  }
}

PrivateFolder::PrivateFolder(const std::string& path) : path_(path) {
  remove_abandoned(path_);
  // Between its making and its lock another process may take it for abandoned.
  while (!make()) {
  }
}

bool PrivateFolder::make() {
  if (::mkdir(path_.c_str(), 0700) != 0) {
    throw Error(ErrorCode::kIo,
                fmt::format("{}: cannot make a folder for temporary files: {}", path_, std::strerror(errno)));
  }
  lock_ = lock_own_folder(path_);
  if (lock_ >= 0) return true;
  ::rmdir(path_.c_str());
  return false;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace basalt
