// Statements of which a session sees more than one text that differ in literals only have their shape planned
// (statement_shape.h): DuckDB optimizes a statement with parameters, of which it knows nothing but their types, so that
// its plan holds for all literals of these types. For each text the plan is then lowered with the literals of the
// moment, which is where statistics, ranges and kernels learn of them. On the CPU the second text of a shape has it
// planned; where kernels are compiled already the first one has, since a plan of its own would need other kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "duckdb.hpp"
#include "sql/kept_statements.h"
#include "sql/lower.h"
#include "sql/recent_map.h"
#include "sql/state.h"
#include "sql/statement_shape.h"

namespace basalt::sql {

class KeptShapes {
 public:
  // A statement of the same shape, whose operator runs `query` in place of its own.
  struct Bound {
    std::shared_ptr<duckdb::PreparedStatement> statement;
    std::shared_ptr<const LoweredQuery> query;
  };
  // Nothing: the statement must be planned as it is. Else what planning had told the log is told again.
  std::optional<Bound> find(duckdb::Connection& connection, const StatementShape& shape);

  // The same for a shape that was never met, if its statements run on the GPU.
  std::optional<Bound> begin(duckdb::Connection& connection, const StatementShape& shape);

  // A statement of this shape that was just planned as it is.
  void note(duckdb::ClientContext& context, const StatementShape& shape,
            std::shared_ptr<duckdb::PreparedStatement> statement);

  // After any statement that may change what others mean.
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::shared_ptr<duckdb::PreparedStatement> statement;  // nullptr: none was planned as it is
    StatementLog::Planned planned;
    std::vector<size_t> equals;                        // literals that are so in all texts: the plan may rely on it
    bool tried = false;                                // to plan the shape
    duckdb::unique_ptr<duckdb::LogicalOperator> plan;  // of the shape; nullptr: it has none
  };
  static void plan_shape(duckdb::Connection& connection, const StatementShape& shape, Entry& entry);

  RecentMap<Entry> entries_{kMostKept};
};

}  // namespace basalt::sql
