// The scan: a chunk of a file, or a part of one where there are few, is the unit of work of a thread. Pushed filters
// run inside Basalt as far as they can be lowered, there with zone statistics and tile by tile; DuckDB evaluates the
// rest on the rows that are left.
#include "sql/scan.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "core/distinct_names.h"
#include "duckdb/common/multi_file/multi_file_function.hpp"
#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/planner/table_filter_state.hpp"
#include "duckdb/storage/table/column_segment.hpp"
#include "exec/planned_reads.h"
#include "sql/expressions.h"
#include "sql/found_files.h"
#include "sql/state.h"
#include "sql/statistics.h"
#include "sql/string_filters.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::GlobalTableFunctionState;
using duckdb::LocalTableFunctionState;
using duckdb::LogicalType;
using duckdb::MultiFileBindData;
using duckdb::MultiFileLocalIndex;
using duckdb::unique_ptr;

namespace {

constexpr const char* kRowNumber = "file_row_number";
constexpr const char* kFirstRow = "first_row";
constexpr const char* kRows = "rows";
constexpr size_t kMaxFilesForCardinality = 256;
// With fewer, threads idle at the end of a scan.
constexpr uint64_t kPartsPerThread = 2;
// Lists of strings that are handed over as dictionaries: longer ones cost more than their rows.
constexpr uint64_t kMostDictionaryEntries = 1 << 16;

struct ScanGlobalState : GlobalTableFunctionState {
  // Of the current file; guarded by the multi-file reader's lock.
  uint32_t next_chunk = 0;
  std::deque<ChunkPart> parts;  // of the chunk before, not yet given out
  uint64_t wanted_parts = 1;    // of all files together
  uint64_t files = 1;
  bool prune = true;
  std::shared_ptr<CancelToken> cancel;
  DecodeLimits limits;
  std::shared_ptr<Kept> kept;
  std::unique_ptr<ColumnCache::Use> cache;  // in what is kept; nullptr: nothing is
  std::shared_ptr<StatementLog> log;
  const MultiFileBindData* bind_data = nullptr;
  const duckdb::MultiFileGlobalState* outer = nullptr;  // which knows the columns that leave the scan
  mutable std::mutex tiles_mutex;
  TileCounts tiles;
};

// A filter that DuckDB evaluates after the scan.
struct ResidualFilter {
  duckdb::idx_t column;  // in the scan's chunk
  duckdb::TableFilter* filter;
  unique_ptr<duckdb::TableFilterState> state;
};

// A column that the reader must convert before its filter can run (union_by_name with different types).
struct Conversion {
  duckdb::idx_t column;
  duckdb::Expression* expression;
  unique_ptr<duckdb::ExpressionExecutor> executor;
  duckdb::DataChunk input;
};

struct ScanLocalState : LocalTableFunctionState {
  uint32_t chunk = 0;
  ChunkPart part;
  std::unique_ptr<ChunkScan> scan;
  Table rows;
  const void* reader = nullptr;  // whose filters and conversions these are
  std::vector<ResidualFilter> residual;
  std::deque<Conversion> conversions;  // in place: chunks cannot move
  std::vector<bool> left_out;          // columns that only filters read, and these inside Basalt
  std::vector<duckdb::buffer_ptr<duckdb::VectorChildBuffer>> dictionaries;  // of the chunk, by column of the scan
  duckdb::SelectionVector selection{STANDARD_VECTOR_SIZE};
};

class BasaltReader : public duckdb::BaseFileReader {
 public:
  BasaltReader(ClientContext& context, const duckdb::OpenFileInfo& info, const ScanOptions& options)
      : duckdb::BaseFileReader(info), options_(options) {
    basalt_file = guarded(context, [&] { return FileCache::open(context, info.path); });
    StatementLog::of(context)->mark_used();
    add_columns(context);
    // A table without columns is none to SQL: the numbers of its rows stand for them.
    if (options.file_row_number || columns.empty()) {
      if (find_column(*basalt_file, kRowNumber) >= 0) {
        throw duckdb::BinderException("%s has a column named file_row_number: the option of that name cannot be used",
                                      info.path);
      }
      columns.emplace_back(kRowNumber, LogicalType::BIGINT);
    }
  }

