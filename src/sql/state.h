// What Basalt keeps inside a DuckDB database and its connections: open files, the log of the running statement for its
// report, and the translation of errors in both directions.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/exec/column_cache.h"
#include "basalt/exec/pipeline.h"
#include "basalt/exec/scan.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "duckdb.hpp"
#include "duckdb/main/client_context_state.hpp"
#include "duckdb/storage/object_cache.hpp"

namespace basalt::sql {

// Open files by path, so that a shell's statements share footers, and the GPU's cache recognises a file again. A file
// that changed on disk is opened anew.
class FileCache : public duckdb::ObjectCacheEntry {
 public:
  static std::shared_ptr<const File> open(duckdb::ClientContext& context, const std::string& path);

  static duckdb::string ObjectType() { return "basalt_files"; }  // NOLINT: looked for under this name
  duckdb::string GetObjectType() override { return ObjectType(); }
  duckdb::optional_idx GetEstimatedCacheMemory() const override { return duckdb::optional_idx(); }

 private:
  struct Stamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Entry {
    Stamp stamp;
    std::shared_ptr<const File> file;
    std::list<std::string>::iterator recent;
  };
  std::shared_ptr<const File> get(const std::string& path);

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  // most recent first
};

// What pipelines on the CPU use again from statement to statement: threads, and columns that were read.
class Kept : public duckdb::ObjectCacheEntry {
 public:
  static std::shared_ptr<Kept> of(duckdb::ClientContext& context);
  // As many as the settings say. One statement at a time uses those that are kept, others get their own: none waits for
  // another to end.
  std::shared_ptr<ThreadPool> threads(duckdb::ClientContext& context);
  // Under the limit that the settings say; nullptr: keep none.
  ColumnCache* columns(duckdb::ClientContext& context);

  static duckdb::string ObjectType() { return "basalt_kept"; }  // NOLINT: looked for under this name
  duckdb::string GetObjectType() override { return ObjectType(); }
  duckdb::optional_idx GetEstimatedCacheMemory() const override { return duckdb::optional_idx(); }

 private:
  std::mutex mutex_;
  std::shared_ptr<ThreadPool> threads_;
  ColumnCache columns_{0};
};

// The setting of this name; 0 = as many as DuckDB uses.
uint32_t basalt_threads(duckdb::ClientContext& context);

// Lines for EXPLAIN ANALYZE.
void put_tile_counts(const TileCounts& tiles, duckdb::InsertionOrderPreservingMap<duckdb::string>& text);

// What one scan of a plan reads: paths or patterns as they were asked for, and the files they stood for.
struct ScanSource {
  std::vector<std::string> patterns;
  std::vector<std::shared_ptr<const File>> files;
};
struct PlanSources {
  std::vector<ScanSource> scans;
  bool has_others = false;      // tables and functions that are not Basalt's scan
  bool left_in_duckdb = false;  // DuckDB scans .basalt files itself
  bool whole = false;           // Basalt's operator is all of the plan
};

struct LoweredQuery;

// The log of one connection's running statement.
class StatementLog : public duckdb::ClientContextState {
 public:
  static std::shared_ptr<StatementLog> of(duckdb::ClientContext& context);

  void clear();
  void add_in_basalt(const std::string& text) { add(in_basalt_, text); }
  void add_in_duckdb(const std::string& text) { add(in_duckdb_, text); }
  void add_why_duckdb(const std::string& reason) { add(why_duckdb_, reason); }
  void add_note(const std::string& text) { add(notes_, text); }
  void set_why_cpu(const std::string& reason);
  // A file that a COPY wrote.
  void add_file(const std::string& path, WriteSummary summary);
  void add_notices(const Notices& notices) {
    for (const std::string& notice : notices) add(notices_, notice);
  }
  void add_scan(const ScanCounters& counters);
  void add_run(const RunReport& report);

  // A file that is far away stays as it was opened until the next statement; nullptr: it was not yet.
  std::shared_ptr<const File> remote_file(const std::string& path) const;
  // Gives the one that others have opened meanwhile, if there is one.
  std::shared_ptr<const File> keep_remote_file(const std::string& path, std::shared_ptr<const File> file);

  // What planning has told, for runs of the same plan.
  struct Planned {
    std::vector<std::string> in_duckdb;
    std::vector<std::string> why_duckdb;
    std::vector<std::string> notes;
    Notices notices;
    bool used_basalt = false;
    PlanSources sources;
  };
  Planned planned() const;
  void set_planned(const Planned& planned);

