// Registration: everything Basalt adds to a DuckDB database, in one place.
#include "basalt/sql/register.h"

#include "basalt/cuda/backend.h"
#include "basalt/file/ipc.h"
#include "duckdb.hpp"
#include "duckdb/function/replacement_scan.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "sql/copy.h"
#include "sql/copy_operator.h"
#include "sql/found_files.h"
#include "sql/functions.h"
#include "sql/kept_statements.h"
#include "sql/operator.h"
#include "sql/output_check.h"
#include "sql/scan.h"
#include "sql/state.h"

namespace basalt {

using duckdb::LogicalType;

namespace {

duckdb::unique_ptr<duckdb::TableRef> call(const char* function, const duckdb::string& argument) {
  auto table = duckdb::make_uniq<duckdb::TableFunctionRef>();
  duckdb::vector<duckdb::unique_ptr<duckdb::ParsedExpression>> arguments;
  arguments.push_back(duckdb::make_uniq<duckdb::ConstantExpression>(duckdb::Value(argument)));
  table->function = duckdb::make_uniq<duckdb::FunctionExpression>(function, std::move(arguments));
  return table;
}

// A dataset is a table, and so are the files that a pattern finds.
duckdb::unique_ptr<duckdb::TableRef> replace_dataset(duckdb::ClientContext& context, duckdb::string path) {
  if (!sql::stands_for_files(context, path)) return nullptr;
  auto table = call(sql::kScanName, path);
  if (duckdb::FileSystem::HasGlob(path)) return table;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  table->alias = duckdb::FileSystem::GetFileSystem(context).ExtractBaseName(path);
  return table;
}

duckdb::unique_ptr<duckdb::TableRef> replace_scan(duckdb::ClientContext& context, duckdb::ReplacementScanInput& input,
                                                  duckdb::optional_ptr<duckdb::ReplacementScanData>) {
  const duckdb::string path = duckdb::ReplacementScan::GetFullPath(input);
  const bool is_basalt = duckdb::StringUtil::EndsWith(duckdb::StringUtil::Lower(path), ".basalt");
  if (!is_basalt && !is_ipc_name(path)) return replace_dataset(context, path);
  auto table = call(is_basalt ? sql::kScanName : sql::kReadArrow, path);
  if (!duckdb::FileSystem::HasGlob(path)) {
    table->alias = duckdb::FileSystem::GetFileSystem(context).ExtractBaseName(path);
  }
  return table;
}

void check_device(duckdb::ClientContext& context, duckdb::SetScope, duckdb::Value& value) {
  sql::guarded(context, [&] {
    if (sql::parse_device(value.ToString()) == Device::kCuda && gpu().backend == nullptr) {
      throw Error(ErrorCode::kDevice, "CUDA is not available: " + gpu().reason);
    }
  });
}

constexpr uint64_t kCacheShare = 8;  // of the memory that DuckDB may use

void add_settings(duckdb::DBConfig& config) {
  config.AddExtensionOption("basalt_device", "Where Basalt's operators run: auto, cpu or cuda", LogicalType::VARCHAR,
                            duckdb::Value("auto"), check_device);
  config.AddExtensionOption("basalt_threads", "Threads of Basalt's operators; 0 = as many as DuckDB uses",
                            LogicalType::UBIGINT, duckdb::Value::UBIGINT(0));
  config.AddExtensionOption("basalt_cache_memory",
                            "Bytes of memory that keep columns of files between statements; 0 = none",
                            LogicalType::UBIGINT, duckdb::Value::UBIGINT(config.options.maximum_memory / kCacheShare),
                            nullptr, duckdb::SetScope::GLOBAL);
  config.AddExtensionOption("basalt_decoded_limit",
                            "Bytes that a row, a tile of strings or a nested column of a chunk may take when decoded",
                            LogicalType::UBIGINT, duckdb::Value::UBIGINT(kDecodedLimit));
  config.AddExtensionOption("basalt_gpu_memory", "Bytes on the GPU for cached and staged data; 0 = what is free",
                            LogicalType::UBIGINT, duckdb::Value::UBIGINT(0));
  config.AddExtensionOption("basalt_lowering", "Whether Basalt runs parts of plans itself", LogicalType::BOOLEAN,
                            duckdb::Value::BOOLEAN(true));
  config.AddExtensionOption("basalt_strict", "Whether statements that Basalt cannot run wholly itself are refused",
                            LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(false));
  config.AddExtensionOption("basalt_pruning", "Whether statistics and filters skip tiles inside Basalt",
                            LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(true));
}

}  // namespace

void register_basalt(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "basalt");
  loader.RegisterFunction(sql::scan_functions(sql::kScanName));
  loader.RegisterFunction(sql::scan_functions(sql::kReadName));
  loader.RegisterFunction(sql::copy_function());
  for (const duckdb::TableFunction& function : sql::table_functions()) loader.RegisterFunction(function);

  duckdb::DBConfig& config = duckdb::DBConfig::GetConfig(database);
  config.replacement_scans.emplace_back(replace_scan);
  add_settings(config);
  // Its internal compress functions would sit between the operators that are lowered together.
  config.options.disabled_optimizers.insert(duckdb::OptimizerType::COMPRESSED_MATERIALIZATION);
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = sql::note_sources;
  extension.optimize_function = sql::optimize_plan;
  duckdb::OptimizerExtension::Register(config, std::move(extension));
  duckdb::OptimizerExtension copies;
  copies.pre_optimize_function = sql::check_outputs;
  copies.optimize_function = sql::optimize_copy;
  duckdb::OptimizerExtension::Register(config, std::move(copies));
}

}  // namespace basalt
