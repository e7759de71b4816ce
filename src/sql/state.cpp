// Open files, the statement's log, errors and settings of Basalt inside DuckDB.
#include "sql/state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/human.h"
#include "duckdb/common/string_util.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/storage/buffer_manager.hpp"
#include "file/dataset.h"
#include "sql/remote_files.h"

namespace basalt::sql {

namespace {
constexpr size_t kMaxOpenFiles = 256;
constexpr const char* kLogKey = "basalt_statement_log";
}  // namespace

std::shared_ptr<const File> FileCache::open(duckdb::ClientContext& context, const std::string& path) {
  check_access(context, path);
  if (auto remote = open_remote(context, path)) return remote;
  auto cache = duckdb::ObjectCache::GetObjectCache(context).GetOrCreate<FileCache>("basalt_files");
  return cache->get(path);
}

std::shared_ptr<const File> FileCache::get(const std::string& path) {
  struct stat info {};
  bool known = ::stat(path.c_str(), &info) == 0;
  if (!known && errno == ENOENT) {
    // Listed before a dataset was compacted, and opened after that.
    if (const std::string moved = replaced_path(path); !moved.empty()) return get(moved);
  }
  Stamp stamp;
  if (known) {
    stamp = {.device = static_cast<uint64_t>(info.st_dev),
             .inode = static_cast<uint64_t>(info.st_ino),
             .size = static_cast<uint64_t>(info.st_size),
             .seconds = info.st_mtim.tv_sec,
             .nanoseconds = info.st_mtim.tv_nsec};
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(path);
    if (found != entries_.end()) {
      if (found->second.stamp == stamp) {
        recent_.splice(recent_.begin(), recent_, found->second.recent);
        return found->second.file;
      }
      recent_.erase(found->second.recent);
      entries_.erase(found);
    }
  }
  std::shared_ptr<const File> file = File::open(path);
  if (!known) return file;
  const std::lock_guard lock(mutex_);
  const auto [place, added] = entries_.try_emplace(path);
  if (!added) return place->second.file;
  recent_.push_front(path);
  place->second = {stamp, file, recent_.begin()};
  if (entries_.size() > kMaxOpenFiles) {
    entries_.erase(recent_.back());
    recent_.pop_back();
  }
  return file;
}

std::shared_ptr<Kept> Kept::of(duckdb::ClientContext& context) {
  // DuckDB's own shared pointer is a distinct type; the deleter carries it.
  auto inner = duckdb::ObjectCache::GetObjectCache(context).GetOrCreate<Kept>(ObjectType());
  Kept* raw = inner.get();
  return {raw, [inner](Kept*) mutable { inner.reset(); }};
}

uint32_t basalt_threads(duckdb::ClientContext& context) {
  constexpr uint64_t kMost = 1024;  // more are a mistake
  const uint64_t wanted = number_setting(context, "basalt_threads");
  if (wanted > kMost) {
    throw Error(ErrorCode::kInvalidArgument,
                "basalt_threads is " + std::to_string(wanted) + ", the most is " + std::to_string(kMost));
  }
  return static_cast<uint32_t>(wanted);
}

std::shared_ptr<ThreadPool> Kept::threads(duckdb::ClientContext& context) {
  uint32_t wanted = basalt_threads(context);
  if (wanted == 0) wanted = static_cast<uint32_t>(duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads());
  const std::lock_guard lock(mutex_);
  const bool lent = threads_ != nullptr && threads_.use_count() > 1;
  if (lent) return std::make_shared<ThreadPool>(wanted);
  if (threads_ == nullptr || threads_->size() != wanted) threads_ = std::make_shared<ThreadPool>(wanted);
  return threads_;
}

ColumnCache* Kept::columns(duckdb::ClientContext& context) {
  const uint64_t limit = number_setting(context, "basalt_cache_memory");
  columns_.set_limit(limit);
  return limit > 0 ? &columns_ : nullptr;
}

std::shared_ptr<StatementLog> StatementLog::of(duckdb::ClientContext& context) {
  // DuckDB's own shared pointer is a distinct type; the deleter carries it.
  auto inner = context.registered_state->GetOrCreate<StatementLog>(kLogKey);
  StatementLog* raw = inner.get();
  return {raw, [inner](StatementLog*) mutable { inner.reset(); }};
}

void StatementLog::clear() {
  const std::lock_guard lock(mutex_);
  in_basalt_.clear();
  in_duckdb_.clear();
  why_duckdb_.clear();
  notes_.clear();
  why_cpu_.clear();
  files_written_ = plain_bytes_written_ = file_bytes_written_ = 0;
  notices_.clear();
  runs_.clear();
  scans_ = {};
  chunks_scanned_ = 0;
  used_ = false;
  error_message_.clear();
  remote_files_.clear();
  sources = {};
  bound_ = nullptr;
}

std::shared_ptr<const File> StatementLog::remote_file(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = remote_files_.find(path);
  return found == remote_files_.end() ? nullptr : found->second;
}

std::shared_ptr<const File> StatementLog::keep_remote_file(const std::string& path, std::shared_ptr<const File> file) {
  const std::lock_guard lock(mutex_);
  return remote_files_.try_emplace(path, std::move(file)).first->second;
}

StatementLog::Planned StatementLog::planned() const {
  const std::lock_guard lock(mutex_);
  return {in_duckdb_, why_duckdb_, notes_, notices_, used_.load(), sources};
}

void StatementLog::set_planned(const Planned& planned) {
  const std::lock_guard lock(mutex_);
  in_duckdb_ = planned.in_duckdb;
  why_duckdb_ = planned.why_duckdb;
  notes_ = planned.notes;
  notices_ = planned.notices;
  used_ = planned.used_basalt;
  sources = planned.sources;
}

void StatementLog::set_bound(std::shared_ptr<const LoweredQuery> bound) {
  const std::lock_guard lock(mutex_);
  bound_ = std::move(bound);
}

std::shared_ptr<const LoweredQuery> StatementLog::take_bound() {
  const std::lock_guard lock(mutex_);
  return std::exchange(bound_, nullptr);
}

void put_tile_counts(const TileCounts& tiles, duckdb::InsertionOrderPreservingMap<duckdb::string>& text) {
  text["Tiles"] = std::to_string(tiles.total);
  text["Tiles Skipped"] = std::to_string(tiles.skipped);
  text["Tiles Taken Whole"] = std::to_string(tiles.all_true);
  text["Tiles By Bounds"] = std::to_string(tiles.by_bounds);
  text["Tiles By Models"] = std::to_string(tiles.by_model);
  text["Tiles Decoded"] = std::to_string(tiles.decoded);
  if (tiles.texts_in_place + tiles.texts_decoded == 0) return;
  text["Strings Tested In Place"] = std::to_string(tiles.texts_in_place);
  text["Strings Decoded"] = std::to_string(tiles.texts_decoded);
}

void StatementLog::add(std::vector<std::string>& list, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

void StatementLog::set_why_cpu(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  why_cpu_ = reason;
}

void StatementLog::add_file(const std::string& path, WriteSummary summary) {
  constexpr size_t kMostColumns = 8;
  std::string text = fmt::format("{}: {} → {}", std::filesystem::path(path).filename().string(),
                                 human_bytes(summary.plain_bytes), human_bytes(summary.file_bytes));
  const size_t named = std::min(summary.columns.size(), kMostColumns);
  for (size_t i = 0; i < named; ++i) {
    const ColumnSummary& column = summary.columns[i];
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", column.path, column.trees.empty() ? "-" : column.trees[0]);
  }
  if (named < summary.columns.size()) text += fmt::format(" and {} more columns", summary.columns.size() - named);
  const std::lock_guard lock(mutex_);
  ++files_written_;
  plain_bytes_written_ += summary.plain_bytes;
  file_bytes_written_ += summary.file_bytes;
  last_file_ = std::move(text);
  write_summary = std::move(summary);
}

void StatementLog::add_scan(const ScanCounters& counters) {
  const std::lock_guard lock(mutex_);
  scans_.tiles += counters.tiles;
  scans_.rows_out += counters.rows_out;
  ++chunks_scanned_;
}

void StatementLog::add_run(const RunReport& report) {
  const std::lock_guard lock(mutex_);
  runs_.push_back(report);
}

StatementLog::Snapshot StatementLog::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot out{in_basalt_, in_duckdb_, why_duckdb_, notes_,          notices_,
               runs_,      why_cpu_,   scans_,      chunks_scanned_, used_.load()};
  if (files_written_ == 1) out.notes.push_back(last_file_);
  if (files_written_ > 1) {
    out.notes.push_back(fmt::format("{} files: {} → {}", human_count(files_written_), human_bytes(plain_bytes_written_),
                                    human_bytes(file_bytes_written_)));
  }
  return out;
}

void StatementLog::set_error(const Error& error) {
  const std::lock_guard lock(mutex_);
  error_code_ = error.code();
  error_message_ = error.what();
}

bool StatementLog::find_code(const std::string& message, ErrorCode& code) const {
  const std::lock_guard lock(mutex_);
  if (error_message_.empty() || message.find(error_message_) == std::string::npos) return false;
  code = error_code_;
  return true;
}

std::shared_ptr<CancelToken> StatementLog::cancel_token() const {
  const std::lock_guard lock(mutex_);
  return cancel_;
}

void StatementLog::new_cancel_token() {
  auto fresh = std::make_shared<CancelToken>();
  const std::lock_guard lock(mutex_);
  cancel_ = std::move(fresh);
}

void throw_in_duckdb(duckdb::ClientContext& context, const Error& error) {
  StatementLog::of(context)->set_error(error);
  duckdb::ExceptionType type = duckdb::ExceptionType::IO;
  switch (error.code()) {
    case ErrorCode::kInvalidArgument: type = duckdb::ExceptionType::INVALID_INPUT; break;
    case ErrorCode::kUnsupported: type = duckdb::ExceptionType::NOT_IMPLEMENTED; break;
    case ErrorCode::kOverLimit:
    case ErrorCode::kOutOfMemory: type = duckdb::ExceptionType::OUT_OF_MEMORY; break;
    case ErrorCode::kOutOfRange: type = duckdb::ExceptionType::OUT_OF_RANGE; break;
    case ErrorCode::kCancelled: throw duckdb::InterruptException();
    default: break;
  }
  throw duckdb::Exception(type, error.what());
}

Error to_error(const duckdb::ErrorData& error, const StatementLog* log) {
  const std::string text = error.Message();
  // Rows that were being fetched end so when their statement is interrupted.
  if (text.empty()) return Error(ErrorCode::kCancelled, "the statement was cancelled");
  ErrorCode code = ErrorCode::kInvalidArgument;
  if (log != nullptr && log->find_code(error.RawMessage(), code)) return Error(code, error.RawMessage());
  switch (error.Type()) {
    case duckdb::ExceptionType::INTERRUPT: return Error(ErrorCode::kCancelled, "the statement was cancelled");
    case duckdb::ExceptionType::IO:
    case duckdb::ExceptionType::HTTP: code = ErrorCode::kIo; break;
    case duckdb::ExceptionType::OUT_OF_MEMORY: code = ErrorCode::kOutOfMemory; break;
    case duckdb::ExceptionType::OUT_OF_RANGE:
    case duckdb::ExceptionType::CONVERSION: code = ErrorCode::kOutOfRange; break;
    case duckdb::ExceptionType::NOT_IMPLEMENTED: code = ErrorCode::kUnsupported; break;
    case duckdb::ExceptionType::INTERNAL:
    case duckdb::ExceptionType::FATAL: code = ErrorCode::kInternal; break;
    default: break;
  }
  return Error(code, text);
}

void check_access(duckdb::ClientContext& context, const std::string& path) {
  if (duckdb::DBConfig::GetConfig(context).CanAccessFile(path, duckdb::FileType::FILE_TYPE_REGULAR)) return;
  throw duckdb::PermissionException("Cannot access file \"%s\" - file system operations are disabled by configuration",
                                    path);
}

namespace {
duckdb::Value setting(duckdb::ClientContext& context, const char* name) {
  duckdb::Value value;
  if (!context.TryGetCurrentSetting(name, value)) {
    throw Error(ErrorCode::kInternal, std::string("the setting ") + name + " is missing");
  }
  return value;
}
}  // namespace

Device device_setting(duckdb::ClientContext& context) {
  return parse_device(setting(context, "basalt_device").ToString());
}

uint64_t number_setting(duckdb::ClientContext& context, const char* name) {
  return setting(context, name).GetValue<uint64_t>();
}

uint64_t decoded_limit(duckdb::ClientContext& context) {
  return std::min<uint64_t>(number_setting(context, "basalt_decoded_limit"),
                            duckdb::BufferManager::GetBufferManager(context).GetMaxMemory());
}

bool flag_setting(duckdb::ClientContext& context, const char* name) { return setting(context, name).GetValue<bool>(); }

Device parse_device(const std::string& text) {
  const std::string lower = duckdb::StringUtil::Lower(text);
  if (lower == "auto") return Device::kAuto;
  if (lower == "cpu") return Device::kCpu;
  if (lower == "cuda") return Device::kCuda;
  throw Error(ErrorCode::kInvalidArgument, "unknown device '" + text + "': expected auto, cpu or cuda");
}

const char* to_string(Device device) {
  switch (device) {
    case Device::kAuto: return "auto";
    case Device::kCpu: return "cpu";
    case Device::kCuda: return "cuda";
  }
  return "auto";
}

}  // namespace basalt::sql
