// Statements of tests on both backends.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "basalt/exec/expressions.h"
#include "exec/tables.h"

namespace basalt::test {

inline Aggregate aggregate(AggregateOp op, Expr arg = {}) {
  Aggregate out;
  out.op = op;
  out.arg = std::move(arg);
  return out;
}

// The outcome as text, so that errors compare too.
inline std::string outcome(const Pipeline& pipeline, RunOptions options, Device device, RunReport* report = nullptr) {
  options.device = device;
  try {
    std::string text;
    RunReport own;
    for (const Value& value : run_pipeline(pipeline, options, report == nullptr ? &own : report)) {
      text += std::string(to_string(value.type)) + ":";
      if (!value.null && is_float(value.type)) {
        uint64_t bits = 0;
        std::memcpy(&bits, &value.real, sizeof(bits));
        text += std::isnan(value.real) ? "nan" : std::to_string(bits);
      } else {
        text += show(value);
      }
      text += ' ';
    }
    return text;
  } catch (const Error& error) {
    return std::string(to_string(error.code()));
  }
}

// Some columns of a table, as a pipeline of their own.
struct Subset {
  Pipeline pipeline;
  std::vector<const Column*> columns;
};
inline Subset subset_of(const TestTable& table, const std::vector<uint32_t>& chosen) {
  Subset out;
  out.pipeline.files = {table.file};
  const std::vector<PipelineColumn> all = table.pipeline_columns();
  for (const uint32_t index : chosen) {
    out.pipeline.columns.push_back(all[index]);
    out.columns.push_back(&table.columns[index]);
  }
  return out;
}

inline Expr column_of(const Subset& subset, uint32_t index) {
  return column_expr(index, physical_of(subset.pipeline.columns[index].type));
}

}  // namespace basalt::test
