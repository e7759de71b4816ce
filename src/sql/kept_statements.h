// Statements that a session has planned, kept under their text. Run again, they need neither DuckDB's parser and
// planner nor Basalt's; whether what they read is still the same is looked at each time. Nothing that was read from
// rows is kept.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "sql/state.h"

namespace basalt::sql {

// Called before DuckDB's optimizer: notes in the log what the statement reads.
void note_sources(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

class KeptStatements {
 public:
  // nullptr if it is not here or reads files that have changed. What planning had told the log is told again.
  std::shared_ptr<duckdb::PreparedStatement> find(duckdb::ClientContext& context, const std::string& text);

  // Keeps a statement that was just planned, before it is run, if every run of it would be planned alike: it reads
  // nothing but .basalt files, no scan of them runs in DuckDB, and nothing in it stands for a moment in time.
  void keep(duckdb::ClientContext& context, const std::string& text,
            std::shared_ptr<duckdb::PreparedStatement> statement);

  // After any statement that may change what others mean: settings, views, variables.
  void clear();

 private:
  struct Entry {
    std::shared_ptr<duckdb::PreparedStatement> statement;
    StatementLog::Planned planned;
    std::list<std::string>::iterator recent;
  };
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  // most recent first
};

}  // namespace basalt::sql