  // A copy of everything so far.
  struct Snapshot {
    std::vector<std::string> in_basalt;
    std::vector<std::string> in_duckdb;
    std::vector<std::string> why_duckdb;
    std::vector<std::string> notes;
    Notices notices;
    std::vector<RunReport> runs;
    std::string why_cpu;
    ScanCounters scans;
    uint64_t chunks_scanned = 0;
    bool used_basalt = false;
  };
  Snapshot snapshot() const;
  bool used() const { return used_.load(std::memory_order_relaxed); }
  void mark_used() { used_.store(true, std::memory_order_relaxed); }

  // The last error thrown through DuckDB, whose own exceptions have no room for our code.
  void set_error(const Error& error);
  // The code of `message` if it is the sentence of the last error.
  bool find_code(const std::string& message, ErrorCode& code) const;

  // Replaced for every statement; workers that still hold the old one stay cancelled.
  std::shared_ptr<CancelToken> cancel_token() const;
  void new_cancel_token();

  // Options of the next COPY … TO '.basalt', which SQL text cannot carry, and what came out of it.
  std::shared_ptr<const WriteOptions> write_options;
  WriteSummary write_summary;
  bool writes_file = false;  // the statement is a COPY to files
  // Where the results of statements go, other than COPY's; may not be among their inputs. Empty: to no file.
  std::string output;
  // Whether the connection's owner keeps plans and looks at their files before it runs them again. Other users of
  // DuckDB have theirs made anew each time.
  bool keeps_statements = false;
  PlanSources sources;  // of the statement, where plans are kept
  // What is planned is a statement's shape (kept_shapes.h): its filters stay where they are, and nothing is lowered
  // yet.
  bool plans_shape = false;
  bool leaves_plans = false;  // the plan is to be lowered as a whole, afterwards
  // What the next statement that is planned runs in place of its own plan; nullptr: that.
  std::shared_ptr<const LoweredQuery> stands_for;
  // What the next operator that starts runs instead of its own query, once.
  void set_bound(std::shared_ptr<const LoweredQuery> bound);
  std::shared_ptr<const LoweredQuery> take_bound();

 private:
  void add(std::vector<std::string>& list, const std::string& text);

  mutable std::mutex mutex_;
  std::vector<std::string> in_basalt_;
  std::vector<std::string> in_duckdb_;
  std::vector<std::string> why_duckdb_;
  std::vector<std::string> notes_;
  std::string why_cpu_;
  uint64_t files_written_ = 0;
  uint64_t plain_bytes_written_ = 0;
  uint64_t file_bytes_written_ = 0;
  std::string last_file_;  // what became of it
  Notices notices_;
  std::vector<RunReport> runs_;
  ScanCounters scans_;
  uint64_t chunks_scanned_ = 0;
  std::atomic<bool> used_{false};
  std::shared_ptr<const LoweredQuery> bound_;
  std::unordered_map<std::string, std::shared_ptr<const File>> remote_files_;
  ErrorCode error_code_ = ErrorCode::kInternal;
  std::string error_message_;
  std::shared_ptr<CancelToken> cancel_ = std::make_shared<CancelToken>();
};

// Throws a DuckDB exception with the error's sentence and remembers its code.
[[noreturn]] void throw_in_duckdb(duckdb::ClientContext& context, const Error& error);

// Runs `body`; a Basalt error leaves it as a DuckDB exception.
template <typename Body>
auto guarded(duckdb::ClientContext& context, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw_in_duckdb(context, error);
  }
}

// DuckDB's error as ours.
Error to_error(const duckdb::ErrorData& error, const StatementLog* log);
// Errors that DuckDB throws instead of returning them carry JSON: they become ours.
template <typename Body>
auto translated(const StatementLog* log, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw to_error(duckdb::ErrorData(exception), log);
  }
}

// Throws what DuckDB's own file systems do if `enable_external_access` is off and nothing allows this path.
void check_access(duckdb::ClientContext& context, const std::string& path);

// Settings.
Device device_setting(duckdb::ClientContext& context);
uint64_t number_setting(duckdb::ClientContext& context, const char* name);
// basalt_decoded_limit, but not more than DuckDB may use.
uint64_t decoded_limit(duckdb::ClientContext& context);
bool flag_setting(duckdb::ClientContext& context, const char* name);
Device parse_device(const std::string& text);  // throws Error(kInvalidArgument)
const char* to_string(Device device);

}  // namespace basalt::sql
