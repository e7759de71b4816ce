// The writer: rows become chunks, chunks are encoded column by column on worker threads, and the calling thread puts
// finished chunks into the file in order. It does not touch the rows itself: a worker puts its column's slices
// together. Of the memory limit, a quarter is for rows being encoded (or one chunk), a sixth for those of the next
// chunk, a sixteenth for finished chunks that wait to be written column by column and an eighth for file-wide
// dictionaries; the rest is for what encoders need and for rows on their way here.
#include "basalt/file/writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>

#include "basalt/core/error.h"
#include "core/arrow_reader.h"
#include "core/canonical.h"
#include "file/column_writer.h"
#include "file/dataset.h"
#include "file/format.h"
#include "file/related_plan.h"
#include "file/replaceable.h"
#include "file/row_buffer.h"
#include "file/row_order.h"
#include "file/wrapped.h"
#include "file/write_checks.h"
#include "file/write_footer.h"

namespace basalt {

using namespace format_v1;

namespace {

// The slowest column of a chunk keeps a thread busy for long, so that each thread needs a chunk and one in waiting. How
// large chunks are does not depend on the threads, and so neither do the bytes.
constexpr uint64_t kLeastMemory = uint64_t{512} << 20;
constexpr uint64_t kMemoryPerThread = uint64_t{160} << 20;
// Plain bytes of a chunk. Each chunk has a dictionary, a table, a list of words of its own: few large ones are smaller.
// The least memory has room for either, so that chunks do not depend on threads.
constexpr uint64_t kChunksInMemory = 6;
constexpr uint64_t kChunkBytes = uint64_t{32} << 20;
constexpr uint64_t kChunkBytesForDisk = uint64_t{80} << 20;
static_assert(kChunkBytesForDisk * kChunksInMemory <= kLeastMemory);
uint64_t chunk_bytes_for(Purpose purpose) { return purpose == Purpose::kDisk ? kChunkBytesForDisk : kChunkBytes; }
// Of file-wide dictionaries. Which of them are given up must not depend on how many threads share the memory.
constexpr uint64_t kMostDictionaryMemory = uint64_t{64} << 20;
// Tables smaller than this are copied together before they are cut into chunks: a slice per column and table costs more
// than a few rows do.
constexpr uint64_t kSmallTableBytes = 1 << 20;
constexpr uint64_t kCollectedBytes = 4 << 20;
// Memory of a column that is kept for the next one.
constexpr size_t kMostSpareBytes = 16 << 20;

#ifndef BASALT_VERSION
#define BASALT_VERSION "unknown"
#endif

void flatten_column(Column& column, std::vector<Column*>& out) {
  out.push_back(&column);
  for (Column& child : column.children) flatten_column(child, out);
}

// A chunk on its way through the workers.
struct ChunkJob {
  uint32_t number = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::vector<uint64_t> row_bytes;  // of each of `flat`
  std::vector<Column> columns;      // without rows where there are slices
  std::vector<Column*> flat;
  std::vector<ColumnSlices> slices;  // of columns without children, until a worker puts them together
  std::vector<EncodedColumn> results;
  std::vector<size_t> waits_for;  // how many columns that are not encoded yet, by which this one is encoded
  std::atomic<size_t> left{0};
};

}  // namespace

struct Writer::State {
  State(const std::string& target, const Schema& given, const WriteOptions& given_options)
      : path(target), schema(given), options(given_options) {
    number_fields(schema);
    check_schema(schema, path);
    paths = paths_of(schema);
    fields = flatten(schema);
    check_options();
    prepare_columns();
    if (options.append) {
      dataset_part = std::make_unique<DatasetPart>(path, schema);
      path = dataset_part->path();
    }
    if (options.chunk_bytes == 0) options.chunk_bytes = chunk_bytes_for(options.purpose);
    options.memory_limit =
        options.memory_limit == 0 ? write_memory(options.threads) : std::max<uint64_t>(options.memory_limit, 16 << 20);
    const uint64_t limit = options.memory_limit;
    flight_limit = limit / 4;
    // Decides how regions lie in the file, which must not depend on the threads.
    waiting_limit = std::min(kLeastMemory, limit) / 16;
    dictionary_limit = std::min(kMostDictionaryMemory, limit / 8);
    buffer = std::make_unique<RowBuffer>(schema.fields.size(), options.chunk_rows,
                                         std::clamp<uint64_t>(options.chunk_bytes, 1, limit / kChunksInMemory));
    check_replaceable(path);
    file = std::make_unique<OutputFile>(path, OutputOptions{.durable = options.durable});
    write_header(*file);
    pool = std::make_unique<ThreadPool>(options.threads);
  }

