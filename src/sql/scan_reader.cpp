#include "sql/scan_reader.h"

#include <algorithm>

#include "core/distinct_names.h"
#include "duckdb/storage/table/column_segment.hpp"
#include "sql/expressions.h"
#include "sql/statistics.h"
#include "sql/string_filters.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::GlobalTableFunctionState;
using duckdb::LocalTableFunctionState;
using duckdb::LogicalType;
using duckdb::MultiFileLocalIndex;
using duckdb::unique_ptr;

namespace {

// Lists of strings that are handed over as dictionaries: longer ones cost more than their rows.
constexpr uint64_t kMostDictionaryEntries = 1 << 16;

struct BasaltUnionData : duckdb::BaseUnionData {
  explicit BasaltUnionData(duckdb::OpenFileInfo info) : duckdb::BaseUnionData(std::move(info)) {}
  duckdb::optional_idx TryGetCardinalityEstimate() const override { return rows; }
  duckdb::idx_t rows = 0;
};

}  // namespace

BasaltReader::BasaltReader(ClientContext& context, const duckdb::OpenFileInfo& info, const ScanOptions& options)
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

void BasaltReader::AddVirtualColumn(duckdb::column_t column) {
  if (column != duckdb::MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER) {
    throw duckdb::InternalException("basalt_scan has no virtual column %llu", column);
  }
}

unique_ptr<duckdb::BaseStatistics> BasaltReader::GetStatistics(ClientContext& context, const duckdb::string& name) {
  return guarded(context, [&]() -> unique_ptr<duckdb::BaseStatistics> {
    const int column = find_column(*basalt_file, name);
    return column < 0 ? nullptr : column_statistics(*basalt_file, static_cast<uint32_t>(column));
  });
}

bool BasaltReader::TryInitializeScan(ClientContext&, GlobalTableFunctionState& global, LocalTableFunctionState& local) {
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

void BasaltReader::FinishFile(ClientContext&, GlobalTableFunctionState& global) {
  global.Cast<ScanGlobalState>().next_chunk = 0;
}

void BasaltReader::PrepareScan(ClientContext& context, GlobalTableFunctionState& global,
                               LocalTableFunctionState& local) {
  auto& state = local.Cast<ScanLocalState>();
  guarded(context, [&] { start_chunk(context, global.Cast<ScanGlobalState>(), state); });
}

duckdb::AsyncResult BasaltReader::Scan(ClientContext& context, GlobalTableFunctionState& global,
                                       LocalTableFunctionState& local, duckdb::DataChunk& output) {
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
  rows_done_ += std::min<uint64_t>(basalt_file->chunks()[state.chunk].rows, uint64_t{state.part.end_tile} * kTileRows) -
                uint64_t{state.part.first_tile} * kTileRows;
  state.scan.reset();
  state.part = {};
  return duckdb::SourceResultType::FINISHED;
}

double BasaltReader::GetProgressInFile(ClientContext&) {
  const uint64_t rows = options_.rows_of(*basalt_file);
  const uint64_t done = std::min(rows, rows_done_.load());
  return rows == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(rows);
}

void BasaltReader::add_columns(ClientContext& context) {
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

bool BasaltReader::is_wanted(const ChunkInfo& chunk) const {
  return chunk.first_row + chunk.rows > options_.first_row && chunk.first_row < options_.end_row();
}

void BasaltReader::start_chunk(ClientContext& context, const ScanGlobalState& global, ScanLocalState& state) {
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
  state.scan = std::make_unique<ChunkScan>(basalt_file, state.chunk, std::move(wanted), filtered ? &combined : nullptr,
                                           std::move(filter_columns), row_numbers, STANDARD_VECTOR_SIZE, state.part,
                                           global.limits);
  state.scan->give_codes(kMostDictionaryEntries);
  if (new_reader && global.cache != nullptr) global.cache->add(basalt_file);
  state.scan->use_cache(global.cache.get());
  state.dictionaries.clear();
}

void BasaltReader::plan_requests(const std::vector<uint32_t>& wanted, const Expr* filter,
                                 const std::vector<PipelineColumn>& filter_columns) {
  if (basalt_file->source().is_local()) return;
  const std::lock_guard lock(plan_mutex_);
  if (plan_ != nullptr) return;
  std::vector<uint32_t> fields;
  for (const uint32_t column : wanted) fields.push_back(field_of(column).id);
  plan_ = exec::plan_reads(*basalt_file, fields, filter, filter_columns, options_.first_row, options_.end_row());
}

void BasaltReader::note_changes(const std::vector<uint32_t>& wanted, StatementLog& log) const {
  Notices notices;
  for (const uint32_t column : wanted) note_sql_type(field_of(column), field_of(column).name, notices);
  if (!notices.empty()) log.add_notices(notices);
}

void BasaltReader::find_left_out(const ScanGlobalState& global, ScanLocalState& state) {
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

bool BasaltReader::leaves_scan(const ScanGlobalState& global, const std::string& name) {
  for (const duckdb::idx_t id : global.outer->projection_ids) {
    const duckdb::ColumnIndex& column = global.outer->column_indexes.at(id);
    if (column.IsVirtualColumn()) continue;
    const std::string& projected = global.bind_data->names.at(column.GetPrimaryIndex());
    if (duckdb::StringUtil::CIEquals(projected, name)) return true;
  }
  return false;
}

void BasaltReader::prepare_conversions(ClientContext& context, ScanLocalState& state) {
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

void BasaltReader::add_filter(ClientContext& context, duckdb::idx_t index, duckdb::TableFilter& filter, bool lower,
                              bool new_reader, ScanLocalState& state, std::vector<Expr>& parts,
                              std::vector<PipelineColumn>& filter_columns) {
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

bool BasaltReader::read_batch(ScanLocalState& state, duckdb::DataChunk& output) {
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

void BasaltReader::fill(ScanLocalState& state, size_t number, Column& rows, const Field& field,
                        duckdb::Vector& target) {
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

Conversion* BasaltReader::find_conversion(ScanLocalState& state, duckdb::idx_t column) {
  for (Conversion& conversion : state.conversions) {
    if (conversion.column == column) return &conversion;
  }
  return nullptr;
}

void BasaltReader::apply_residual(ScanLocalState& state, duckdb::DataChunk& output) {
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

}  // namespace basalt::sql