  duckdb::string GetReaderType() const override { return "Basalt"; }

  void AddVirtualColumn(duckdb::column_t column) override {
    if (column != duckdb::MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER) {
      throw duckdb::InternalException("basalt_scan has no virtual column %llu", column);
    }
  }

  duckdb::shared_ptr<duckdb::BaseUnionData> GetUnionData(duckdb::idx_t file_index) override;

  unique_ptr<duckdb::BaseStatistics> GetStatistics(ClientContext& context, const duckdb::string& name) override {
    return guarded(context, [&]() -> unique_ptr<duckdb::BaseStatistics> {
      const int column = find_column(*basalt_file, name);
      return column < 0 ? nullptr : column_statistics(*basalt_file, static_cast<uint32_t>(column));
    });
  }

  bool TryInitializeScan(ClientContext&, GlobalTableFunctionState& global, LocalTableFunctionState& local) override {
    auto& state = global.Cast<ScanGlobalState>();
    const uint64_t chunks = basalt_file->chunks().size();
    while (state.parts.empty()) {
      while (state.next_chunk < chunks && !is_wanted(basalt_file->chunks()[state.next_chunk])) ++state.next_chunk;
      if (state.next_chunk >= chunks) return false;
      // Chunks are split as far as there are fewer of them than threads, since every part opens its readers anew; and
      // into parts of a row group's size for writers that keep rows in order, which else put them together again.
      const uint64_t units = chunks * state.files;
      const uint64_t row_groups = basalt_file->chunks()[state.next_chunk].rows / DEFAULT_ROW_GROUP_SIZE;
      const auto wanted = static_cast<uint32_t>(
          std::max((state.wanted_parts + units - 1) / units, state.log->writes_file ? row_groups : 1));
      const uint64_t first = basalt_file->chunks()[state.next_chunk].first_row;
      for (ChunkPart& part : split_chunk(*basalt_file, state.next_chunk, wanted)) {
        part = clip_part(std::move(part), std::max(options_.first_row, first) - first, options_.end_row() - first);
        if (part.first_tile < part.end_tile) state.parts.push_back(std::move(part));
      }
      ++state.next_chunk;
    }
    auto& own = local.Cast<ScanLocalState>();
    own.chunk = state.next_chunk - 1;
    own.part = std::move(state.parts.front());
    state.parts.pop_front();
    return true;
  }

  void FinishFile(ClientContext&, GlobalTableFunctionState& global) override {
    global.Cast<ScanGlobalState>().next_chunk = 0;
  }

  void PrepareScan(ClientContext& context, GlobalTableFunctionState& global, LocalTableFunctionState& local) override {
    auto& state = local.Cast<ScanLocalState>();
    guarded(context, [&] { start_chunk(context, global.Cast<ScanGlobalState>(), state); });
  }

  duckdb::AsyncResult Scan(ClientContext& context, GlobalTableFunctionState& global, LocalTableFunctionState& local,
                           duckdb::DataChunk& output) override {
    auto& state = local.Cast<ScanLocalState>();
    const bool more = guarded(context, [&] { return read_batch(state, output); });
    if (more) return duckdb::SourceResultType::HAVE_MORE_OUTPUT;
    auto& totals = global.Cast<ScanGlobalState>();
    const ScanCounters& counters = state.scan->counters();
    {
      const std::lock_guard lock(totals.tiles_mutex);
      totals.tiles += counters.tiles;
    }
    totals.log->add_scan(counters);
    rows_done_ +=
        std::min<uint64_t>(basalt_file->chunks()[state.chunk].rows, uint64_t{state.part.end_tile} * kTileRows) -
        uint64_t{state.part.first_tile} * kTileRows;
    state.scan.reset();
    state.part = {};
    return duckdb::SourceResultType::FINISHED;
  }

