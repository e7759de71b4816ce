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

// A descriptor of a folder of this user; -1 if it is anything else.
int open_own_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() && status.st_nlink > 0) return descriptor;
  ::close(descriptor);
  return -1;
}

// Every process holds a lock on its folder as long as it lives. Where there are no locks, nothing is known to be
// abandoned.
void remove_abandoned(const std::string& path) {
  const fs::path own = path;
  const std::string name = own.filename().string();
  std::error_code ignored;
  for (fs::directory_iterator entry(own.parent_path(), ignored), end; entry != end; entry.increment(ignored)) {
    const std::string other = entry->path().filename().string();
    if (prefix_of(other).empty() || prefix_of(other) != prefix_of(name)) continue;
    const int folder = open_own_folder(entry->path().string());
    if (folder < 0) continue;
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry->path(), ignored);
    ::close(folder);
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
  // Without a lock it would look abandoned: it gets the name that others look at when it has its lock.
  const std::string unlocked = path_ + ".new";
  if (::mkdir(unlocked.c_str(), 0700) != 0) fail();
  lock_ = open_own_folder(unlocked);
  // A file system without locks has none to give, and there nobody removes what others left.
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
  if (lock_ >= 0 && ::rename(unlocked.c_str(), path_.c_str()) == 0) return;
  const int reason = errno;
  ::rmdir(unlocked.c_str());
  if (lock_ >= 0) ::close(lock_);
  errno = reason;
  fail();
}

void PrivateFolder::fail() const {
  throw Error(ErrorCode::kIo,
              fmt::format("{}: cannot make a folder for temporary files: {}", path_, std::strerror(errno)));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace basalt
