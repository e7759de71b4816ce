// The functions: files are found as DuckDB finds them, so that its rules about access hold, and read by Basalt.
#include "sql/functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "basalt/file/ipc.h"
#include "basalt/sql/session.h"
#include "core/arrow_reader.h"
#include "duckdb/common/file_system.hpp"
#include "sql/found_files.h"
#include "sql/state.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::LogicalType;
using duckdb::unique_ptr;

namespace {

std::vector<std::string> files_of(ClientContext& context, const duckdb::Value& pattern) {
  if (pattern.IsNull()) throw duckdb::BinderException("the name of a file cannot be NULL");
  std::vector<std::string> paths = find_files(context, pattern.ToString());
  if (paths.empty()) {
    throw duckdb::IOException("No files found that match the pattern \"%s\"", pattern.ToString());
  }
  return paths;
}

struct FilesBindData : duckdb::TableFunctionData {
  std::vector<std::string> files;
};

// Rows that are made of a file's metadata.
using Row = std::vector<duckdb::Value>;
using RowsOfFile = void (*)(const File& file, std::vector<Row>& rows);

struct RowsState : duckdb::GlobalTableFunctionState {
  std::vector<Row> rows;
  size_t next = 0;
};

duckdb::Value text(const std::string& value) { return duckdb::Value(value); }
duckdb::Value number(uint64_t value) { return duckdb::Value::BIGINT(static_cast<int64_t>(value)); }
duckdb::Value shown(const Value& value, const DataType& type) {
  return value.null ? duckdb::Value(LogicalType::VARCHAR) : text(format_value(value, type));
}

void metadata_row(const File& file, std::vector<Row>& rows) {
  duckdb::vector<duckdb::Value> sorted;
  for (const std::string& column : file.sort_columns()) sorted.push_back(text(column));
  rows.push_back({text(file.name()), number(file.rows()), number(file.schema().fields.size()),
                  number(file.chunks().size()), number(file.bytes()), number(file.format_version()),
                  text(file.created_by()), duckdb::Value::LIST(LogicalType::VARCHAR, std::move(sorted))});
}

void schema_rows(const File& file, std::vector<Row>& rows) {
  for (const Field* field : file.fields()) {
    rows.push_back({text(file.name()), text(file.path(field->id)), text(to_logical_type(*field).ToString()),
                    duckdb::Value::BOOLEAN(field->nullable), number(file.statistics(field->id).null_count)});
  }
}

void encoding_rows(const File& file, std::vector<Row>& rows) {
  for (const Field* field : file.fields()) {
    const ColumnInfo& column = file.column(field->id);
    for (size_t i = 0; i < column.chunks.size(); ++i) {
      const ColumnChunkInfo& chunk = column.chunks[i];
      const Tree& tree = column.shapes.at(chunk.shape);
      rows.push_back({text(file.name()), text(file.path(field->id)), number(i), number(file.chunks()[i].first_row),
                      number(chunk.rows),
                      tree.codec.empty() ? duckdb::Value(LogicalType::VARCHAR) : text(column.encodings.at(chunk.shape)),
                      number(chunk.encoded_bytes - chunk.shared_bytes), number(chunk.plain_bytes),
                      number(chunk.stats.null_count), shown(chunk.stats.min, field->type),
                      shown(chunk.stats.max, field->type)});
    }
  }
}

struct Described {
  duckdb::vector<duckdb::string> names;
  duckdb::vector<LogicalType> types;
  RowsOfFile rows;
};

LogicalType varchar() { return LogicalType::VARCHAR; }
LogicalType bigint() { return LogicalType::BIGINT; }

const Described& described(const duckdb::string& function) {
  static const Described metadata{
      {"file", "rows", "columns", "chunks", "bytes", "format_version", "created_by", "sorted_by"},
      {varchar(), bigint(), bigint(), bigint(), bigint(), bigint(), varchar(), LogicalType::LIST(varchar())},
      metadata_row};
  static const Described schema{{"file", "column", "type", "nullable", "nulls"},
                                {varchar(), varchar(), varchar(), LogicalType::BOOLEAN, bigint()},
                                schema_rows};
  static const Described encodings{
      {"file", "column", "chunk", "first_row", "rows", "encoding", "bytes", "plain_bytes", "nulls", "min", "max"},
      {varchar(), varchar(), bigint(), bigint(), bigint(), varchar(), bigint(), bigint(), bigint(), varchar(),
       varchar()},
      encoding_rows};
  if (function == "basalt_metadata") return metadata;
  return function == "basalt_schema" ? schema : encodings;
}

unique_ptr<duckdb::FunctionData> bind_described(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                duckdb::vector<LogicalType>& types,
                                                duckdb::vector<duckdb::string>& names) {
  auto data = duckdb::make_uniq<FilesBindData>();
  data->files = files_of(context, input.inputs[0]);
  const Described& what = described(input.table_function.name);
  types = what.types;
  names = what.names;
  return data;
}

template <RowsOfFile kRows>
unique_ptr<duckdb::GlobalTableFunctionState> start_described(ClientContext& context,
                                                             duckdb::TableFunctionInitInput& input) {
  auto state = duckdb::make_uniq<RowsState>();
  guarded(context, [&] {
    StatementLog::of(context)->mark_used();
    for (const std::string& path : input.bind_data->Cast<FilesBindData>().files) {
      kRows(*FileCache::open(context, path), state->rows);
    }
  });
  return state;
}

void give_described(ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<RowsState>();
  const size_t rows = std::min<size_t>(state.rows.size() - state.next, STANDARD_VECTOR_SIZE);
  for (size_t row = 0; row < rows; ++row) {
    const Row& values = state.rows[state.next + row];
    for (size_t column = 0; column < values.size(); ++column) output.SetValue(column, row, values[column]);
  }
  state.next += rows;
  output.SetCardinality(rows);
}

struct ArrowBindData : FilesBindData {
  Schema schema;
};

// The rows of Arrow files, one after the other.
struct ArrowState : duckdb::GlobalTableFunctionState {
  const ArrowBindData* bind = nullptr;
  std::vector<duckdb::column_t> columns;
  size_t next_file = 0;
  std::unique_ptr<arrow::StreamReader> reader;
  std::unique_ptr<Table> batch;
  uint64_t row = 0;  // of the batch