  double GetProgressInFile(ClientContext&) override {
    const uint64_t rows = options_.rows_of(*basalt_file);
    const uint64_t done = std::min(rows, rows_done_.load());
    return rows == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(rows);
  }

  std::shared_ptr<const File> basalt_file;

 private:
  void add_columns(ClientContext& context) {
    const std::vector<Field>& fields = basalt_file->schema().fields;
    const std::vector<std::string> names = distinct_names(fields);
    for (size_t i = 0; i < fields.size(); ++i) {
      columns.push_back(duckdb::MultiFileColumnDefinition::CreateFromNameAndType(names[i], to_logical_type(fields[i])));
    }
    const bool renames = !std::equal(fields.begin(), fields.end(), names.begin(), names.end(),
                                     [](const Field& field, const std::string& name) { return field.name == name; });
    if (!renames) return;
    Notices notices;
    std::vector<Field> renamed = fields;
    make_names_distinct(renamed, &notices);
    StatementLog::of(context)->add_notices(notices);
  }

  bool is_wanted(const ChunkInfo& chunk) const {
    return chunk.first_row + chunk.rows > options_.first_row && chunk.first_row < options_.end_row();
  }

  bool is_row_number(duckdb::idx_t local_column) const { return local_column >= basalt_file->schema().fields.size(); }
  const Field& field_of(duckdb::idx_t local_column) const { return basalt_file->schema().fields[local_column]; }

  void start_chunk(ClientContext& context, const ScanGlobalState& global, ScanLocalState& state) {
    const bool new_reader = state.reader != this;
    if (new_reader) prepare_conversions(context, state);
    if (new_reader) state.residual.clear();
    std::vector<Expr> parts;
    std::vector<PipelineColumn> filter_columns;
    if (filters) {
      for (auto& [index, filter] : filters->filters) {
        add_filter(context, index, *filter, global.prune, new_reader, state, parts, filter_columns);
      }
    }
    if (new_reader) find_left_out(global, state);
    state.reader = this;
    std::vector<uint32_t> wanted;
    bool row_numbers = false;
    for (duckdb::idx_t i = 0; i < column_ids.size(); ++i) {
      const duckdb::idx_t column = column_ids[MultiFileLocalIndex(i)].GetId();
      row_numbers = row_numbers || is_row_number(column);
      if (!is_row_number(column) && !state.left_out[i]) wanted.push_back(static_cast<uint32_t>(column));
    }
    if (new_reader) note_changes(wanted, *global.log);
    Expr combined;
    if (!parts.empty()) combined = conjunction(std::move(parts));
    const bool filtered = !filter_columns.empty();
    plan_requests(wanted, filtered ? &combined : nullptr, filter_columns);
    state.scan = std::make_unique<ChunkScan>(basalt_file, state.chunk, std::move(wanted),
                                             filtered ? &combined : nullptr, std::move(filter_columns), row_numbers,
                                             STANDARD_VECTOR_SIZE, state.part, global.limits);
    state.scan->give_codes(kMostDictionaryEntries);
    if (new_reader && global.cache != nullptr) global.cache->add(basalt_file);
    state.scan->use_cache(global.cache.get());
    state.dictionaries.clear();
  }

  // Once for the file: what hints rule out later is fetched with its neighbours, or not at all.
  void plan_requests(const std::vector<uint32_t>& wanted, const Expr* filter,
                     const std::vector<PipelineColumn>& filter_columns) {
    if (basalt_file->source().is_local()) return;
    const std::lock_guard lock(plan_mutex_);
    if (plan_ != nullptr) return;
    std::vector<uint32_t> fields;
    for (const uint32_t column : wanted) fields.push_back(field_of(column).id);
    plan_ = exec::plan_reads(*basalt_file, fields, filter, filter_columns, options_.first_row, options_.end_row());
  }

