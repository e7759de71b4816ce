// Locks are those of the file system on one hidden file, which every copy of the folder links to.
#include "file/dataset.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "basalt/core/error.h"
#include "basalt/file/reader.h"

namespace basalt {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLockName = ".lock";
constexpr const char* kReplaced = ".replaced";  // files of the folder as it was before the last exchange
constexpr const char* kStaging = ".compacting-";

[[noreturn]] void fail_with(const std::string& path, const char* doing, int number) {
  throw Error(ErrorCode::kIo, fmt::format("{}: cannot {}: {}", path, doing, std::strerror(number)));
}

// It stays right when the folder is exchanged under a process that stands in it.
std::string absolute_name(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  std::string name = failed ? "" : fs::weakly_canonical(absolute, failed).string();
  if (failed) throw Error(ErrorCode::kIo, fmt::format("{}: cannot find the folder: {}", path, failed.message()));
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

// Shells that stood in a folder when it was exchanged stand in what it was before, which is removed ten minutes later.
void refuse_replaced(const std::string& given, const fs::path& folder) {
  if (std::find(folder.begin(), folder.end(), kReplaced) == folder.end()) return;
  throw Error(ErrorCode::kIo, fmt::format("{}: refused to write: this folder was exchanged by a compact, and what was "
                                          "before is removed soon; enter the new one: cd \"$PWD\"",
                                          given));
}

void refuse_own_place(const std::string& given, const fs::path& folder) {
  std::error_code failed;
  const fs::path way = fs::current_path(failed).lexically_relative(folder);
  if (failed || way.empty() || *way.begin() == "..") return;
  throw Error(ErrorCode::kIo, given +
                                  ": leave the folder first: it is exchanged as a whole, and who stands in it would "
                                  "stay in the old one");
}

uint32_t random_number() { return std::random_device()(); }

// Later ones sort behind earlier ones; equal moments are told apart by chance.
std::string new_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return fmt::format("part-{:017}-{:08x}.basalt", micros, random_number());
}

// Names and types, not numbers of fields and promises about NULLs.
bool same_columns(const std::vector<Field>& a, const std::vector<Field>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Field& x, const Field& y) {
    return x.name == y.name && x.type == y.type && same_columns(x.children, y.children);
  });
}

std::string listed(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) out += (out.empty() ? "" : ", ") + field.name + " " + to_string(field);
  return out;
}

void link_file(const fs::path& from, const fs::path& to) {
  if (::link(from.c_str(), to.c_str()) != 0) fail_with(to.string(), "link a file", errno);
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_with(folder, "open the folder", errno);
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0) fail_with(folder, "sync the folder", code);
}

// What a process that was killed has left beside the folder.
void remove_stale(const fs::path& folder) {
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const std::string prefix = "." + folder.filename().string() + kStaging;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) fs::remove_all(entry.path(), ignored);
  }
}

// Whoever listed these before they were replaced has opened them by now.
void forget_replaced(const fs::path& folder) {
  constexpr auto kLongAgo = std::chrono::minutes(10);
  std::error_code failed;
  const auto changed = fs::last_write_time(folder / kReplaced, failed);
  if (!failed && fs::file_time_type::clock::now() - changed > kLongAgo) fs::remove_all(folder / kReplaced, failed);
}

}  // namespace

DatasetLock::DatasetLock(const std::string& folder, Kind kind)
    : folder_(absolute_name(folder)), path_(folder_ + "/" + kLockName) {
  refuse_replaced(folder, folder_);
  if (kind == Kind::kReplace) refuse_own_place(folder, folder_);
  std::error_code failed;
  if (kind == Kind::kAdd && !fs::exists(folder, failed)) {
    fs::create_directories(folder_, failed);
    if (failed) fail_with(folder, "make the folder", failed.value());
  }
  if (!fs::is_directory(folder, failed)) throw Error(ErrorCode::kIo, folder + ": not a folder");
  // While it waits, the folder may be exchanged for one that links to the same lock.
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail_with(path_, "open the lock", errno);
  try {
    wait(kind == Kind::kAdd ? LOCK_SH : LOCK_EX);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  forget_replaced(folder_);
}

void DatasetLock::wait_to_be_alone() { wait(LOCK_EX); }

void DatasetLock::wait(int kind) {
  while (::flock(descriptor_, kind) != 0) {
    if (errno != EINTR) fail_with(path_, "wait for the lock", errno);
  }
}

DatasetLock::~DatasetLock() { ::close(descriptor_); }

std::vector<std::string> dataset_parts(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".basalt") && name[0] != '.' && entry.is_regular_file()) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

