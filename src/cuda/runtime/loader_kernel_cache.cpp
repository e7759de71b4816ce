// The kernel cache. An entry carries its own checksum, so that a torn or damaged file is compiled again and never
// loaded; whose it is, the file system says, about the folder and the file that are open and not about their names.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "basalt/core/error.h"
#include "core/output_file.h"
#include "cuda/runtime/kernel_cache.h"

namespace basalt::cuda {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'B', 'S', 'L', 'T', 'K', 'R', 'N', '1'};
constexpr size_t kHeadBytes = sizeof(kMagic) + sizeof(uint64_t);
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersMayDoAnything = S_IRWXG | S_IRWXO;

// A descriptor that closes itself; −1: none.
using Descriptor = std::unique_ptr<int, void (*)(int*)>;
Descriptor own(int number) {
  return {new int(number), [](int* held) {
            if (*held >= 0) ::close(*held);
            delete held;
          }};
}

std::string absolute_path_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

// The folder, if it is fit for use; else `reason`, which stays empty if it does not exist.
Descriptor open_folder(std::string& reason) {
  const std::string path = kernel_cache_folder();
  reason.clear();
  if (path.empty()) {
    reason = "neither XDG_CACHE_HOME nor HOME is an absolute path";
    return own(-1);
  }
  Descriptor folder = own(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (*folder < 0) {
    if (errno != ENOENT)
      reason = path + ": " + (errno == ELOOP || errno == ENOTDIR ? "not a folder" : std::strerror(errno));
    return folder;
  }
  struct stat status {};
  if (::fstat(*folder, &status) != 0) {
    reason = path + ": " + std::strerror(errno);
  } else if (reason = why_not_trust(status, ::geteuid()); !reason.empty()) {
    reason = path + " " + reason;
  } else if ((status.st_mode & kOthersMayDoAnything) != 0 && ::fchmod(*folder, 0700) != 0) {
    reason = path + " is open to others";
  }
  return reason.empty() ? std::move(folder) : own(-1);
}

bool read_whole(int descriptor, std::vector<char>& out) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || !why_not_trust(status, ::geteuid()).empty())
    return false;
  if (status.st_size <= static_cast<off_t>(kHeadBytes)) return false;
  out.resize(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::read(descriptor, out.data() + done, out.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::string kernel_cache_folder() {
  if (const std::string cache = absolute_path_in("XDG_CACHE_HOME"); !cache.empty()) return cache + "/basalt/kernels";
  const std::string home = absolute_path_in("HOME");
  return home.empty() ? std::string() : home + "/.cache/basalt/kernels";
}

std::string why_not_trust(const struct stat& status, uid_t me) {
  if (status.st_uid != me) return "belongs to another user";
  if ((status.st_mode & kOthersMayWrite) == 0) return "";
  return "can be written by others (chmod 700 it after a look at what is in it)";
}

std::string why_not_cache_kernels() {
  std::string reason;
  open_folder(reason);
  return reason;
}

bool load_kernel(const std::string& key, std::vector<char>& cubin) { return load_cached(key + ".cubin", cubin); }
void store_kernel(const std::string& key, const std::vector<char>& cubin) { store_cached(key + ".cubin", cubin); }

bool load_cached(const std::string& name, std::vector<char>& contents) {
  std::string reason;
  const Descriptor folder = open_folder(reason);
  if (*folder < 0) return false;
  const Descriptor file = own(::openat(*folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::vector<char> all;
  if (*file < 0 || !read_whole(*file, all)) return false;
  uint64_t stored = 0;
  std::memcpy(&stored, all.data() + sizeof(kMagic), sizeof(stored));
  if (std::memcmp(all.data(), kMagic, sizeof(kMagic)) != 0) return false;
  if (XXH3_64bits(all.data() + kHeadBytes, all.size() - kHeadBytes) != stored) return false;
  contents.assign(all.begin() + kHeadBytes, all.end());
  return true;
}

void store_cached(const std::string& name, const std::vector<char>& contents) {
  const std::string path = kernel_cache_folder();
  if (path.empty()) return;
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return;
  if (!why_not_cache_kernels().empty()) return;
  const auto bytes = [](const void* data, size_t size) { return ByteView{static_cast<const std::byte*>(data), size}; };
  try {
    OutputFile file(path + "/" + name, {.mode = 0600});
    const uint64_t sum = XXH3_64bits(contents.data(), contents.size());
    file.write(bytes(kMagic, sizeof(kMagic)));
    file.write(bytes(&sum, sizeof(sum)));
    file.write(bytes(contents.data(), contents.size()));
    file.commit();
  } catch (const Error&) {  // a full disk, or no right to write
  }
}

}  // namespace basalt::cuda
