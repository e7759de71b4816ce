// The copy function. Where order must be kept and the source numbers its batches, threads turn batches into tables on
// their own and only the append is serial; else rows go to the writer as they come.
#include "sql/copy.h"

#include <algorithm>
#include <mutex>

#include "basalt/file/writer.h"
#include "basalt/plan/tree.h"
#include "duckdb/common/string_util.hpp"
#include "duckdb/common/types/column/column_data_collection.hpp"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::FunctionData;
using duckdb::GlobalFunctionData;
using duckdb::LocalFunctionData;
using duckdb::unique_ptr;

namespace {

// A table handed to the writer has about this many rows: few enough to stay in cache, enough to make its overhead
// vanish.
constexpr uint64_t kTableRows = 128 << 10;
// Wide rows and long strings make smaller tables.
constexpr uint64_t kTableBytes = 32 << 20;

struct CopyBindData : FunctionData {
  Schema schema;
  duckdb::vector<duckdb::LogicalType> types;
  WriteOptions options;

  unique_ptr<FunctionData> Copy() const override { return duckdb::make_uniq<CopyBindData>(*this); }
  bool Equals(const FunctionData& other) const override { return this == &other; }
};

struct CopyGlobalState : GlobalFunctionData {
  std::mutex mutex;
  std::shared_ptr<CancelToken> cancel;
  std::unique_ptr<Writer> writer;
};

struct CopyLocalState : LocalFunctionData {
  CopyLocalState(const Schema& schema, const duckdb::vector<duckdb::LogicalType>& types) : builder(schema, types) {}
  TableBuilder builder;
};

struct PreparedTable : duckdb::PreparedBatchData {
  Table table;
  unique_ptr<duckdb::ColumnDataCollection> rows;  // instead of `table` where it would be too large
};

[[noreturn]] void bad_option(const std::string& name, const std::string& expected) {
  throw duckdb::BinderException("COPY option %s: expected %s", name, expected);
}

uint64_t number_option(const std::string& name, const duckdb::vector<duckdb::Value>& values) {
  if (values.size() != 1) bad_option(name, "one number");
  const int64_t number = values[0].GetValue<int64_t>();
  if (number < 0) bad_option(name, "a number that is not negative");
  return static_cast<uint64_t>(number);
}

void parse_encodings(const duckdb::vector<duckdb::Value>& values, WriteOptions& options) {
  if (values.size() != 1 || values[0].type().id() != duckdb::LogicalTypeId::STRUCT) {
    bad_option("ENCODINGS", "a struct such as {price: 'dict(packed)'}");
  }
  const auto& names = duckdb::StructType::GetChildTypes(values[0].type());
  const auto& trees = duckdb::StructValue::GetChildren(values[0]);
  for (size_t i = 0; i < names.size(); ++i) options.encodings[names[i].first] = parse_tree(trees[i].ToString());
}

void parse_sort_columns(const duckdb::vector<duckdb::Value>& values, WriteOptions& options) {
  for (const auto& value : values) {
    if (value.type().id() == duckdb::LogicalTypeId::LIST) {
      for (const auto& name : duckdb::ListValue::GetChildren(value)) options.sort_columns.push_back(name.ToString());
    } else {
      options.sort_columns.push_back(value.ToString());
    }
  }
}

unique_ptr<FunctionData> copy_bind(ClientContext& context, duckdb::CopyFunctionBindInput& input,
                                   const duckdb::vector<duckdb::string>& names,
                                   const duckdb::vector<duckdb::LogicalType>& types) {
  auto result = duckdb::make_uniq<CopyBindData>();
  guarded(context, [&] {
    duckdb::vector<duckdb::LogicalType> stored;
    for (const auto& type : types) stored.push_back(stored_type(type));
    result->types = types;
    result->schema = to_schema(names, stored);
    const auto log = StatementLog::of(context);
    if (log->write_options) result->options = *log->write_options;
    for (const auto& [key, values] : input.info.options) {
      const std::string name = duckdb::StringUtil::Upper(key);
      if (name == "ENCODINGS") {
        parse_encodings(values, result->options);
      } else if (name == "SORT_COLUMNS") {
        parse_sort_columns(values, result->options);
      } else if (name == "THREADS") {
        result->options.threads = static_cast<uint32_t>(std::min<uint64_t>(number_option(name, values), UINT32_MAX));
      } else if (name == "CHUNK_ROWS") {
        result->options.chunk_rows = number_option(name, values);
      } else if (name == "MEMORY_LIMIT") {
        result->options.memory_limit = number_option(name, values);
      } else {
        throw duckdb::BinderException("COPY TO a .basalt file has no option %s", key);
      }
    }
  });
  return result;
}

void list_options(ClientContext&, duckdb::CopyOptionsInput& input) {
  using duckdb::CopyOption;
  using duckdb::CopyOptionMode;
  input.options["encodings"] = CopyOption(duckdb::LogicalType::ANY, CopyOptionMode::WRITE_ONLY);
  input.options["sort_columns"] = CopyOption(duckdb::LogicalType::ANY, CopyOptionMode::WRITE_ONLY);
  input.options["threads"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
  input.options["chunk_rows"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
  input.options["memory_limit"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
}

unique_ptr<GlobalFunctionData> initialize_global(ClientContext& context, FunctionData& bind_data,
                                                 const duckdb::string& path) {
  auto& bind = bind_data.Cast<CopyBindData>();
  auto state = duckdb::make_uniq<CopyGlobalState>();
  guarded(context, [&] {
    WriteOptions options = bind.options;
    if (options.threads == 0) options.threads = static_cast<uint32_t>(number_setting(context, "basalt_threads"));
    if (options.threads == 0) {
      options.threads = static_cast<uint32_t>(duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads());
    }
    if (options.cancel == nullptr) {
      state->cancel = StatementLog::of(context)->cancel_token();
      options.cancel = state->cancel.get();
    }
    state->writer = std::make_unique<Writer>(path, bind.schema, options);
  });
  return state;
}

unique_ptr<LocalFunctionData> initialize_local(duckdb::ExecutionContext&, FunctionData& bind_data) {
  auto& bind = bind_data.Cast<CopyBindData>();
  return duckdb::make_uniq<CopyLocalState>(bind.schema, bind.types);
}

void flush(ClientContext& context, CopyGlobalState& global, TableBuilder& builder) {
  if (builder.rows() == 0) return;
  guarded(context, [&] {
    const Table table = builder.take();
    const std::lock_guard lock(global.mutex);
    global.writer->append(table);
  });
}

void sink(duckdb::ExecutionContext& context, FunctionData&, GlobalFunctionData& global, LocalFunctionData& local,
          duckdb::DataChunk& input) {
  auto& builder = local.Cast<CopyLocalState>().builder;
  builder.append(input);
  if (builder.rows() >= kTableRows || builder.plain_bytes() >= kTableBytes) {
    flush(context.client, global.Cast<CopyGlobalState>(), builder);
  }
}

void combine(duckdb::ExecutionContext& context, FunctionData&, GlobalFunctionData& global, LocalFunctionData& local) {
  flush(context.client, global.Cast<CopyGlobalState>(), local.Cast<CopyLocalState>().builder);
}

void finalize(ClientContext& context, FunctionData&, GlobalFunctionData& global) {
  auto& state = global.Cast<CopyGlobalState>();
  guarded(context, [&] { StatementLog::of(context)->write_summary = state.writer->finish(); });
}

duckdb::CopyFunctionExecutionMode execution_mode(bool preserve_order, bool supports_batch_index) {
  if (!preserve_order) return duckdb::CopyFunctionExecutionMode::PARALLEL_COPY_TO_FILE;
  return supports_batch_index ? duckdb::CopyFunctionExecutionMode::BATCH_COPY_TO_FILE
                              : duckdb::CopyFunctionExecutionMode::REGULAR_COPY_TO_FILE;
}

unique_ptr<duckdb::PreparedBatchData> prepare_batch(ClientContext& context, FunctionData& bind_data,
                                                    GlobalFunctionData&,
                                                    unique_ptr<duckdb::ColumnDataCollection> rows) {
  auto prepared = duckdb::make_uniq<PreparedTable>();
  if (rows->SizeInBytes() > kTableBytes) {
    prepared->rows = std::move(rows);
    return prepared;
  }
  auto& bind = bind_data.Cast<CopyBindData>();
  guarded(context, [&] {
    TableBuilder builder(bind.schema, bind.types);
    for (auto& chunk : rows->Chunks()) builder.append(chunk);
    prepared->table = builder.take();
  });
  return prepared;
}

void flush_batch(ClientContext& context, FunctionData& bind_data, GlobalFunctionData& global,
                 duckdb::PreparedBatchData& batch) {
  auto& prepared = batch.Cast<PreparedTable>();
  auto& state = global.Cast<CopyGlobalState>();
  if (!prepared.rows) {
    guarded(context, [&] {
      const std::lock_guard lock(state.mutex);
      state.writer->append(prepared.table);
    });
    prepared.table = Table{};
    return;
  }
  auto& bind = bind_data.Cast<CopyBindData>();
  TableBuilder builder(bind.schema, bind.types);
  for (auto& chunk : prepared.rows->Chunks()) {
    builder.append(chunk);
    if (builder.plain_bytes() >= kTableBytes) flush(context, state, builder);
  }
  flush(context, state, builder);
  prepared.rows.reset();
}

duckdb::idx_t desired_batch_size(ClientContext&, FunctionData& bind_data) {
  uint64_t width = 0;
  for (const Field* field : flatten(bind_data.Cast<CopyBindData>().schema)) {
    const uint32_t fixed = width_of(physical_of(field->type));
    width += fixed > 0 ? fixed : 32;
  }
  const uint64_t rows = kTableBytes / std::max<uint64_t>(width, 1);
  return std::clamp<uint64_t>(rows, STANDARD_VECTOR_SIZE, kTableRows);
}

}  // namespace

duckdb::CopyFunction copy_function() {
  duckdb::CopyFunction function("basalt");
  function.copy_to_bind = copy_bind;
  function.copy_options = list_options;
  function.copy_to_initialize_global = initialize_global;
  function.copy_to_initialize_local = initialize_local;
  function.copy_to_sink = sink;
  function.copy_to_combine = combine;
  function.copy_to_finalize = finalize;
  function.execution_mode = execution_mode;
  function.prepare_batch = prepare_batch;
  function.flush_batch = flush_batch;
  function.desired_batch_size = desired_batch_size;
  function.copy_from_bind = bind_copy_from;
  function.copy_from_function = scan_functions(kScanName).functions[0];
  function.extension = "basalt";
  return function;
}

}  // namespace basalt::sql