  void note_changes(const std::vector<uint32_t>& wanted, StatementLog& log) const {
    Notices notices;
    for (const uint32_t column : wanted) note_sql_type(field_of(column), field_of(column).name, notices);
    if (!notices.empty()) log.add_notices(notices);
  }

  // A column that was filtered here and that nobody asks for afterwards is not decoded.
  void find_left_out(const ScanGlobalState& global, ScanLocalState& state) {
    state.left_out.assign(column_ids.size(), false);
    if (global.outer->projection_ids.empty() || !filters) return;
    for (const auto& entry : filters->filters) {
      const duckdb::idx_t index = entry.first;
      const duckdb::idx_t column = column_ids[MultiFileLocalIndex(index)].GetId();
      if (is_row_number(column)) continue;
      const bool again = std::any_of(state.residual.begin(), state.residual.end(),
                                     [&](const ResidualFilter& residual) { return residual.column == index; });
      state.left_out[index] = !again && !leaves_scan(global, columns[column].name);
    }
  }

  static bool leaves_scan(const ScanGlobalState& global, const std::string& name) {
    for (const duckdb::idx_t id : global.outer->projection_ids) {
      const duckdb::ColumnIndex& column = global.outer->column_indexes.at(id);
      if (column.IsVirtualColumn()) continue;
      const std::string& projected = global.bind_data->names.at(column.GetPrimaryIndex());
      if (duckdb::StringUtil::CIEquals(projected, name)) return true;
    }
    return false;
  }

  void prepare_conversions(ClientContext& context, ScanLocalState& state) {
    state.conversions.clear();
    for (duckdb::idx_t i = 0; i < column_ids.size(); ++i) {
      const duckdb::idx_t column = column_ids[MultiFileLocalIndex(i)].GetId();
      const auto found = expression_map.find(column);
      if (found == expression_map.end()) continue;
      Conversion& conversion = state.conversions.emplace_back();
      conversion.column = i;
      conversion.expression = found->second.get();
      conversion.executor = duckdb::make_uniq<duckdb::ExpressionExecutor>(context, *found->second);
      conversion.input.Initialize(context, {columns[column].type});
    }
  }

  void add_filter(ClientContext& context, duckdb::idx_t index, duckdb::TableFilter& filter, bool lower, bool new_reader,
                  ScanLocalState& state, std::vector<Expr>& parts, std::vector<PipelineColumn>& filter_columns) {
    const duckdb::idx_t column = column_ids[MultiFileLocalIndex(index)].GetId();
    LoweredFilter lowered;
    if (lower && !is_row_number(column) && expression_map.find(column) == expression_map.end()) {
      const Field& field = field_of(column);
      if (field.children.empty() && !needs_rescale(field.type)) {
        const Expr reference = column_reference(static_cast<uint32_t>(filter_columns.size()), physical_of(field.type));
        lowered = lower_filter(filter, reference, columns[column].type);
        if (lowered.expr) {
          parts.push_back(*std::move(lowered.expr));
          filter_columns.push_back({field.id, field.name, field.type});
        }
      }
    }
    // Whether a filter is complete does not depend on what dynamic filters hold at the moment.
    if (!lowered.complete && new_reader) {
      state.residual.push_back({index, &filter, duckdb::TableFilterState::Initialize(context, filter)});
    }
  }

