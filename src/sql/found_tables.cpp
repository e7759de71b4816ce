// A found table becomes a scan of Arrow streams. The plan owns the opener, for as long as it is kept.
#include "sql/found_tables.h"

#include "duckdb.hpp"
#include "duckdb/common/arrow/arrow_wrapper.hpp"
#include "duckdb/function/replacement_scan.hpp"
#include "duckdb/function/table/arrow.hpp"
#include "duckdb/main/external_dependencies.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"

namespace basalt::sql {

namespace {

struct FoundTable : duckdb::DependencyItem {
  explicit FoundTable(StreamOpener opener) : open(std::move(opener)) {}
  StreamOpener open;
};

struct Finder : duckdb::ReplacementScanData {
  explicit Finder(std::function<StreamOpener(const std::string&)> function) : find(std::move(function)) {}
  std::function<StreamOpener(const std::string&)> find;
};

duckdb::unique_ptr<duckdb::ArrowArrayStreamWrapper> open_found(uintptr_t address, duckdb::ArrowStreamParameters&) {
  auto stream = duckdb::make_uniq<duckdb::ArrowArrayStreamWrapper>();
  reinterpret_cast<const FoundTable*>(address)->open(&stream->arrow_array_stream);
  return stream;
}

void found_schema(ArrowArrayStream* address, ArrowSchema& schema) {
  duckdb::ArrowArrayStreamWrapper stream;
  reinterpret_cast<const FoundTable*>(address)->open(&stream.arrow_array_stream);
  if (stream.arrow_array_stream.get_schema(&stream.arrow_array_stream, &schema) == 0) return;
  const char* reason = stream.arrow_array_stream.get_last_error(&stream.arrow_array_stream);
  throw duckdb::BinderException("the Arrow stream has no schema: %s", reason != nullptr ? reason : "unknown");
}

duckdb::unique_ptr<duckdb::TableRef> find_table(duckdb::ClientContext&, duckdb::ReplacementScanInput& input,
                                                duckdb::optional_ptr<duckdb::ReplacementScanData> data) {
  StreamOpener open = data->Cast<Finder>().find(duckdb::ReplacementScan::GetFullPath(input));
  if (!open) return nullptr;
  auto found = duckdb::make_shared_ptr<FoundTable>(std::move(open));
  duckdb::vector<duckdb::unique_ptr<duckdb::ParsedExpression>> arguments;
  for (const uintptr_t pointer : {reinterpret_cast<uintptr_t>(found.get()), reinterpret_cast<uintptr_t>(&open_found),
                                  reinterpret_cast<uintptr_t>(&found_schema)}) {
    arguments.push_back(duckdb::make_uniq<duckdb::ConstantExpression>(duckdb::Value::POINTER(pointer)));
  }
  auto table = duckdb::make_uniq<duckdb::TableFunctionRef>();
  // The one that takes whole rows: openers know neither projections nor filters.
  table->function = duckdb::make_uniq<duckdb::FunctionExpression>("arrow_scan_dumb", std::move(arguments));
  table->alias = input.table_name;
  table->external_dependency = duckdb::make_shared_ptr<duckdb::ExternalDependency>();
  // The name under which DuckDB's scan of Arrow streams looks for what it has to keep alive.
  table->external_dependency->AddDependency("replacement_cache", std::move(found));
  return table;
}

}  // namespace

void look_for_tables(duckdb::DatabaseInstance& database, std::function<StreamOpener(const std::string&)> find) {
  // First: what the caller calls so comes before a folder of files that has the same name.
  auto& scans = duckdb::DBConfig::GetConfig(database).replacement_scans;
  scans.emplace(scans.begin(), find_table, duckdb::make_uniq<Finder>(std::move(find)));
}

}  // namespace basalt::sql
