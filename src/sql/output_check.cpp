// Files are compared by what they are on the disk: links and other spellings of a path do not hide one.
#include "sql/output_check.h"

#include "core/same_file.h"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/operator/logical_copy_to_file.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "sql/state.h"

namespace basalt::sql {

using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

namespace {

void refuse_input(const LogicalOperator& node, const FileIdentity& output, const std::string& path) {
  for (const auto& child : node.children) refuse_input(*child, output, path);
  if (node.type != LogicalOperatorType::LOGICAL_GET) return;
  const auto* scan = dynamic_cast<const duckdb::MultiFileBindData*>(node.Cast<duckdb::LogicalGet>().bind_data.get());
  if (scan == nullptr || scan->file_list == nullptr) return;
  for (const auto& file : scan->file_list->GetAllFiles()) {
    if (identify_file(file.path) != output) continue;
    throw Error(ErrorCode::kInvalidArgument,
                path + ": the output is also an input of the statement; write to another file");
  }
}

void check_output(const LogicalOperator& plan, const std::string& path) {
  // What does not exist yet is no input.
  if (const auto output = identify_file(path)) refuse_input(plan, *output, path);
}

// Whether there is one.
bool check_copies(const LogicalOperator& node) {
  bool found = false;
  for (const auto& child : node.children) found = check_copies(*child) || found;
  if (node.type != LogicalOperatorType::LOGICAL_COPY_TO_FILE) return found;
  check_output(node, node.Cast<duckdb::LogicalCopyToFile>().file_path);
  return true;
}

}  // namespace

void check_outputs(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  guarded(input.context, [&] {
    const auto log = StatementLog::of(input.context);
    log->writes_file = check_copies(*plan);
    const std::string& output = log->output;
    if (!output.empty()) check_output(*plan, output);
  });
}

}  // namespace basalt::sql
