// Rules that were measured; estimates are good enough for them, since both engines give the same rows.
#include "sql/cpu_choice.h"

#include <algorithm>

#include "exec/column_facts.h"
#include "exec/group_keys.h"
#include "exec/rows_left.h"

namespace basalt::sql {

namespace {

// With so few rows, what a statement costs beside them decides.
constexpr uint64_t kFewRows = 2 * kZoneRows;
// Beyond, DuckDB's partitioned hash tables win.
constexpr uint64_t kMostGroups = 1 << 16;
// Integers of so many bits together are places in an array to DuckDB, which is faster than ours.
constexpr uint32_t kDuckdbArrayBits = 12;

bool fits_duckdb_array(const Pipeline& scan, const exec::StatisticsList& stats) {
  exec::KeyLayout layout;
  for (const Expr& key : scan.keys) layout.add(key, stats);
  const bool integers = std::all_of(layout.parts().begin(), layout.parts().end(),
                                    [](const exec::KeyPart& part) { return part.kind == exec::KeyKind::kInteger; });
  return integers && layout.bits() <= kDuckdbArrayBits;
}

// How many values a key has at most, as far as estimates go; 0 where nothing is known.
uint64_t distinct_keys(const Pipeline& scan, const Expr& key) {
  if (key.op != ExprOp::kColumn) return 0;
  uint64_t sum = 0;
  for (const auto& file : scan.files) {
    const uint64_t distinct = file->column(scan.columns[key.column].field_id).stats.distinct;
    if (distinct == 0) return 0;
    sum += distinct;
  }
  return sum;
}

bool makes_few_groups(const Pipeline& scan) {
  uint64_t groups = 1;
  for (const Expr& key : scan.keys) {
    const uint64_t distinct = distinct_keys(scan, key);
    if (distinct == 0 || distinct > kMostGroups / groups) return false;
    groups *= distinct;
  }
  return true;
}

}  // namespace

bool groups_run_faster_here(const Query& query) {
  const Pipeline& scan = query.stages.front();
  const auto tables = std::count_if(query.stages.begin(), query.stages.end(),
                                    [](const Pipeline& stage) { return !stage.files.empty(); });
  if (tables != 1 || scan.files.empty() || scan.sink != Sink::kGroups) return false;
  if (exec::rows_left(scan, kFewRows) <= kFewRows) return true;
  const bool distinct = std::any_of(scan.aggregates.begin(), scan.aggregates.end(),
                                    [](const Aggregate& aggregate) { return aggregate.distinct; });
  if (scan.keys.size() < 2 || distinct) return false;
  const std::vector<Statistics> stats = exec::column_statistics(scan);
  return makes_few_groups(scan) && !fits_duckdb_array(scan, exec::list_of(stats, scan.columns.size()));
}

}  // namespace basalt::sql
