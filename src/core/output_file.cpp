// Writing and syncing of the file under construction, and how it comes by its name.
#include "core/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <utility>

#include "basalt/core/error.h"

namespace basalt {

namespace {

constexpr size_t kPendingBytes = 4 << 20;
constexpr const char* kTemporaryMark = ".tmp-";

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The process in the name is for people; whether a temporary file is in use, its lock says.
std::string temporary_name(const std::string& path) {
  std::random_device random;
  return fmt::format("{}{}{}-{:08x}", path, kTemporaryMark, ::getpid(), random());
}

// Whether `name` is the target's name followed by what temporary_name() adds.
bool is_temporary_of(std::string_view name, std::string_view target) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(kTemporaryMark)) return false;
  name.remove_prefix(std::strlen(kTemporaryMark));
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits > 0 && name.size() == digits + 9 && name[digits] == '-' &&
         name.find_first_not_of("0123456789abcdef", digits + 1) == std::string_view::npos;
}

// Removes what killed writers of the same target left. Every writer holds a lock on its file as long as it lives;
// unlike its process number, the lock tells the truth across containers and machines too.
void remove_abandoned(const std::string& path, const std::string& folder) {
  const std::string target = path.substr(path.find_last_of('/') + 1);
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!is_temporary_of(name, target)) continue;
    const int descriptor = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      ::unlink(entry->path().c_str());
    }
    ::close(descriptor);
  }
}

bool has_descriptor_names() { return ::access("/proc/self/fd", X_OK) == 0; }

// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, be it open or not; -1 for other names.
int descriptor_named(const std::string& path) {
  const std::string name = std::filesystem::path(path).lexically_normal().string();
  if (name == "/dev/stdin") return STDIN_FILENO;
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  const std::string own = fmt::format("/proc/{}/fd/", ::getpid());
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", own.c_str()}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + folder.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) return number;
  }
  return -1;
}

// What this process opens for itself is closed for others. Such a number was free when the program started: whoever
// named it did not mean a file of ours.
bool is_inherited(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == 0 ? "/tmp" : folder;
}

bool is_written_through(const std::string& path) {
  // Before anything is looked up: the name of a closed descriptor does not exist, and is no place for a file either.
  if (descriptor_named(path) >= 0) return true;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  return !S_ISREG(status.st_mode) || path.starts_with("/proc/");
}

OutputFile::OutputFile(const std::string& path, const OutputOptions& options)
    : OutputFile(path, is_written_through(path) ? Kind::kDevice : Kind::kReplace, options) {}

std::unique_ptr<OutputFile> OutputFile::temporary(bool may_be_nameless) {
  const OutputOptions options{.mode = 0600, .may_be_nameless = may_be_nameless};
  return std::unique_ptr<OutputFile>(new OutputFile(temporary_folder() + "/basalt", Kind::kTemporary, options));
}

OutputFile::OutputFile(std::string path, Kind kind, const OutputOptions& options)
    : path_(std::move(path)), folder_(folder_of(path_)), kind_(kind), mode_(options.mode), durable_(options.durable) {
  if (kind_ != Kind::kDevice) {
    open_file(options.may_be_nameless);
    return;
  }
  std::error_code ignored;
  if (!options.may_be_device || std::filesystem::is_directory(path_, ignored)) {
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot write: it exists and is not a regular file", path_));
  }
  // A second opening of a file would write from its start, over what was or is written through the descriptor.
  const int named = descriptor_named(path_);
  if (named >= 0 && !is_inherited(named)) {
    errno = EBADF;
    fail("cannot open");
  }
  descriptor_ =
      named >= 0 ? ::fcntl(named, F_DUPFD_CLOEXEC, 0) : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor_ < 0) fail("cannot open");
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::open_file(bool may_be_nameless) {
  if (may_be_nameless && open_nameless()) return;
  open_named();
  // Nobody needs the name of a temporary file that can be opened by its number.
  if (kind_ == Kind::kTemporary && has_descriptor_names()) ::unlink(std::exchange(temporary_, {}).c_str());
}

bool OutputFile::open_nameless() {
#ifdef O_TMPFILE
  // It gets its name through /proc: without that it could never be put in its place.
  if (!has_descriptor_names()) return false;
  descriptor_ = ::open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode_);
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX | LOCK_NB);
  return descriptor_ >= 0;
#else
  return false;
#endif
}

std::string OutputFile::path_to_open() {
  if (kind_ == Kind::kDevice) {
    if (descriptor_named(path_) < 0) return path_;
    if (spool_ == nullptr) spool_ = temporary();
    return spool_->path_to_open();
  }
  return has_descriptor_names() ? fmt::format("/proc/self/fd/{}", descriptor_) : temporary_;
}

void OutputFile::open_named() {
  remove_abandoned(path_, folder_);
  for (;;) {
    const std::string name = temporary_name(path_);
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail("cannot create the file");
    temporary_ = name;
    // Between its creation and its lock another writer may have taken it for abandoned. (A file system without locks
    // says something else.)
    const bool taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat status {};
    if (!taken && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return;
    ::close(std::exchange(descriptor_, -1));
    temporary_.clear();
  }
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
  static constexpr std::byte kZeros[512] = {};
  for (uint64_t left = (alignment - position_ % alignment) % alignment; left > 0;) {
    const size_t count = std::min<size_t>(left, sizeof(kZeros));
    write({kZeros, count});
    left -= count;
  }
}

void OutputFile::replace_unwritten(Buffer bytes) {
  position_ += bytes.size() - pending_.size();
  pending_ = std::move(bytes);
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

// Gives the nameless file a name; false if that name is taken.
bool OutputFile::link_to(const std::string& name) const {
  const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) fail("cannot put the file in its place");
  return false;
}

void OutputFile::put_in_place() {
  if (temporary_.empty()) {
    if (link_to(path_)) return;
    // A link replaces nothing, a renaming does. Only here can a kill leave a name behind: the next writer that comes by
    // removes it. Other writers look at no folder, which may hold very many files.
    remove_abandoned(path_, folder_);
    std::string name = temporary_name(path_);
    while (!link_to(name)) name = temporary_name(path_);
    temporary_ = std::move(name);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot put the file in its place");
  temporary_.clear();
}

void OutputFile::write_spool() {
  Buffer block(kPendingBytes);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(spool_->descriptor(), block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read a temporary file back");
    if (got == 0) return;
    write_through(block.data(), static_cast<size_t>(got));
    at += got;
  }
}

void OutputFile::commit() {
  flush();
  if (spool_ != nullptr) write_spool();
  if (kind_ == Kind::kDevice) return;
  if (durable_ && ::fsync(descriptor_) != 0) fail("cannot write to the disk");
  put_in_place();
  ::close(std::exchange(descriptor_, -1));
  if (!durable_) return;

  // The new name itself has to survive a crash; file systems that cannot sync folders have nothing to lose.
  const int handle = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
}

}  // namespace basalt