  bool read_batch(ScanLocalState& state, duckdb::DataChunk& output) {
    if (!state.scan->next(state.rows)) return false;
    const uint64_t rows = state.rows.rows;
    output.SetCardinality(rows);
    size_t next = 0;
    for (duckdb::idx_t i = 0; i < column_ids.size(); ++i) {
      const duckdb::idx_t column = column_ids[MultiFileLocalIndex(i)].GetId();
      if (is_row_number(column)) {
        const Column& numbers = state.rows.columns.back();
        std::memcpy(duckdb::FlatVector::GetData(output.data[i]), numbers.values.data(), rows * sizeof(int64_t));
        continue;
      }
      if (state.left_out[i]) {
        output.data[i].SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
        duckdb::ConstantVector::SetNull(output.data[i], true);
        continue;
      }
      Conversion* conversion = find_conversion(state, i);
      duckdb::Vector& target = conversion != nullptr ? conversion->input.data[0] : output.data[i];
      if (conversion != nullptr) conversion->input.Reset();
      Column& rows_of_column = state.rows.columns[next++];
      check_promises(*basalt_file, field_of(column), rows_of_column);
      fill(state, next - 1, rows_of_column, field_of(column), target);
      if (conversion != nullptr) {
        conversion->input.SetCardinality(rows);
        conversion->executor->ExecuteExpression(conversion->input, output.data[i]);
      }
    }
    apply_residual(state, output);
    return true;
  }

  static void fill(ScanLocalState& state, size_t number, Column& rows, const Field& field, duckdb::Vector& target) {
    const StringRows* entries = state.scan->entries(number);
    if (entries == nullptr) {
      const bool strings = physical_of(field.type) == Physical::kBytes;
      if (!strings || !fill_filled_strings(rows, field, target)) fill_vector(std::move(rows), field, target);
      return;
    }
    // One for all batches, by which DuckDB knows that what it found out about an entry still holds.
    if (state.dictionaries.size() <= number) state.dictionaries.resize(number + 1);
    auto& dictionary = state.dictionaries[number];
    if (dictionary == nullptr) dictionary = make_dictionary(*entries, target.GetType());
    fill_codes(rows, dictionary, target);
  }

  static Conversion* find_conversion(ScanLocalState& state, duckdb::idx_t column) {
    for (Conversion& conversion : state.conversions) {
      if (conversion.column == column) return &conversion;
    }
    return nullptr;
  }

  static void apply_residual(ScanLocalState& state, duckdb::DataChunk& output) {
    if (state.residual.empty()) return;
    const duckdb::idx_t rows = output.size();
    duckdb::idx_t left = rows;
    for (duckdb::idx_t i = 0; i < rows; ++i) state.selection.set_index(i, i);
    duckdb::SelectionVector selection(state.selection);
    for (ResidualFilter& residual : state.residual) {
      if (left == 0) break;
      duckdb::Vector& vector = output.data[residual.column];
      duckdb::UnifiedVectorFormat format;
      vector.ToUnifiedFormat(rows, format);
      duckdb::ColumnSegment::FilterSelection(selection, vector, format, *residual.filter, *residual.state, rows, left);
    }
    if (left < rows) output.Slice(selection, left);
  }

  ScanOptions options_;
  std::atomic<uint64_t> rows_done_{0};
  std::mutex plan_mutex_;
  std::shared_ptr<const RemoteSource::Plan> plan_;
};

struct BasaltUnionData : duckdb::BaseUnionData {
  explicit BasaltUnionData(duckdb::OpenFileInfo info) : duckdb::BaseUnionData(std::move(info)) {}
  duckdb::optional_idx TryGetCardinalityEstimate() const override { return rows; }
  duckdb::idx_t rows = 0;
};

duckdb::shared_ptr<duckdb::BaseUnionData> BasaltReader::GetUnionData(duckdb::idx_t file_index) {
  auto result = duckdb::make_shared_ptr<BasaltUnionData>(file);
  for (const auto& column : columns) {
    result->names.push_back(column.name);
    result->types.push_back(column.type);
  }
  result->rows = options_.rows_of(*basalt_file);
  if (file_index == 0) result->reader = shared_from_this();
  return result;
}

struct BasaltMultiFile : duckdb::MultiFileReaderInterface {
  // NOLINTNEXTLINE: called under this name
  static unique_ptr<duckdb::MultiFileReaderInterface> CreateInterface(ClientContext&) {
    return duckdb::make_uniq<BasaltMultiFile>();
  }

