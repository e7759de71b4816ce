#include "sql/kept_statements.h"

#include <algorithm>

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "sql/scan.h"
#include "sql/statistics.h"

namespace basalt::sql {

namespace {

constexpr size_t kMostStatements = 256;
constexpr size_t kMostTextBytes = 64 << 10;
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
    if (!duckdb::FileSystem::HasGlob(pattern)) {
      paths.push_back(pattern);
      continue;
    }
    for (const auto& file : duckdb::FileSystem::GetFileSystem(context).Glob(pattern)) paths.push_back(file.path);
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

}  // namespace

void note_sources(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  const auto log = StatementLog::of(input.context);
  if (!log->keeps_statements) return;
  guarded(input.context, [&] { add_sources(input.context, *plan, log->sources); });
}

std::shared_ptr<duckdb::PreparedStatement> KeptStatements::find(duckdb::ClientContext& context,
                                                                const std::string& text) {
  const auto found = entries_.find(text);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  bool unchanged = false;
  try {
    unchanged = std::all_of(entry.planned.sources.scans.begin(), entry.planned.sources.scans.end(),
                            [&](const ScanSource& source) { return is_unchanged(context, source); });
  } catch (const std::exception&) {  // planning it anew says what is wrong with the file
  }
  if (!unchanged) {
    recent_.erase(entry.recent);
    entries_.erase(found);
    return nullptr;
  }
  recent_.splice(recent_.begin(), recent_, entry.recent);
  StatementLog::of(context)->set_planned(entry.planned);
  return entry.statement;
}

void KeptStatements::keep(duckdb::ClientContext& context, const std::string& text,
                          std::shared_ptr<duckdb::PreparedStatement> statement) {
  const auto log = StatementLog::of(context);
  const PlanSources& sources = log->sources;
  const duckdb::StatementProperties properties = statement->GetStatementProperties();
  const bool same_plan = !sources.scans.empty() && !sources.has_others && !sources.left_in_duckdb;
  // An output file that appears later may be an input then.
  if (!same_plan || properties.always_require_rebind || properties.parameter_count > 0 || !log->output.empty() ||
      text.size() > kMostTextBytes) {
    return;
  }
  recent_.push_front(text);
  entries_[text] = {std::move(statement), log->planned(), recent_.begin()};
  if (entries_.size() > kMostStatements) {
    entries_.erase(recent_.back());
    recent_.pop_back();
  }
}

void KeptStatements::clear() {
  entries_.clear();
  recent_.clear();
}

}  // namespace basalt::sql
