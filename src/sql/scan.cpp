// The scan as a table function: what binding finds, what it tells the optimizer, and the state that threads share.
#include "sql/scan.h"

#include <algorithm>

#include "duckdb/common/multi_file/multi_file_function.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "sql/found_files.h"
#include "sql/scan_reader.h"
#include "sql/state.h"
#include "sql/statistics.h"
#include "sql/string_filters.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::GlobalTableFunctionState;
using duckdb::LocalTableFunctionState;
using duckdb::LogicalType;
using duckdb::MultiFileBindData;
using duckdb::unique_ptr;

namespace {

constexpr const char* kFirstRow = "first_row";
constexpr const char* kRows = "rows";
constexpr size_t kMaxFilesForCardinality = 256;
// With fewer, threads idle at the end of a scan.
constexpr uint64_t kPartsPerThread = 2;

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