  unique_ptr<duckdb::BaseFileReaderOptions> InitializeOptions(
      ClientContext&, duckdb::optional_ptr<duckdb::TableFunctionInfo>) override {
    return duckdb::make_uniq<ScanOptions>();
  }

  bool ParseCopyOption(ClientContext&, const duckdb::string&, const duckdb::vector<duckdb::Value>&,
                       duckdb::BaseFileReaderOptions&, duckdb::vector<duckdb::string>&,
                       duckdb::vector<LogicalType>&) override {
    return false;
  }

  bool ParseOption(ClientContext&, const duckdb::string& key, const duckdb::Value& value, duckdb::MultiFileOptions&,
                   duckdb::BaseFileReaderOptions& options) override {
    auto& own = options.Cast<ScanOptions>();
    const auto is = [&](const char* name) { return duckdb::StringUtil::CIEquals(key, name); };
    if (!is(kRowNumber) && !is(kFirstRow) && !is(kRows)) return false;
    if (value.IsNull()) throw duckdb::BinderException("%s cannot be NULL", key);
    if (is(kRowNumber)) own.file_row_number = duckdb::BooleanValue::Get(value);
    if (is(kFirstRow)) own.first_row = duckdb::UBigIntValue::Get(value);
    if (is(kRows)) own.rows = duckdb::UBigIntValue::Get(value);
    return true;
  }

  unique_ptr<duckdb::TableFunctionData> InitializeBindData(MultiFileBindData&,
                                                           unique_ptr<duckdb::BaseFileReaderOptions> options) override {
    auto result = duckdb::make_uniq<ScanBindData>();
    result->options = duckdb::unique_ptr_cast<duckdb::BaseFileReaderOptions, ScanOptions>(std::move(options));
    return result;
  }

  void BindReader(ClientContext& context, duckdb::vector<LogicalType>& types, duckdb::vector<duckdb::string>& names,
                  MultiFileBindData& bind_data) override {
    auto& own = bind_data.bind_data->Cast<ScanBindData>();
    bind_data.reader_bind = bind_data.multi_file_reader->BindReader(context, types, names, *bind_data.file_list,
                                                                    bind_data, *own.options, bind_data.file_options);
  }

  void FinalizeBindData(MultiFileBindData& bind_data) override {
    if (!bind_data.initial_reader) return;
    auto& own = bind_data.bind_data->Cast<ScanBindData>();
    const File& file = *bind_data.initial_reader->Cast<BasaltReader>().basalt_file;
    own.first_file_rows = own.options->rows_of(file);
    own.first_file_parts = 0;
    for (uint32_t chunk = 0; chunk < file.chunks().size(); ++chunk) {
      own.first_file_parts += split_chunk(file, chunk, ~0u).size();
    }
    own.first_file_parts = std::max<duckdb::idx_t>(own.first_file_parts, 1);
  }

  duckdb::optional_idx MaxThreads(const MultiFileBindData& bind_data, const duckdb::MultiFileGlobalState&,
                                  duckdb::FileExpandResult expanded) override {
    if (expanded == duckdb::FileExpandResult::MULTIPLE_FILES) return {};
    return bind_data.bind_data->Cast<ScanBindData>().first_file_parts;
  }

  unique_ptr<GlobalTableFunctionState> InitializeGlobalState(ClientContext& context, MultiFileBindData& bind_data,
                                                             duckdb::MultiFileGlobalState& outer) override {
    auto state = duckdb::make_uniq<ScanGlobalState>();
    state->bind_data = &bind_data;
    state->outer = &outer;
    state->log = StatementLog::of(context);
    state->prune = flag_setting(context, "basalt_pruning");
    state->cancel = state->log->cancel_token();
    state->limits = {decoded_limit(context), state->cancel.get()};
    state->kept = Kept::of(context);
    // Whoever writes a file anew reads the old one once.
    ColumnCache* columns = state->log->writes_file ? nullptr : state->kept->columns(context);
    if (columns != nullptr)
      state->cache = std::make_unique<ColumnCache::Use>(*columns, std::vector<std::shared_ptr<const File>>());
    const auto threads = duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads();
    state->wanted_parts = threads > 1 ? kPartsPerThread * static_cast<uint64_t>(threads) : 1;
    state->files = std::max<uint64_t>(bind_data.file_list->GetFileCount(state->wanted_parts).count, 1);
    return state;
  }