  ~State() {
    abandoned.store(true);
    wait_for_workers();
  }

  uint32_t field_by_path(const std::string& name, const char* option) const {
    const auto found = std::find(paths.begin(), paths.end(), name);
    if (found == paths.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: {} names column {}, which does not exist", path, option, name));
    }
    return static_cast<uint32_t>(found - paths.begin());
  }

  void check_options() {
    if (!options.encoder) {
      options.encoder = [aims = Aims(options.effort, options.purpose)](const Values& values, const Tree& tree) {
        return encode_tree(values, tree, aims);
      };
    }
    if (options.chunk_rows == 0 || options.chunk_rows > kMaxChunkRows || options.chunk_rows % kZoneRows != 0) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: chunk_rows is {}, not a multiple of {} up to {}", path,
                                                           options.chunk_rows, kZoneRows, kMaxChunkRows));
    }
    for (const std::string& name : options.sort_columns) {
      const uint32_t id = sort_column(name);
      // Named twice, it orders nothing the second time.
      if (std::find(sort_ids.begin(), sort_ids.end(), id) == sort_ids.end()) sort_ids.push_back(id);
    }
    sorted = SortedTables(schema, sort_ids);
  }

  uint32_t sort_column(const std::string& name) const {
    const uint32_t id = field_by_path(name, "the sort order");
    if (!sortable_fields(schema)[id]) {
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: the sort order names column {}, but rows cannot be sorted by lists, their elements or "
                      "structs",
                      path, name));
    }
    return id;
  }

  void prepare_columns() {
    std::vector<const Tree*> forced(fields.size(), nullptr);
    for (const auto& [name, tree] : options.encodings) forced[field_by_path(name, "an encoding")] = &tree;
    related = std::make_unique<RelatedPlan>(schema);
    for (size_t i = 0; i < fields.size(); ++i) {
      try {
        const bool by_others = forced[i] != nullptr && !columns_of(*forced[i]).empty();
        encoders.push_back(std::make_unique<ColumnEncoder>(*fields[i], by_others ? nullptr : forced[i], options.encoder,
                                                           options.effort, options.purpose, options.link_gbs));
        if (by_others) relate(i, {*forced[i]}, true, false);
      } catch (const Error& error) {
        throw error.within(fmt::format("{}: column {} ({})", path, paths[i], to_string(*fields[i])));
      }
      columns.emplace_back(*fields[i]);
    }
    // Strings take longest: begun last, one of them would be waited for while other threads have nothing to do.
    for (size_t i = 0; i < fields.size(); ++i) slowest_first.push_back(i);
    std::stable_partition(slowest_first.begin(), slowest_first.end(),
                          [&](size_t i) { return physical_of(fields[i]->type) == Physical::kBytes; });
  }

  void relate(size_t i, std::vector<Tree> trees, bool by_force, bool one_chunk) {
    related->add(static_cast<uint32_t>(i), trees);
    encoders[i]->relate(std::move(trees), by_force, one_chunk);
  }

  // The first chunk shows which columns may be encoded by others.
  void find_related(const ChunkJob& job, bool one_chunk) {
    if (options.purpose != Purpose::kDisk || options.effort == Effort::kFast) return;
    for (auto& [field, trees] : related->find(job.slices, {job.rows, one_chunk, options.effort, options.purpose})) {
      if (!options.encodings.contains(paths[field])) relate(field, trees, false, one_chunk);
    }
  }

  void append(Table table) {
    check_table(table, schema, path);
    sorted.check(table, path);
    if (plain_bytes_of(table) < kSmallTableBytes) {
      collect(table);
    } else {
      pass_collected();
      pass(std::move(table));
    }
    report();
  }

  static uint64_t plain_bytes_of(const Table& table) {
    uint64_t total = 0;
    for (const Column& column : table.columns) total += column.plain_bytes();
    return total;
  }

  void collect(const Table& table) {
    if (collected.columns.empty()) {
      for (const Field& field : schema.fields) collected.columns.push_back(make_column(field));
    }
    for (size_t i = 0; i < table.columns.size(); ++i)
      append_rows(collected.columns[i], table.columns[i], 0, table.rows);
    collected.rows += table.rows;
    if (plain_bytes_of(collected) >= kCollectedBytes || collected.rows >= options.chunk_rows) pass_collected();
  }

  void pass_collected() {
    if (collected.rows > 0) pass(std::exchange(collected, {}));
  }

  // Cuts a table into chunks.
  void pass(Table table) {
    const uint64_t table_rows = table.rows;
    const SharedColumns shared = share_columns(std::move(table));
    for (uint64_t row = 0; row < table_rows;) {
      row += buffer->take(shared, table_rows, row);
      if (buffer->full()) close_chunk();
    }
  }

  void close_chunk() {
    auto job = std::make_shared<ChunkJob>();
    job->number = static_cast<uint32_t>(chunks.size());
    job->rows = buffer->rows();
    job->bytes = buffer->bytes();
    const bool is_full = buffer->full();  // others may follow
    std::vector<ColumnSlices> slices = buffer->release();
    for (size_t i = 0; i < slices.size(); ++i) {
      job->columns.push_back(make_column(schema.fields[i]));
      if (schema.fields[i].children.empty()) continue;
      // A nested column becomes several arrays, which are encoded apart from each other.
      gather(slices[i], job->columns[i]);
      empty_null_lists(job->columns[i]);
    }
    for (size_t i = 0; i < slices.size(); ++i) {
      const size_t first = job->flat.size();
      flatten_column(job->columns[i], job->flat);
      job->slices.resize(job->flat.size());
      job->row_bytes.resize(job->flat.size());
      for (size_t k = first; k < job->flat.size(); ++k) job->row_bytes[k] = own_plain_bytes(*job->flat[k]);
      if (!slices[i].empty()) job->row_bytes[first] = format_v1::plain_bytes_of(slices[i]);
      job->slices[first] = std::move(slices[i]);
    }
    job->results.resize(job->flat.size());
    job->left = job->flat.size();
    if (chunks.empty()) find_related(*job, !is_full);
    for (size_t i = 0; i < job->flat.size(); ++i) {
      job->waits_for.push_back(related->sources(static_cast<uint32_t>(i)).size());
    }
    chunks.push_back({rows, job->rows});
    rows += job->rows;
    plain_bytes += job->bytes;

    const uint64_t bytes = std::accumulate(job->row_bytes.begin(), job->row_bytes.end(), uint64_t{0});
    wait_until([&] { return in_flight == 0 || in_flight + bytes <= flight_limit; });
    {
      std::lock_guard lock(mutex);
      in_flight += bytes;
    }
    jobs.push_back(job);
    for (const size_t i : slowest_first) {
      if (!related->sources(static_cast<uint32_t>(i)).empty()) continue;  // when those are encoded
      count_running(1);
      try {
        pool->submit([this, job, i] { encode(*job, i); });
      } catch (...) {
        count_running(-1);
        throw;
      }
    }
  }

  void count_running(int change) {
    std::lock_guard lock(mutex);
    running += static_cast<size_t>(change);
  }

  // On a worker.
  void encode(ChunkJob& job, size_t i) {
    std::exception_ptr error;
    bool has_turn = true;  // which encode() passes on, and nobody else if it is not reached
    const auto encode_rows = [&](Column& column) {
      has_turn = false;
      const auto sources = related->sources_in(job.results, static_cast<uint32_t>(i));
      job.results[i] = encoders[i]->encode(column, job.number, sources);
    };
    try {
      if (options.cancel != nullptr) options.cancel->check();
      if (abandoned.load()) {
        // Nothing will come of it.
      } else if (job.slices[i].empty()) {
        encode_rows(*job.flat[i]);
        forget_rows(*job.flat[i]);
      } else {
        Column column = borrow_memory(*job.flat[i]);
        gather(job.slices[i], column);
        encode_rows(column);
        give_memory_back(std::move(column));
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (has_turn) encoders[i]->skip(job.number);
    for (const uint32_t dependent : encoded(job, i, error)) encode(job, dependent);
  }

  // Notes that a column is done, and gives those that have waited for it alone.
  std::vector<uint32_t> encoded(ChunkJob& job, size_t i, const std::exception_ptr& error) {
    std::vector<uint32_t> ready;
    std::lock_guard lock(mutex);
    if (error && (!failure || std::pair(job.number, i) < failed_at)) {
      failure = error;
      failed_at = {job.number, i};
      abandoned.store(true);
    }
    for (const uint32_t dependent : related->dependents(static_cast<uint32_t>(i))) {
      if (--job.waits_for[dependent] == 0) ready.push_back(dependent);
    }
    running += ready.size();
    --running;
    --job.left;
    in_flight -= job.row_bytes[i];
    in_flight += job.results[i].memory();  // until it is committed
    changed.notify_all();
    return ready;
  }

  static void forget_rows(Column& column) {
    column.values = Buffer();
    column.offsets = Buffer();
    column.bytes = Buffer();
    column.validity = Buffer();
  }

  // An empty column in memory that an earlier one has left: fresh memory costs a page fault every 4 KiB.
  Column borrow_memory(const Column& shape) {
    Column column;
    {
      std::lock_guard lock(mutex);
      if (!spare.empty()) {
        column = std::move(spare.back());
        spare.pop_back();
      }
    }
    column.type = shape.type;
    column.length = column.null_count = 0;
    for (Buffer* part : {&column.values, &column.offsets, &column.bytes, &column.validity}) part->clear();
    if (!shape.offsets.empty()) column.offsets.push<int64_t>(0);
    return column;
  }

  void give_memory_back(Column column) {
    const size_t bytes = column.values.capacity() + column.offsets.capacity() + column.bytes.capacity();
    if (bytes > kMostSpareBytes) return;
    std::lock_guard lock(mutex);
    if (spare.size() < pool->size()) spare.push_back(std::move(column));
  }

  // Puts finished chunks into the file, in order, until the condition holds, which is asked under the lock.
  template <typename Condition>
  void wait_until(Condition condition) {
    for (;;) {
      if (abandoned.load()) throw_failure();
      while (!jobs.empty() && jobs.front()->left == 0 && !abandoned.load()) commit_front();
      std::unique_lock lock(mutex);
      const auto can_commit = [&] { return !jobs.empty() && jobs.front()->left == 0; };
      changed.wait(lock, [&] { return condition() || can_commit() || abandoned.load(); });
      if (!abandoned.load() && !can_commit()) return;
    }
  }

  void commit_front() {
    const std::shared_ptr<ChunkJob> job = jobs.front();
    jobs.pop_front();
    {
      std::lock_guard lock(mutex);
      for (const EncodedColumn& result : job->results) in_flight -= result.memory();
    }
    uint64_t waiting = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      dictionary_memory -= columns[i].dictionary().memory();
      columns[i].add(std::move(job->results[i]), shapes);
      waiting += columns[i].waiting_bytes();
      dictionary_memory += columns[i].dictionary().memory();
      while (dictionary_memory > dictionary_limit) drop_largest_dictionary();
      if (!columns[i].dictionary().alive()) encoders[i]->wants_entries.store(false, std::memory_order_relaxed);
    }
    waiting_bytes = waiting;
    if (waiting >= waiting_limit) flush();
    if (options.cancel != nullptr) options.cancel->check();
    report();
  }

  void wait_for_workers() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0; });
  }

  // Waits for all, so that of several errors the first in file order is told.
  [[noreturn]] void throw_failure() {
    wait_for_workers();
    const std::string place = fmt::format("{}: column {}, chunk {}", path, paths[failed_at.second], failed_at.first);
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      throw error.within(place);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kOutOfMemory, place + ": there is not enough memory");
    }
  }

  // After an error: stops the workers and removes the temporary file at once.
  void give_up() {
    abandoned.store(true);
    wait_for_workers();
    file.reset();
  }

  // Dictionaries over the whole file share a budget; the largest one gives way.
  void drop_largest_dictionary() {
    size_t largest = 0;
    for (size_t i = 1; i < columns.size(); ++i) {
      if (columns[i].dictionary().memory() > columns[largest].dictionary().memory()) largest = i;
    }
    dictionary_memory -= columns[largest].dictionary().memory();
    columns[largest].dictionary().give_up();
    encoders[largest]->wants_entries.store(false, std::memory_order_relaxed);
  }

  void flush() {
    for (ColumnWriter& column : columns) column.flush(*file);
    for (ColumnWriter& column : columns) column.place_shared(columns);
    waiting_bytes = 0;
  }

  void report() const {
    if (!options.progress) return;
    options.progress({rows + buffer->rows() + collected.rows, plain_bytes + buffer->bytes() + plain_bytes_of(collected),
                      file->position() + waiting_bytes});
  }

  WriteSummary finish() {
    pass_collected();
    if (buffer->rows() > 0) close_chunk();
    wait_until([&] { return jobs.empty(); });
    flush();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (encoders[i]->entries() != nullptr) columns[i].write_entries(*encoders[i]->entries(), *file);
    }
    const std::string created_by = options.created_by.empty() ? "basalt " BASALT_VERSION : options.created_by;
    write_footer({schema, chunks, rows, sort_ids, created_by, options.metadata}, columns, shapes, options.encoder,
                 *file);
    if (options.wrap_small) wrap_if_small(*file, options.effort);
    check_replaceable(path);  // again: somebody may have put a file there meanwhile
    file->commit();
    dataset_part.reset();
    report();
    return summary();
  }

  WriteSummary summary() const {
    WriteSummary out;
    out.rows = rows;
    out.chunks = chunks.size();
    out.file_bytes = file->position();
    for (size_t i = 0; i < columns.size(); ++i) {
      ColumnSummary column;
      column.path = paths[i];
      column.type = to_string(*fields[i]);
      column.plain_bytes = columns[i].plain_bytes();
      column.encoded_bytes = columns[i].encoded_bytes();
      out.plain_bytes += column.plain_bytes;
      std::vector<size_t> order(columns[i].shapes().size());
      for (size_t s = 0; s < order.size(); ++s) order[s] = s;
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return columns[i].shape_chunks()[a] > columns[i].shape_chunks()[b]; });
      for (const size_t s : order) {
        if (!columns[i].encodings()[s].empty()) column.trees.push_back(columns[i].encodings()[s]);
      }
      out.columns.push_back(std::move(column));
    }
    return out;
  }

  std::string path;
  std::unique_ptr<DatasetPart> dataset_part;  // where a folder is added to
  Schema schema;
  WriteOptions options;
  std::vector<std::string> paths;
  std::vector<const Field*> fields;
  std::vector<uint32_t> sort_ids;
  SortedTables sorted{schema, {}};
  std::vector<std::unique_ptr<ColumnEncoder>> encoders;
  std::unique_ptr<RelatedPlan> related;
  std::vector<ColumnWriter> columns;
  std::vector<size_t> slowest_first;  // columns in the order in which they are encoded
  ShapeTable shapes;
  Table collected;  // small tables on their way to the buffer
  std::unique_ptr<RowBuffer> buffer;
  std::unique_ptr<OutputFile> file;
  std::vector<ChunkInfo> chunks;
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;
  uint64_t flight_limit = 0;
  uint64_t waiting_limit = 0;
  uint64_t dictionary_limit = 0;
  uint64_t dictionary_memory = 0;
  uint64_t waiting_bytes = 0;                  // of finished chunks, not yet written
  std::deque<std::shared_ptr<ChunkJob>> jobs;  // in chunk order
  bool over = false;                           // finished or failed

  std::mutex mutex;
  std::condition_variable changed;
  size_t running = 0;
  uint64_t in_flight = 0;     // bytes of rows that are not encoded yet, and of encoded columns that are not committed
  std::vector<Column> spare;  // memory of columns that were encoded
  std::atomic<bool> abandoned{false};
  std::exception_ptr failure;
  std::pair<uint32_t, size_t> failed_at;  // chunk, column
  std::unique_ptr<ThreadPool> pool;       // last: its threads use the rest
};

