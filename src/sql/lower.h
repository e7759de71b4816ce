// Plans to pipelines: recognises an ungrouped aggregate over one Basalt scan and describes it as a basalt::Pipeline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "duckdb.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"

namespace basalt::sql {

// How an SQL aggregate comes out of the pipeline's values.
struct AggregateOutput {
  enum class Kind { kValue, kAverage };
  Kind kind = Kind::kValue;
  size_t value = 0;  // index of the value; for averages, of the sum
  size_t count = 0;  // averages: index of the count
  int scale = 0;     // averages of decimals
  bool wide = true;  // averages: divided as long double, where DuckDB keeps a 128-bit sum
  duckdb::LogicalType type;
};

struct LoweredAggregate {
  Pipeline pipeline;
  std::vector<AggregateOutput> outputs;
  // Text for explain and the report.
  std::string files;
  std::string aggregates;
  std::string columns;
  std::string filter;  // empty: none
};

// Throws NotLowered with the reason.
std::shared_ptr<const LoweredAggregate> lower_aggregate(duckdb::ClientContext& context,
                                                        duckdb::LogicalAggregate& aggregate);

// "lineitem.basalt", "lineitem.basalt and 3 more".
std::string describe_files(const std::vector<std::string>& paths);

}  // namespace basalt::sql