  unique_ptr<LocalTableFunctionState> InitializeLocalState(duckdb::ExecutionContext&,
                                                           GlobalTableFunctionState&) override {
    return duckdb::make_uniq<ScanLocalState>();
  }

  duckdb::shared_ptr<duckdb::BaseFileReader> CreateReader(ClientContext& context, GlobalTableFunctionState&,
                                                          duckdb::BaseUnionData& data,
                                                          const MultiFileBindData& bind_data) override {
    return open(context, data.file, *bind_data.bind_data->Cast<ScanBindData>().options);
  }

  duckdb::shared_ptr<duckdb::BaseFileReader> CreateReader(ClientContext& context, GlobalTableFunctionState&,
                                                          const duckdb::OpenFileInfo& file, duckdb::idx_t,
                                                          const MultiFileBindData& bind_data) override {
    return open(context, file, *bind_data.bind_data->Cast<ScanBindData>().options);
  }

  duckdb::shared_ptr<duckdb::BaseFileReader> CreateReader(ClientContext& context, const duckdb::OpenFileInfo& file,
                                                          duckdb::BaseFileReaderOptions& options,
                                                          const duckdb::MultiFileOptions&) override {
    return open(context, file, options.Cast<ScanOptions>());
  }

  unique_ptr<duckdb::NodeStatistics> GetCardinality(ClientContext& context, const MultiFileBindData& bind_data,
                                                    duckdb::idx_t file_count) override {
    const auto& own = bind_data.bind_data->Cast<ScanBindData>();
    duckdb::idx_t rows = file_count == 1 ? own.first_file_rows : 0;
    if (file_count != 1) {
      const auto files = guarded(context, [&] { return open_files(context, bind_data, kMaxFilesForCardinality); });
      if (files.empty()) return duckdb::make_uniq<duckdb::NodeStatistics>(own.first_file_rows * file_count);
      for (const auto& file : files) rows += own.options->rows_of(*file);
    }
    return duckdb::make_uniq<duckdb::NodeStatistics>(
        static_cast<duckdb::idx_t>(static_cast<double>(rows) * own.expected_share), rows);
  }

  void GetVirtualColumns(ClientContext&, MultiFileBindData&, duckdb::virtual_column_map_t& result) override {
    result.insert(std::make_pair(duckdb::MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER,
                                 duckdb::TableColumn(kRowNumber, LogicalType::BIGINT)));
  }

  unique_ptr<duckdb::MultiFileReaderInterface> Copy() override { return duckdb::make_uniq<BasaltMultiFile>(); }

  duckdb::FileGlobInput GetGlobInput() override {
    return duckdb::FileGlobInput(duckdb::FileGlobOptions::FALLBACK_GLOB, "basalt");
  }

