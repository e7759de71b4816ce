// What sample statements are made of: expressions, aggregates, and columns that need no file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/packed_tile.h"
#include "exec/device/generate/generate.h"

namespace basalt::samples {

constexpr uint64_t kSampleRows = 1'000'000;

struct Sample {
  std::string name;
  Pipeline pipeline;
  std::vector<device::ColumnShapes> columns;
  size_t most_instructions = 0;  // of the compiled kernel: what keeps a cold compilation within its time
};

inline Expr column(const Pipeline& pipeline, uint32_t index) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.column = index;
  expr.type = physical_of(pipeline.columns[index].type);
  return expr;
}
inline Expr integer(Physical type, int128_t value) {
  Expr expr;
  expr.type = type;
  expr.literal = Value::of_integer(type, value);
  return expr;
}
inline Expr real(Physical type, double value) {
  Expr expr;
  expr.type = type;
  expr.literal = Value::of_real(type, value);
  return expr;
}
inline Expr text(const std::string& value) {
  Expr expr;
  expr.type = Physical::kBytes;
  expr.literal = Value::of_bytes(value);
  return expr;
}
inline Expr call(ExprOp op, Physical type, std::vector<Expr> args) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  expr.args = std::move(args);
  return expr;
}
inline Expr test(ExprOp op, Expr a, Expr b) { return call(op, Physical::kU8, {std::move(a), std::move(b)}); }
inline Aggregate aggregate(AggregateOp op, Expr arg) {
  Aggregate out;
  out.op = op;
  out.arg = std::move(arg);
  return out;
}

// The reader of arrays of this type and tree, which need not exist.
inline NodeView shape_of(const Tree& tree, Physical type) {
  NodeView node;
  node.codec = &get_codec(tree.codec);
  node.type = type;
  const std::vector<ChildSlot> slots = node.codec->children(type);
  for (size_t i = 0; i < slots.size(); ++i) node.children.push_back(shape_of(tree.children[i], slots[i].type));
  return node;
}
inline DeviceReader reader_of(const std::string& tree, Physical type) {
  const NodeView node = shape_of(bind_tree(parse_tree(tree), type), type);
  return type == Physical::kBytes ? node.codec->device_filter(node) : node.codec->device_reader(node);
}

// A column of such trees (all with the same descriptor size) whose values lie in [low, high].
inline void add_column(Sample& sample, const std::string& name, DataType type, const std::vector<std::string>& trees,
                       uint32_t words, int128_t low, int128_t high, const std::vector<uint32_t>& widths,
                       bool nullable = false) {
  PipelineColumn column;
  column.field_id = static_cast<uint32_t>(sample.pipeline.columns.size());
  column.name = name;
  column.type = type;
  sample.pipeline.columns.push_back(column);
  device::ColumnShapes shapes;
  for (const std::string& tree : trees) shapes.values.push_back(reader_of(tree, physical_of(type)));
  shapes.value_words = words;
  if (nullable) {
    shapes.validity = {reader_of("packed", Physical::kU8)};
    shapes.validity_words = 4;
  }
  shapes.width_tiles.assign(kMaxPackedWidth + 1, 0);
  for (const uint32_t width : widths) shapes.width_tiles[width] = 1000;
  const Physical physical = physical_of(type);
  shapes.stats.rows = kSampleRows;
  shapes.stats.null_count = nullable ? 1000 : 0;
  if (is_integer(physical)) {
    shapes.stats.min = Value::of_integer(physical, low);
    shapes.stats.max = Value::of_integer(physical, high);
  }
  sample.columns.push_back(std::move(shapes));
}

}  // namespace basalt::samples
