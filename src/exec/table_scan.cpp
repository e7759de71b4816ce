// Scans of whole files: chunks are scanned ahead by a pool of threads and given out in order.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "basalt/core/error.h"
#include "basalt/exec/scan.h"
#include "core/saturating.h"
#include "exec/planned_reads.h"

namespace basalt {

namespace {

constexpr uint32_t kTableRows = 65536;

// What a thread has made of one chunk.
struct ChunkTables {
  bool done = false;
  std::deque<Table> tables;
  ScanCounters counters;
  std::exception_ptr error;
};

}  // namespace

struct Scan::State {
  struct ChunkRef {
    std::shared_ptr<const File> file;
    uint32_t chunk = 0;
    std::vector<uint32_t> columns;
    std::shared_ptr<exec::PlannedFile> planned;  // gone with the file's last chunk
  };

  ScanOptions options;
  Schema schema;
  std::vector<ChunkRef> chunks;
  ScanCounters counters;

  std::mutex mutex;
  std::condition_variable finished;
  std::vector<ChunkTables> results;
  uint64_t submitted = 0;
  uint64_t given = 0;  // chunks whose tables have all left
  std::atomic<bool> stopping{false};
  std::unique_ptr<ThreadPool> pool;  // last: its threads end before the rest goes

  void plan_file(const ChunkRef& ref);
  void scan_chunk(uint64_t index, ChunkTables& out);
  void submit_ahead();
  ChunkTables& wait_for(uint64_t index);
};

void Scan::State::plan_file(const ChunkRef& ref) {
  std::call_once(ref.planned->once, [&] {
    std::vector<uint32_t> fields;
    for (const uint32_t column : ref.columns) fields.push_back(ref.file->schema().fields[column].id);
    const Expr* filter = options.has_filter ? &options.filter : nullptr;
    ref.planned->plan = exec::plan_reads(*ref.file, fields, filter, options.filter_columns);
  });
}

void Scan::State::scan_chunk(uint64_t index, ChunkTables& out) {
  const ChunkRef& ref = chunks[index];
  plan_file(ref);
  ChunkScan scan(ref.file, ref.chunk, ref.columns, options.has_filter ? &options.filter : nullptr,
                 options.filter_columns, options.row_numbers, kTableRows, {}, {options.decoded_limit, options.cancel});
  uint64_t bytes = 0;
  uint64_t most = options.decoded_limit;
  for (const uint32_t column : ref.columns) {
    const uint32_t field = ref.file->schema().fields[column].id;
    most = add_saturated(most, ref.file->column(field).chunks[ref.chunk].encoded_bytes);
  }
  Table table;
  while (!stopping.load(std::memory_order_relaxed) && scan.next(table)) {
    for (const Column& column : table.columns) bytes += column.plain_bytes();
    if (bytes > most) fail_decoded_limit(bytes, most);
    out.tables.push_back(std::exchange(table, {}));
  }
  out.counters = scan.counters();
}

void Scan::State::submit_ahead() {
  const uint64_t ahead = given + pool->size();
  for (; submitted < chunks.size() && submitted < ahead; ++submitted) {
    const uint64_t index = submitted;
    pool->submit([this, index] {
      ChunkTables out;
      try {
        if (!stopping.load(std::memory_order_relaxed)) scan_chunk(index, out);
      } catch (...) {
        out.error = std::current_exception();
      }
      out.done = true;
      std::lock_guard lock(mutex);
      results[index] = std::move(out);
      finished.notify_all();
    });
  }
}

ChunkTables& Scan::State::wait_for(uint64_t index) {
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return results[index].done; });
  return results[index];
}

Scan::Scan(std::vector<std::shared_ptr<const File>> files, ScanOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  for (const auto& file : files) {
    std::vector<uint32_t> columns;
    Schema schema;
    if (state.options.columns.empty()) {
      for (uint32_t i = 0; i < file->schema().fields.size(); ++i) columns.push_back(i);
    }
    for (const std::string& name : state.options.columns) columns.push_back(file->find_column(name));
    for (const uint32_t column : columns) schema.fields.push_back(file->schema().fields[column]);
    if (state.options.row_numbers) {
      Field field;
      field.name = "file_row_number";
      field.type = {TypeKind::kInt64};
      field.nullable = false;
      schema.fields.push_back(field);
    }
    if (state.chunks.empty() && state.schema.fields.empty()) state.schema = schema;
    bool same = schema.fields.size() == state.schema.fields.size();
    for (size_t i = 0; same && i < schema.fields.size(); ++i) {
      same = to_string(schema.fields[i]) == to_string(state.schema.fields[i]);
    }
    if (!same) {
      throw Error(ErrorCode::kInvalidArgument, file->name() + ": its columns differ from those of the first file");
    }
    const auto planned = std::make_shared<exec::PlannedFile>();
    for (uint32_t i = 0; i < file->chunks().size(); ++i) state.chunks.push_back({file, i, columns, planned});
  }
  state.results.resize(state.chunks.size());
  const uint64_t wanted = state.options.threads == 0 ? hardware_threads() : state.options.threads;
  state.pool = std::make_unique<ThreadPool>(
      static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(wanted, state.chunks.size()))));
}

Scan::~Scan() { state_->stopping = true; }

const Schema& Scan::schema() const { return state_->schema; }
const ScanCounters& Scan::counters() const { return state_->counters; }

bool Scan::next(Table& out) {
  State& state = *state_;
  while (state.given < state.chunks.size()) {
    if (state.options.cancel != nullptr) state.options.cancel->check();
    state.submit_ahead();
    ChunkTables& result = state.wait_for(state.given);
    if (result.error != nullptr) std::rethrow_exception(result.error);
    if (!result.tables.empty()) {
      out = std::move(result.tables.front());
      result.tables.pop_front();
      return true;
    }
    state.counters.tiles += result.counters.tiles;
    state.counters.rows_out += result.counters.rows_out;
    state.chunks[state.given].planned.reset();
    ++state.given;
    if (state.options.progress) {
      state.options.progress(static_cast<double>(state.given) / static_cast<double>(state.chunks.size()));
    }
  }
  return false;
}

void export_scan(std::unique_ptr<Scan> scan, ArrowArrayStream* out) {
  const Schema schema = scan->schema();
  const std::shared_ptr<Scan> owned = std::move(scan);
  export_stream(
      schema,
      [owned]() -> std::unique_ptr<Table> {
        auto table = std::make_unique<Table>();
        if (!owned->next(*table)) return nullptr;
        return table;
      },
      out);
}

}  // namespace basalt