 private:
  static duckdb::shared_ptr<duckdb::BaseFileReader> open(ClientContext& context, const duckdb::OpenFileInfo& file,
                                                         const ScanOptions& options) {
    return duckdb::make_shared_ptr<BasaltReader>(context, file, options);
  }
};

using ScanFunction = duckdb::MultiFileFunction<BasaltMultiFile>;

// DuckDB plans statements over files anew for every run, since they may have changed, unless somebody looks after that.
struct CheckedBindData : MultiFileBindData {
  bool SupportStatementCache() const override { return true; }  // NOLINT: called under this name
};

unique_ptr<duckdb::FunctionData> bind_scan(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                           duckdb::vector<LogicalType>& types, duckdb::vector<duckdb::string>& names) {
  auto bound = ScanFunction::MultiFileBind(context, input, types, names);
  if (!StatementLog::of(context)->keeps_statements) return bound;
  auto& from = bound->Cast<MultiFileBindData>();
  auto checked = duckdb::make_uniq<CheckedBindData>();
  checked->bind_data = std::move(from.bind_data);
  checked->file_list = std::move(from.file_list);
  checked->multi_file_reader = std::move(from.multi_file_reader);
  checked->interface = std::move(from.interface);
  checked->columns = std::move(from.columns);
  checked->reader_bind = std::move(from.reader_bind);
  checked->file_options = std::move(from.file_options);
  checked->types = std::move(from.types);
  checked->names = std::move(from.names);
  checked->virtual_columns = std::move(from.virtual_columns);
  checked->table_columns = std::move(from.table_columns);
  checked->initial_reader = std::move(from.initial_reader);
  checked->union_readers = std::move(from.union_readers);
  return checked;
}

duckdb::InsertionOrderPreservingMap<duckdb::string> scan_text(duckdb::TableFunctionToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<duckdb::string> text;
  const auto& scan = input.bind_data->Cast<MultiFileBindData>().bind_data->Cast<ScanBindData>();
  if (!scan.why_in_duckdb.empty()) text["In DuckDB"] = scan.why_in_duckdb;
  return text;
}

duckdb::InsertionOrderPreservingMap<duckdb::string> pruning_text(duckdb::TableFunctionDynamicToStringInput& input) {
  auto result = ScanFunction::MultiFileDynamicToString(input);
  const auto& state = input.global_state->Cast<duckdb::MultiFileGlobalState>().global_state->Cast<ScanGlobalState>();
  const std::lock_guard lock(state.tiles_mutex);
  put_tile_counts(state.tiles, result);
  return result;
}

void prepare_filters(ClientContext& context, duckdb::LogicalGet& get, duckdb::FunctionData* bind_data,
                     duckdb::vector<unique_ptr<duckdb::Expression>>& filters) {
  ScanFunction::MultiFileComplexFilterPushdown(context, get, bind_data, filters);
  keep_string_filters_whole(get, filters);
}

}  // namespace

unique_ptr<duckdb::FunctionData> ScanBindData::Copy() const {
  auto copy = duckdb::make_uniq<ScanBindData>();
  copy->options = duckdb::make_uniq<ScanOptions>(*options);
  copy->first_file_rows = first_file_rows;
  copy->first_file_parts = first_file_parts;
  copy->why_in_duckdb = why_in_duckdb;
  copy->expected_share = expected_share;
  copy->opened_list = opened_list;
  copy->opened = opened;
  return copy;
}

bool is_scan(const duckdb::TableFunction& function) { return function.name == kScanName || function.name == kReadName; }

duckdb::TableFunctionSet scan_functions(const char* name) {
  ScanFunction function(name);
  function.named_parameters[kRowNumber] = LogicalType::BOOLEAN;
  function.named_parameters[kFirstRow] = LogicalType::UBIGINT;
  function.named_parameters[kRows] = LogicalType::UBIGINT;
  function.get_multi_file_reader = make_file_finder;
  function.bind = bind_scan;
  function.statistics = scan_statistics;
  function.get_partition_stats = scan_partition_statistics;
  function.to_string = scan_text;
  function.dynamic_to_string = pruning_text;
  function.pushdown_complex_filter = prepare_filters;
  function.pushdown_expression = takes_filter;
  function.filter_pushdown = true;
  function.filter_prune = true;
  function.verify_serialization = false;
  return duckdb::MultiFileReader::CreateFunctionSet(static_cast<duckdb::TableFunction>(function));
}

unique_ptr<duckdb::FunctionData> bind_copy_from(ClientContext& context, duckdb::CopyFromFunctionBindInput& input,
                                                duckdb::vector<duckdb::string>& names,
                                                duckdb::vector<LogicalType>& types) {
  return ScanFunction::MultiFileBindCopy(context, input, names, types);
}

}  // namespace basalt::sql
