#include "sql/kept_statements.h"

#include <algorithm>

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "sql/expected_shares.h"
#include "sql/found_files.h"
#include "sql/scan.h"
#include "sql/statistics.h"

namespace basalt::sql {

namespace {

// More files take longer to look at than a plan takes to make.
constexpr size_t kMostSourceFiles = 256;

// The paths and patterns that a scan was asked for.
std::vector<std::string> patterns_of(const duckdb::LogicalGet& get) {
  std::vector<std::string> patterns;
  if (get.parameters.empty() || get.parameters[0].IsNull()) return patterns;
  const duckdb::Value& what = get.parameters[0];
  if (what.type().id() == duckdb::LogicalTypeId::VARCHAR) {
    patterns.push_back(what.ToString());
  } else if (what.type().id() == duckdb::LogicalTypeId::LIST) {
    for (const duckdb::Value& path : duckdb::ListValue::GetChildren(what)) patterns.push_back(path.ToString());
  }
  return patterns;
}

void add_sources(duckdb::ClientContext& context, const duckdb::LogicalOperator& node, PlanSources& sources) {
  for (const auto& child : node.children) add_sources(context, *child, sources);
  if (node.type != duckdb::LogicalOperatorType::LOGICAL_GET) return;
  const auto& get = node.Cast<duckdb::LogicalGet>();
  if (!is_scan(get.function)) {
    sources.has_others = true;
    return;
  }
  ScanSource source;
  source.patterns = patterns_of(get);
  source.files = open_files(context, get.bind_data->Cast<duckdb::MultiFileBindData>(), kMostSourceFiles);
  if (source.patterns.empty() || source.files.empty()) sources.has_others = true;
  sources.scans.push_back(std::move(source));
}

// The files that patterns stand for now.
std::vector<std::string> paths_of(duckdb::ClientContext& context, const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    for (std::string& path : find_files(context, pattern)) paths.push_back(std::move(path));
  }
  return paths;
}

// Whether the patterns stand for the same files in any order, each as it was opened.
bool is_unchanged(duckdb::ClientContext& context, const ScanSource& source) {
  const std::vector<std::string> paths = paths_of(context, source.patterns);
  if (paths.size() != source.files.size()) return false;
  std::vector<std::shared_ptr<const File>> files;
  for (const std::string& path : paths) files.push_back(FileCache::open(context, path));
  return std::is_permutation(files.begin(), files.end(), source.files.begin());
}

// DuckDB gives up a plan with parameters as soon as a scan could take their filters.
void keep_filters_above_scans(duckdb::LogicalOperator& node) {
  for (auto& child : node.children) keep_filters_above_scans(*child);
  if (node.type != duckdb::LogicalOperatorType::LOGICAL_GET) return;
  auto& get = node.Cast<duckdb::LogicalGet>();
  get.function.filter_pushdown = false;
  get.function.pushdown_complex_filter = nullptr;
}

}  // namespace

void note_sources(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  const auto log = StatementLog::of(input.context);
  if (!log->keeps_statements) return;
  guarded(input.context, [&] { add_sources(input.context, *plan, log->sources); });
  if (!log->plans_shape) return;
  guarded(input.context, [&] { expect_shares(input.context, *plan); });
  keep_filters_above_scans(*plan);
}

bool is_planned_alike(const StatementLog& log, const duckdb::StatementProperties& properties) {
  const PlanSources& sources = log.sources;
  // An output file that appears later may be an input then.
  return !sources.scans.empty() && !sources.has_others && !sources.left_in_duckdb &&
         !properties.always_require_rebind && log.output.empty();
}

bool are_unchanged(duckdb::ClientContext& context, const PlanSources& sources) {
  try {
    return std::all_of(sources.scans.begin(), sources.scans.end(),
                       [&](const ScanSource& source) { return is_unchanged(context, source); });
  } catch (const std::exception&) {  // planning it anew says what is wrong with the file
    return false;
  }
}

std::shared_ptr<duckdb::PreparedStatement> KeptStatements::find(duckdb::ClientContext& context,
                                                                const std::string& text) {
  Entry* entry = entries_.find(text);
  if (entry == nullptr) return nullptr;
  if (!are_unchanged(context, entry->planned.sources)) {
    entries_.erase(text);
    return nullptr;
  }
  StatementLog::of(context)->set_planned(entry->planned);
  return entry->statement;
}

void KeptStatements::keep(duckdb::ClientContext& context, const std::string& text,
                          std::shared_ptr<duckdb::PreparedStatement> statement) {
  const auto log = StatementLog::of(context);
  const duckdb::StatementProperties properties = statement->GetStatementProperties();
  if (!is_planned_alike(*log, properties) || properties.parameter_count > 0 || text.size() > kMostTextBytes) return;
  entries_.put(text, {std::move(statement), log->planned()});
}

}  // namespace basalt::sql
