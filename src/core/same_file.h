// Whether two names mean one file: links, other spellings and /proc/self/fd do not hide it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace basalt {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Of regular files only: a pipe or a terminal can be read and written at once.
inline std::optional<FileIdentity> identity_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
}

inline std::optional<FileIdentity> identify_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? identity_of(status) : std::nullopt;
}

inline std::optional<FileIdentity> identify_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? identity_of(status) : std::nullopt;
}

}  // namespace basalt
