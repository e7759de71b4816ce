// Statements that a session has planned, kept under their text. Run again, they need neither DuckDB's parser and
// planner nor Basalt's; whether what they read is still the same is looked at each time. Nothing that was read from
// rows is kept.
#pragma once

#include <memory>
#include <string>

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "sql/recent_map.h"
#include "sql/state.h"

namespace basalt::sql {

// So many a session keeps, and of no longer texts.
constexpr size_t kMostKept = 256;
constexpr size_t kMostTextBytes = 64 << 10;

// Called before DuckDB's optimizer: notes in the log what the statement reads.
void note_sources(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

// Whether every run of what was just planned would be planned alike: it reads nothing but .basalt files, no scan of
// them runs in DuckDB, and nothing in it stands for a moment in time.
bool is_planned_alike(const StatementLog& log, const duckdb::StatementProperties& properties);

// Whether all files that a plan reads are as they were.
bool are_unchanged(duckdb::ClientContext& context, const PlanSources& sources);

class KeptStatements {
 public:
  // nullptr if it is not here or reads files that have changed. What planning had told the log is told again.
  std::shared_ptr<duckdb::PreparedStatement> find(duckdb::ClientContext& context, const std::string& text);

  // Keeps a statement that was just planned, before it is run, if every run of it would be planned alike.
  void keep(duckdb::ClientContext& context, const std::string& text,
            std::shared_ptr<duckdb::PreparedStatement> statement);

  // After any statement that may change what others mean: settings, views, variables.
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::shared_ptr<duckdb::PreparedStatement> statement;
    StatementLog::Planned planned;
  };
  RecentMap<Entry> entries_{kMostKept};
};

}  // namespace basalt::sql
