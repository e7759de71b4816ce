// The copy function: its options, and the way of rows into several files, which DuckDB organises. A single file is
// written by the operator of copy_operator.cpp.
#include "sql/copy.h"

#include <algorithm>
#include <mutex>

#include "basalt/encoding/tree.h"
#include "duckdb/common/string_util.hpp"
#include "duckdb/storage/buffer_manager.hpp"
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

struct CopyGlobalState : GlobalFunctionData {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<CancelToken> cancel;
  std::unique_ptr<Writer> writer;
  uint64_t table_bytes = 0;
};

struct CopyLocalState : LocalFunctionData {
  CopyLocalState(const Schema& schema, const duckdb::vector<duckdb::LogicalType>& types) : builder(schema, types) {}
  TableBuilder builder;
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

Effort effort_option(const duckdb::vector<duckdb::Value>& values) {
  const std::string name = values.size() == 1 ? duckdb::StringUtil::Lower(values[0].ToString()) : std::string();
  if (name == "fast") return Effort::kFast;
  if (name == "balanced") return Effort::kBalanced;
  if (name == "best") return Effort::kBest;
  throw duckdb::BinderException("EFFORT is one of fast, balanced and best");
}

unique_ptr<FunctionData> copy_bind(ClientContext& context, duckdb::CopyFunctionBindInput& input,
                                   const duckdb::vector<duckdb::string>& names,
                                   const duckdb::vector<duckdb::LogicalType>& types) {
  auto result = duckdb::make_uniq<CopyBindData>();
  guarded(context, [&] {
    duckdb::vector<duckdb::LogicalType> stored;
    Notices notices;
    for (size_t i = 0; i < types.size(); ++i) {
      stored.push_back(stored_type(types[i]));
      note_stored_type(types[i], names[i], notices);
    }
    result->types = types;
    result->schema = to_schema(names, stored, &notices);
    const auto log = StatementLog::of(context);
    log->add_notices(notices);
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
      } else if (name == "EFFORT") {
        result->options.effort = effort_option(values);
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
  input.options["effort"] = CopyOption(duckdb::LogicalType::VARCHAR, CopyOptionMode::WRITE_ONLY);
  input.options["threads"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
  input.options["chunk_rows"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
  input.options["memory_limit"] = CopyOption(duckdb::LogicalType::UBIGINT, CopyOptionMode::WRITE_ONLY);
}

unique_ptr<GlobalFunctionData> initialize_global(ClientContext& context, FunctionData& bind_data,
                                                 const duckdb::string& path) {
  auto state = duckdb::make_uniq<CopyGlobalState>();
  state->path = path;
  state->writer = open_writer(context, bind_data.Cast<CopyBindData>(), path, state->cancel);
  state->table_bytes = table_bytes(context, *state->writer);
  return state;
}

unique_ptr<LocalFunctionData> initialize_local(duckdb::ExecutionContext&, FunctionData& bind_data) {
  auto& bind = bind_data.Cast<CopyBindData>();
  return duckdb::make_uniq<CopyLocalState>(bind.schema, bind.types);
}

void flush(ClientContext& context, CopyGlobalState& global, TableBuilder& builder) {
  if (builder.rows() == 0) return;
  guarded(context, [&] {
    Table table = builder.take();
    const std::lock_guard lock(global.mutex);
    global.writer->append(std::move(table));
  });
}

void sink(duckdb::ExecutionContext& context, FunctionData&, GlobalFunctionData& global, LocalFunctionData& local,
          duckdb::DataChunk& input) {
  auto& builder = local.Cast<CopyLocalState>().builder;
  builder.append(input);
  auto& state = global.Cast<CopyGlobalState>();
  if (builder.rows() >= kTableRows || builder.plain_bytes() >= state.table_bytes) {
    flush(context.client, state, builder);
  }
}

void combine(duckdb::ExecutionContext& context, FunctionData&, GlobalFunctionData& global, LocalFunctionData& local) {
  flush(context.client, global.Cast<CopyGlobalState>(), local.Cast<CopyLocalState>().builder);
}

void finalize(ClientContext& context, FunctionData&, GlobalFunctionData& global) {
  auto& state = global.Cast<CopyGlobalState>();
  finish_writer(context, *state.writer, state.path);
}

duckdb::CopyFunctionExecutionMode execution_mode(bool preserve_order, bool) {
  return preserve_order ? duckdb::CopyFunctionExecutionMode::REGULAR_COPY_TO_FILE
                        : duckdb::CopyFunctionExecutionMode::PARALLEL_COPY_TO_FILE;
}

}  // namespace

uint64_t held_limit(const Writer& writer) { return writer.memory_limit() / 5; }

uint64_t table_bytes(ClientContext& context, const Writer& writer) {
  constexpr uint64_t kLeast = 1 << 20;
  constexpr uint64_t kMost = 32 << 20;
  const auto threads = static_cast<uint64_t>(duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads());
  return std::clamp(held_limit(writer) / (2 * threads), kLeast, kMost);
}

std::unique_ptr<Writer> open_writer(ClientContext& context, const CopyBindData& bind, const std::string& path,
                                    std::shared_ptr<CancelToken>& cancel) {
  check_access(context, path);
  return guarded(context, [&] {
    WriteOptions options = bind.options;
    if (options.threads == 0) options.threads = static_cast<uint32_t>(number_setting(context, "basalt_threads"));
    if (options.threads == 0) {
      options.threads = static_cast<uint32_t>(duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads());
    }
    if (options.memory_limit == 0) {
      const uint64_t most = duckdb::BufferManager::GetBufferManager(context).GetMaxMemory() / 4;
      options.memory_limit = write_memory(options.threads, most);
    }
    if (options.cancel == nullptr) {
      cancel = StatementLog::of(context)->cancel_token();
      options.cancel = cancel.get();
    }
    return std::make_unique<Writer>(path, bind.schema, options);
  });
}

void finish_writer(ClientContext& context, Writer& writer, const std::string& path) {
  guarded(context, [&] {
    const auto log = StatementLog::of(context);
    WriteSummary summary = writer.finish();
    summary.notices = log->snapshot().notices;
    log->add_file(path, std::move(summary));
  });
}

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
  function.copy_from_bind = bind_copy_from;
  function.copy_from_function = scan_functions(kScanName).functions[0];
  function.extension = "basalt";
  return function;
}

}  // namespace basalt::sql
