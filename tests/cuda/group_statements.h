// Statements that group, and how their groups on both backends are compared.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {

// A variable of the environment for as long as this lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

constexpr TimeUnit kMicro = TimeUnit::kMicro;

struct Statement {
  std::string name;
  Pipeline pipeline;
};

inline Expr column_in(const Pipeline& pipeline, uint32_t index) {
  return column_expr(index, physical_of(pipeline.columns[index].type));
}

inline Aggregate of(AggregateOp op, Expr arg, bool distinct = false) {
  Aggregate out = aggregate(op, std::move(arg));
  out.distinct = distinct;
  return out;
}

inline DataType type_of_result(const Pipeline& pipeline, const Aggregate& aggregate) {
  switch (result_type(aggregate)) {
    case Physical::kI64: return {TypeKind::kInt64, 0, 0, kMicro};
    case Physical::kF64: return {TypeKind::kFloat64, 0, 0, kMicro};
    default: break;
  }
  if (aggregate.op == AggregateOp::kSum) return {TypeKind::kInt128, 0, 0, kMicro};
  return pipeline.columns[aggregate.arg.column].type;
}

inline Statement make_statement(const TestTable& table, const std::string& name, const std::vector<uint32_t>& keys,
                                std::vector<Aggregate> aggregates) {
  Statement out;
  out.name = name;
  Pipeline& p = out.pipeline;
  p.files = {table.file};
  p.columns = table.pipeline_columns();
  p.sink = Sink::kGroups;
  for (const uint32_t key : keys) {
    p.keys.push_back(column_in(p, key));
    p.output.push_back({"key", p.columns[key].type, true, 0, {}});
  }
  p.aggregates = std::move(aggregates);
  for (const Aggregate& aggregate : p.aggregates) {
    p.output.push_back({"result", type_of_result(p, aggregate), true, 0, {}});
  }
  return out;
}

inline std::string cell_text(const Value& value) {
  if (value.null) return "NULL";
  if (value.type == Physical::kBytes) return value.bytes;
  if (!is_float(value.type)) return show(value);
  if (std::isnan(value.real)) return "nan";
  uint64_t bits = 0;
  std::memcpy(&bits, &value.real, sizeof(bits));
  return std::to_string(value.real) + " (" + std::to_string(bits) + ")";
}

// Rows by their keys. Of variances only that many digits count as both backends have in common.
using GroupRows = std::map<std::string, std::vector<Value>>;
inline GroupRows rows_by_key(const Pipeline& pipeline, const Table& table) {
  GroupRows rows;
  for (uint64_t row = 0; row < table.rows; ++row) {
    std::string key;
    std::vector<Value> values;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Value value = value_at(table.columns[i], row);
      if (i < pipeline.keys.size()) {
        key += cell_text(value) + " | ";
      } else {
        values.push_back(value);
      }
    }
    EXPECT_TRUE(rows.emplace(key, values).second) << "twice: " << key;
  }
  return rows;
}

inline bool same_cell(AggregateOp op, const Value& a, const Value& b) {
  const bool variance = op >= AggregateOp::kVarPop && !a.null && !b.null;
  if (variance) return std::abs(a.real - b.real) <= 1e-12 * std::max(std::abs(a.real), 1.0);
  if (cell_text(a) == cell_text(b)) return true;
  // Averages of many groups are divided on the device, without long doubles.
  return op == AggregateOp::kAvg && !a.null && !b.null && std::abs(a.real - b.real) <= 1e-15 * std::abs(a.real);
}

// The first few differences, in words.
inline std::string differences(const Pipeline& pipeline, const GroupRows& expected, const GroupRows& found) {
  std::string text;
  size_t count = 0;
  for (const auto& [key, values] : expected) {
    const auto other = found.find(key);
    if (other == found.end()) {
      if (++count <= 5) text += "missing: " + key + "\n";
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (same_cell(pipeline.aggregates[i].op, values[i], other->second[i])) continue;
      if (++count > 5) continue;
      text += key + " result " + std::to_string(i) + ", " + to_string(pipeline.aggregates[i].op) + ": expected " +
              cell_text(values[i]) + ", found " + cell_text(other->second[i]) + "\n";
    }
  }
  for (const auto& [key, values] : found) {
    if (!expected.contains(key) && ++count <= 5) text += "not expected: " + key + "\n";
  }
  return count == 0 ? ""
                    : text + std::to_string(count) + " differences, " + std::to_string(expected.size()) + " groups\n";
}

// `next`: what is done with the groups; their columns stay where they are.
inline GroupRows run_on(const Pipeline& pipeline, Device device, RunReport* report = nullptr,
                        const Pipeline* next = nullptr) {
  RunOptions options;
  options.device = device;
  RunReport own;
  Query query{{pipeline}};
  if (next != nullptr) query.stages.push_back(*next);
  return rows_by_key(pipeline, run_query(query, options, report == nullptr ? &own : report));
}

}  // namespace basalt::test
