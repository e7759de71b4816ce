#include "exec/device/generate/decode_ahead.h"

#include <algorithm>
#include <set>

#include "basalt/exec/expressions.h"
#include "exec/column_facts.h"
#include "exec/device/generate/file_shapes.h"
#include "exec/string_tests.h"

namespace basalt::device {

namespace {

using Columns = std::set<uint32_t>;

// The columns whose values an expression reads.
void add_values(const Expr& expr, Columns& columns) {
  const bool null_test = expr.op == ExprOp::kIsNull || expr.op == ExprOp::kIsNotNull;
  if ((null_test && expr.args[0].op == ExprOp::kColumn) || exec::string_test_of(expr)) return;
  if (expr.op == ExprOp::kColumn) columns.insert(expr.column);
  for (const Expr& arg : expr.args) add_values(arg, columns);
}

void add_tests(const Expr& filter, std::vector<Columns>& steps) {
  if (filter.op == ExprOp::kAnd) {
    for (const Expr& arg : filter.args) add_tests(arg, steps);
  } else {
    add_values(filter, steps.emplace_back());
  }
}

// The columns that each step of the kernel has open at a time. Of rows, each column that leaves counts alone, beside
// the order: one kernel need not write them all.
std::vector<Columns> steps_of(const DevicePipeline& device) {
  const Pipeline& pipeline = device.pipeline;
  std::vector<Columns> steps;
  if (pipeline.has_filter) add_tests(pipeline.filter, steps);
  Columns order;
  for (const SortKey& key : pipeline.order) add_values(pipeline.rows[key.column], order);
  steps.push_back(order);
  for (const Expr& row : pipeline.rows) {
    if (!device.sources->late) steps.push_back(order);
    add_values(row, steps.back());
  }
  for (const Expr& key : pipeline.keys) add_values(key, steps.back());
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (pipeline.sink == Sink::kTotals) steps.emplace_back();
    if (aggregate.filter) add_values(*aggregate.filter, steps.back());
    if (aggregate.op != AggregateOp::kCountStar) add_values(aggregate.arg, steps.back());
  }
  return steps;
}

class DecodingAhead {
 public:
  explicit DecodingAhead(DevicePipeline& device) : device_(device) {}

  void run() {
    for (uint32_t i = 0; i < device_.pipeline.columns.size(); ++i) {
      const PipelineColumn& column = device_.pipeline.columns[i];
      if (has_few_encodings(device_.pipeline, column.field_id, column.as_codes) && !has_long_descriptors(i)) continue;
      if (can_decode(i)) decode(i);
    }
    for (const Columns& step : steps_of(device_)) fit(step);
  }

 private:
  // Those that need most go first.
  void fit(const Columns& step) {
    uint32_t bytes = 0;
    std::vector<uint32_t> columns;
    for (const uint32_t column : step) {
      bytes += scratch_of(column);
      if (scratch_of(column) > 0 && can_decode(column)) columns.push_back(column);
    }
    std::ranges::stable_sort(columns, std::greater(), [&](uint32_t column) { return scratch_of(column); });
    for (size_t i = 0; bytes > kMostScratch && i < columns.size(); ++i) {
      bytes -= scratch_of(columns[i]);
      decode(columns[i]);
    }
  }

  template <typename Body>
  void for_each_shapes(uint32_t column, const Body& body) const {
    const PipelineColumn& own = device_.pipeline.columns[column];
    for (const auto& file : device_.pipeline.files) body(*file_shapes(file, own.field_id, own.as_codes));
  }

  // Of shared memory, for a tile.
  uint32_t scratch_of(uint32_t column) const {
    uint32_t bytes = 0;
    if (device_.arrays[column]) return bytes;
    for_each_shapes(column, [&](const FileShapes& shapes) {
      for (const DeviceReader& reader : shapes.values) bytes = std::max(bytes, (reader.scratch_bytes + 15) / 16 * 16);
    });
    return bytes;
  }

  bool has_long_descriptors(uint32_t column) const {
    bool found = false;
    for_each_shapes(column, [&](const FileShapes& shapes) { found |= shapes.chunk_words > kMostDescriptorWords; });
    return found;
  }

  // Strings are numbered instead.
  bool can_decode(uint32_t column) const {
    const PipelineColumn& own = device_.pipeline.columns[column];
    bool can = !device_.arrays[column] && !own.as_codes && physical_of(own.type) != Physical::kBytes;
    const auto add = [&](const std::vector<DeviceReader>& readers) {
      for (const DeviceReader& reader : readers) can = can && !reader.empty() && reader.scratch_bytes <= kMostScratch;
    };
    for_each_shapes(column, [&](const FileShapes& shapes) {
      can = can && !shapes.lacks_values;
      add(shapes.values);
      add(shapes.validity);
    });
    return can;
  }

  void decode(uint32_t column) {
    const PipelineColumn& own = device_.pipeline.columns[column];
    ArrayShape shape;
    shape.type = physical_of(own.type);
    shape.stats = exec::merged_statistics(device_.pipeline, own.field_id);
    for_each_shapes(column, [&](const FileShapes& shapes) { shape.nullable |= !shapes.validity.empty(); });
    device_.texts.arrays.resize(device_.pipeline.columns.size());
    device_.texts.arrays[column] = TextArray{own.field_id, column_reference(0, shape.type)};
    device_.arrays[column] = std::move(shape);
  }

  DevicePipeline& device_;
};

}  // namespace

bool has_few_encodings(const Pipeline& pipeline, uint32_t field_id, bool as_codes) {
  std::set<std::string> types;
  for (const auto& file : pipeline.files) {
    for (const DeviceReader& reader : file_shapes(file, field_id, as_codes)->values) types.insert(reader.type.text());
  }
  return types.size() <= kMostEncodings;
}

void decode_ahead(DevicePipeline& device) {
  if (device.reason.empty() && !device.pipeline.files.empty()) DecodingAhead(device).run();
}

}  // namespace basalt::device