uint64_t write_memory(uint32_t threads, uint64_t most) {
  const auto machine =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t wanted = kMemoryPerThread * (threads == 0 ? hardware_threads() : threads);
  return std::max(kLeastMemory, std::min({wanted, machine / 8, most}));
}

Writer::Writer(const std::string& path, const Schema& schema, const WriteOptions& options)
    : state_(std::make_unique<State>(path, schema, options)) {}
Writer::~Writer() = default;
uint64_t Writer::memory_limit() const { return state_->options.memory_limit; }

namespace {

// Runs a step of the writer; after an error nothing is left of the file and the writer refuses further steps.
template <typename Body>
auto guarded(Writer::State& state, Body&& body) {
  if (state.over) throw Error(ErrorCode::kInvalidArgument, state.path + ": the writer is finished or has failed");
  try {
    return body();
  } catch (...) {
    state.over = true;
    state.give_up();
    throw;
  }
}

}  // namespace

void Writer::append(Table rows) {
  guarded(*state_, [&] { state_->append(std::move(rows)); });
}

WriteSummary Writer::finish() {
  WriteSummary summary = guarded(*state_, [&] { return state_->finish(); });
  state_->over = true;
  return summary;
}

WriteSummary write_table(const std::string& path, Table table, const WriteOptions& options) {
  Writer writer(path, table.schema, options);
  writer.append(std::move(table));
  return writer.finish();
}

WriteSummary write_arrow_stream(const std::string& path, ArrowArrayStream* stream, const WriteOptions& options) {
  Notices notices;
  arrow::StreamReader reader(stream, path, &notices);
  Writer writer(path, reader.schema(), options);
  while (std::unique_ptr<Table> batch = reader.next()) {
    if (options.cancel != nullptr) options.cancel->check();
    writer.append(std::move(*batch));
  }
  WriteSummary summary = writer.finish();
  summary.notices = std::move(notices);
  return summary;
}

}  // namespace basalt