DatasetPart::DatasetPart(const std::string& folder, const Schema& schema)
    : lock_(folder, DatasetLock::Kind::kAdd), path_(lock_.folder() + "/" + new_name()) {
  std::vector<std::string> parts = dataset_parts(lock_.folder());
  if (parts.empty()) {
    // The first file says which columns there are: it is written by one at a time.
    lock_.wait_to_be_alone();
    parts = dataset_parts(lock_.folder());
  }
  if (parts.empty()) return;
  const Schema known = File::open(parts.front())->schema();
  if (same_columns(known.fields, schema.fields)) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: the files there have other columns ({}) than the rows to add ({})", folder,
                          listed(known.fields), listed(schema.fields)));
}

namespace {

void require_columns(const std::string& folder, const std::string& first, const std::string& other) {
  const std::vector<Field> expected = File::open(first)->schema().fields;
  const std::vector<Field> found = File::open(other)->schema().fields;
  if (same_columns(expected, found)) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: its files cannot be merged: {} has the columns {}, but {} has {}", folder,
                          fs::path(first).filename().string(), listed(expected), fs::path(other).filename().string(),
                          listed(found)));
}

// A name between those before and behind the files that are replaced, so that rows stay in order.
std::string name_between(const std::string& folder, const std::vector<std::string>& parts) {
  const std::vector<std::string> all = dataset_parts(folder);
  const auto name_of = [](const std::string& path) { return fs::path(path).filename().string(); };
  const auto behind =
      std::upper_bound(all.begin(), all.end(), (fs::path(all.at(0)).parent_path() / name_of(parts.back())).string());
  for (const std::string& part : {parts.back(), parts.front()}) {
    const std::string name = fmt::format("{}~{:08x}.basalt", fs::path(part).stem().string(), random_number());
    if (behind == all.end() || name < name_of(*behind)) return name;
  }
  throw Error(ErrorCode::kUnsupported, folder + ": there is no name between " + name_of(parts.back()) + " and " +
                                           name_of(*behind) + ", so that rows would change their order");
}

// Fills a folder that is to take the place of `folder`; gives the names that both know.
std::set<std::string> stage(const fs::path& folder, const fs::path& staging, const std::vector<std::string>& parts) {
  std::set<std::string> known = {kLockName, kReplaced};
  link_file(folder / kLockName, staging / kLockName);
  fs::create_directory(staging / kReplaced);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / kReplaced, ignored)) {
    if (entry.is_regular_file()) link_file(entry.path(), staging / kReplaced / entry.path().filename());
  }
  for (const std::string& part : parts) {
    const fs::path name = fs::path(part).filename();
    known.insert(name.string());
    fs::remove(staging / kReplaced / name, ignored);  // an older file of this name
    link_file(folder / name, staging / kReplaced / name);
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (known.contains(name)) continue;
    if (entry.is_directory()) {
      throw Error(ErrorCode::kUnsupported, folder.string() + ": folders inside of it cannot be compacted");
    }
    link_file(entry.path(), staging / name);
    known.insert(name);
  }
  return known;
}

}  // namespace

void replace_parts(const DatasetLock& lock, const std::vector<std::string>& parts,
                   const std::function<void(const std::string& path)>& write) {
  const fs::path folder = lock.folder();
  remove_stale(folder);
  for (const std::string& part : parts) require_columns(folder, parts.front(), part);
  const std::string name = name_between(folder.string(), parts);
  const fs::path staging =
      folder.parent_path() / fmt::format(".{}{}{:08x}", folder.filename().string(), kStaging, random_number());
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) fail_with(folder.string(), "look at the folder", errno);
  if (::mkdir(staging.c_str(), status.st_mode & 0777) != 0) fail_with(staging.string(), "make a folder", errno);
  std::set<std::string> known;
  try {
    write((staging / name).string());
    require_columns(folder, parts.front(), (staging / name).string());
    known = stage(folder, staging, parts);
    sync_folder(staging.string());
    if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
      fail_with(folder.string(), "exchange the folder", errno);
    }
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(staging, ignored);
    throw;
  }
  // What somebody put there without a lock, before the exchange and behind the list.
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(staging)) {
    if (!known.contains(entry.path().filename().string()))
      fs::rename(entry.path(), folder / entry.path().filename(), ignored);
  }
  // Whoever is listing the old folder goes on with it.
  fs::remove_all(staging / kReplaced, ignored);
  fs::rename(staging, folder / kReplaced / fmt::format("folder-{:08x}", random_number()), ignored);
  sync_folder(folder.parent_path().string());
}

std::string replaced_path(const std::string& path) {
  const fs::path of(path);
  const fs::path moved = of.parent_path() / kReplaced / of.filename();
  std::error_code ignored;
  return fs::exists(moved, ignored) ? moved.string() : "";
}

}  // namespace basalt