  duckdb::idx_t MaxThreads() const override { return 1; }

  bool next_rows() {
    while (batch == nullptr || row == batch->rows) {
      batch = reader == nullptr ? nullptr : reader->next();
      row = 0;
      if (batch != nullptr) continue;
      if (next_file == bind->files.size()) return false;
      const std::string& path = bind->files[next_file++];
      reader = open(path, nullptr);
      if (reader->schema() != bind->schema) {
        throw Error(ErrorCode::kInvalidArgument, path + ": it has other columns than " + bind->files[0]);
      }
    }
    return true;
  }

  static std::unique_ptr<arrow::StreamReader> open(const std::string& path, Notices* notices) {
    ArrowArrayStream stream;
    open_ipc(path, &stream);
    return std::make_unique<arrow::StreamReader>(&stream, "", notices);
  }
};

unique_ptr<duckdb::FunctionData> bind_arrow(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                            duckdb::vector<LogicalType>& types, duckdb::vector<duckdb::string>& names) {
  auto data = duckdb::make_uniq<ArrowBindData>();
  data->files = files_of(context, input.inputs[0]);
  guarded(context, [&] {
    Notices notices;
    data->schema = ArrowState::open(data->files[0], &notices)->schema();
    note_sql_types(data->schema, notices);
    StatementLog::of(context)->add_notices(notices);
  });
  for (const Field& field : data->schema.fields) {
    types.push_back(to_logical_type(field));
    names.push_back(field.name);
  }
  if (names.empty()) throw duckdb::BinderException("%s has no columns", data->files[0]);
  return data;
}

unique_ptr<duckdb::GlobalTableFunctionState> start_arrow(ClientContext&, duckdb::TableFunctionInitInput& input) {
  auto state = duckdb::make_uniq<ArrowState>();
  state->bind = &input.bind_data->Cast<ArrowBindData>();
  state->columns.assign(input.column_ids.begin(), input.column_ids.end());
  return state;
}

void give_arrow(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<ArrowState>();
  guarded(context, [&] {
    if (!state.next_rows()) return;
    const uint64_t rows = std::min<uint64_t>(state.batch->rows - state.row, STANDARD_VECTOR_SIZE);
    for (size_t i = 0; i < state.columns.size(); ++i) {
      if (duckdb::IsVirtualColumn(state.columns[i])) continue;  // rows are counted, no column is asked for
      const Field& field = state.bind->schema.fields[state.columns[i]];
      Column part = make_column(field);
      append_rows(part, state.batch->columns[state.columns[i]], state.row, state.row + rows);
      fill_vector(std::move(part), field, output.data[i]);
    }
    state.row += rows;
    output.SetCardinality(rows);
  });
}

}  // namespace

std::vector<duckdb::TableFunction> table_functions() {
  std::vector<duckdb::TableFunction> out;
  const duckdb::vector<LogicalType> path = {varchar()};
  out.emplace_back("basalt_metadata", path, give_described, bind_described, start_described<metadata_row>);
  out.emplace_back("basalt_schema", path, give_described, bind_described, start_described<schema_rows>);
  out.emplace_back("basalt_encodings", path, give_described, bind_described, start_described<encoding_rows>);
  duckdb::TableFunction arrow(kReadArrow, path, give_arrow, bind_arrow, start_arrow);
  arrow.projection_pushdown = true;
  out.push_back(std::move(arrow));
  return out;
}

}  // namespace basalt::sql
