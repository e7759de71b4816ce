#include "exec/device/generate/texts.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "basalt/exec/expressions.h"
#include "codec/device_names.h"
#include "codec/dict/layout.h"
#include "codec/fsst/layout.h"
#include "codec/numbered/layout.h"
#include "codec/strings/layout.h"
#include "codec/strings/strings.h"
#include "codec/tokens/layout.h"
#include "codec/validity/layout.h"
#include "exec/column_facts.h"
#include "exec/constant.h"
#include "exec/device/generate/decode_ahead.h"
#include "exec/stage_source.h"
#include "exec/string_tests.h"

namespace basalt::device {

namespace {

bool is_text(const Expr& expr) { return expr.type == Physical::kBytes; }

bool has_texts(const Expr& expr) { return is_text(expr) || std::ranges::any_of(expr.args, has_texts); }

bool is_null_test_of_column(const Expr& expr) {
  return (expr.op == ExprOp::kIsNull || expr.op == ExprOp::kIsNotNull) && expr.args[0].op == ExprOp::kColumn;
}

// Evaluated for each distinct string.
bool is_text_function(ExprOp op) {
  switch (op) {
    case ExprOp::kLike:
    case ExprOp::kRegexp:
    case ExprOp::kLength:
    case ExprOp::kByteLength:
    case ExprOp::kSubstring:
    case ExprOp::kSuffix:
    case ExprOp::kDropSuffix:
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
    case ExprOp::kRepeat:
    case ExprOp::kSplitPart:
    case ExprOp::kCodePoint:
    case ExprOp::kUpper:
    case ExprOp::kLower:
    case ExprOp::kConcat:
    case ExprOp::kTrim:
    case ExprOp::kPosition:
    case ExprOp::kReplace:
    case ExprOp::kRegexpReplace: return true;
    default: return false;
  }
}

// The one column of strings that a tree of functions and literals reads.
std::optional<uint32_t> only_column(const Expr& expr) {
  if (expr.op == ExprOp::kColumn) return expr.column;
  if (!is_text_function(expr.op)) return std::nullopt;
  std::optional<uint32_t> found;
  for (const Expr& arg : expr.args) {
    if (arg.op == ExprOp::kLiteral && !arg.literal.null) continue;
    const std::optional<uint32_t> column = only_column(arg);
    if (!column || (found && found != column)) return std::nullopt;
    found = column;
  }
  return found;
}

bool is_value(const Expr& expr) { return expr.op == ExprOp::kLiteral && !expr.literal.null; }

bool is_literal_for_null(const Expr& expr) {
  return expr.op == ExprOp::kCoalesce && expr.args.size() == 2 && expr.args[0].op == ExprOp::kColumn &&
         is_value(expr.args[1]);
}

// Collects the columns of strings of a tree of functions, literals and literals that stand for NULL; false: there is
// something else in it.
bool add_columns_read(const Expr& expr, std::vector<uint32_t>& columns) {
  if (is_value(expr)) return true;
  if (expr.op == ExprOp::kColumn && is_text(expr)) {
    if (std::ranges::find(columns, expr.column) == columns.end()) columns.push_back(expr.column);
    return true;
  }
  if (!is_literal_for_null(expr) && !is_text_function(expr.op)) return false;
  return std::ranges::all_of(expr.args, [&](const Expr& arg) { return add_columns_read(arg, columns); });
}

// The cases of a choice: condition, value, …, value if none holds.
Expr as_case(const Expr& choice) {
  if (choice.op == ExprOp::kCase) return choice;
  Expr out;
  out.op = ExprOp::kCase;
  out.type = choice.type;
  for (size_t i = 0; i < choice.args.size(); ++i) {
    if (i + 1 < choice.args.size()) {
      Expr& known = out.args.emplace_back();
      known.op = ExprOp::kIsNotNull;
      known.type = Physical::kU8;
      known.args = {choice.args[i]};
    }
    out.args.push_back(choice.args[i]);
  }
  return out;
}

// A function of a choice among strings, as a choice among its results; nothing if none of its arguments is a choice.
std::optional<Expr> choice_of_results(const Expr& function) {
  for (size_t i = 0; i < function.args.size(); ++i) {
    const Expr& arg = function.args[i];
    std::optional<Expr> choice;
    if (arg.op == ExprOp::kCase || (arg.op == ExprOp::kCoalesce && !is_literal_for_null(arg))) {
      choice = as_case(arg);
    } else if (is_text_function(arg.op)) {
      choice = choice_of_results(arg);
    }
    if (!choice) continue;
    choice->type = function.type;
    for (size_t j = 0; j < choice->args.size(); ++j) {
      if (j % 2 == 0 && j + 1 < choice->args.size()) continue;  // a condition
      Expr result = function;
      result.args[i] = choice->args[j];
      choice->args[j] = std::move(result);
    }
    return choice;
  }
  return std::nullopt;
}

// Why a tree of functions cannot be evaluated on the device; empty: it can, unless strings have letters beyond ASCII.
std::string why_no_function(const Expr& expr) {
  if (expr.op == ExprOp::kConcat && expr.args.size() > kMostConcatenated) {
    return "more than " + std::to_string(kMostConcatenated) + " strings put together";
  }
  if (expr.op == ExprOp::kLike || expr.op == ExprOp::kRegexp) {
    const std::string& pattern = expr.args[1].literal.bytes;
    const StringTest test = expr.op == ExprOp::kLike ? StringTest::like(pattern) : StringTest::regexp(pattern);
    if (std::string reason = make_automaton(test).reason; !reason.empty()) return "a test of strings: " + reason;
  }
  for (const Expr& arg : expr.args) {
    if (std::string reason = why_no_function(arg); !reason.empty()) return reason;
  }
  return {};
}

// Of a pattern in any case: without one there is no other way to test it. Each byte of a list has one state at most.
bool has_automaton(const StringTest& test) {
  size_t bytes = 2;
  for (const std::string& value : test.values) bytes += value.size();
  return bytes <= Automaton::kMostStates || make_automaton(test).automaton != nullptr;
}

// The function of columns 0, 1, … for these.
Expr of_columns(Expr expr, const std::vector<uint32_t>& columns) {
  if (expr.op == ExprOp::kColumn) {
    expr.column = static_cast<uint32_t>(std::ranges::find(columns, expr.column) - columns.begin());
  }
  for (Expr& arg : expr.args) arg = of_columns(std::move(arg), columns);
  return expr;
}

bool same(const Expr& a, const Expr& b) {
  return a.op == b.op && a.type == b.type && a.column == b.column && a.literal.null == b.literal.null &&
         a.literal.integer == b.literal.integer && a.literal.bytes == b.literal.bytes &&
         std::ranges::equal(a.args, b.args, same);
}

bool compares_order(ExprOp op) {
  return op == ExprOp::kLess || op == ExprOp::kLessEqual || op == ExprOp::kGreater || op == ExprOp::kGreaterEqual ||
         op == ExprOp::kGreatest || op == ExprOp::kLeast;
}

// Whether an operation of numbers does for them what it does for strings.
bool works_on_numbers(ExprOp op) {
  return compares_order(op) || op == ExprOp::kEqual || op == ExprOp::kNotEqual || op == ExprOp::kDistinct ||
         op == ExprOp::kNotDistinct || op == ExprOp::kIn || op == ExprOp::kCase || op == ExprOp::kCoalesce ||
         op == ExprOp::kIsNull || op == ExprOp::kIsNotNull;
}

bool is_extreme(AggregateOp op) { return op == AggregateOp::kMin || op == AggregateOp::kMax; }

DataType type_of_array(Physical type) {
  switch (type) {
    case Physical::kBytes: return {TypeKind::kUInt32};
    case Physical::kU8: return {TypeKind::kBool};
    default: return {TypeKind::kInt64};
  }
}

void for_each_column(Expr& expr, const std::function<void(Expr&)>& f) {
  if (expr.op == ExprOp::kColumn) f(expr);
  for (Expr& arg : expr.args) for_each_column(arg, f);
}

std::string why_not_decode_fixed(const NodeView& node) {
  const DeviceReader reader = node.codec->device_reader(node);
  if (device_value_type(node.type).empty() || reader.empty()) return "an encoding without a device reader";
  if (reader.scratch_bytes > kMostScratch) {
    return "an encoding that needs more shared memory than a block of the GPU has";
  }
  return {};
}

std::string first_reason(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return {};
}

// Metadata may say anything: children are counted before they are looked at.
std::string why_not_decode_node(const NodeView& node) {
  constexpr const char* kNoDecoder = "an encoding without a decoder on the GPU";
  const auto is = [](const NodeView& view, std::string_view codec, size_t children) {
    return view.codec->name() == codec && view.children.size() == children;
  };
  if (is(node, "dict", 2)) {
    return first_reason(
        {why_not_decode_fixed(node.children[dict::kCodes]), why_not_decode_node(node.children[dict::kEntries])});
  }
  if (is(node, "numbered", 1)) return why_not_decode_fixed(node.children[numbered::kNumbers]);
  if (!is(node, "strings", 2)) return kNoDecoder;
  const NodeView& bytes = node.children[strings::kBytes];
  const std::string lengths = why_not_decode_fixed(node.children[strings::kLengths]);
  if (is(bytes, "plain", 0) || is(bytes, "constant", 0)) return lengths;
  if (is(bytes, "fsst", 1)) return first_reason({lengths, why_not_decode_fixed(bytes.children[fsst::kCodeLengths])});
  if (!is(bytes, "tokens", 3)) return kNoDecoder;
  return first_reason({lengths, why_not_decode_fixed(bytes.children[tokens::kIds]),
                       why_not_decode_fixed(bytes.children[tokens::kCounts]),
                       why_not_decode_node(bytes.children[tokens::kEntries])});
}

}  // namespace

bool is_null_with(const Expr& function, uint32_t column) {
  if (function.op == ExprOp::kColumn) return function.column == column;
  if (function.op == ExprOp::kCoalesce) return false;
  return std::ranges::any_of(function.args, [&](const Expr& arg) { return is_null_with(arg, column); });
}

std::string why_not_decode_texts(const ColumnChunkInfo& info) {
  if (info.nodes.empty()) return "no values of its own";
  const NodeView root = shape_of(info);
  if (!is_known(root)) return "an unknown codec";
  if (!root.codec->holds_nulls()) return why_not_decode_node(root);
  if (root.children.size() != 2) return "no values of its own";
  return first_reason(
      {why_not_decode_fixed(root.children[validity::kValid]), why_not_decode_node(root.children[validity::kValues])});
}

std::shared_ptr<const exec::TextCodes> codes_of_files(const Pipeline& pipeline, uint32_t field_id) {
  if (!has_few_encodings(pipeline, field_id, true)) return nullptr;
  return exec::text_codes_of(pipeline.files, field_id);
}

std::optional<uint32_t> add_code_column(DevicePipeline& device, uint32_t column) {
  Pipeline& pipeline = device.pipeline;
  const PipelineColumn& texts = pipeline.columns[column];
  for (uint32_t i = 0; i < pipeline.columns.size(); ++i) {
    if (device.codes[i] != nullptr && pipeline.columns[i].field_id == texts.field_id) return i;
  }
  std::optional<ArrayShape> array = device.arrays[column];
  std::shared_ptr<const exec::TextCodes> codes = array ? array->listed : codes_of_files(pipeline, texts.field_id);
  if (codes == nullptr) return std::nullopt;
  PipelineColumn added = texts;
  added.as_codes = !array;
  added.type = {TypeKind::kUInt32};
  pipeline.columns.push_back(std::move(added));
  device.codes.push_back(std::move(codes));
  device.arrays.push_back(std::move(array));
  return static_cast<uint32_t>(pipeline.columns.size() - 1);
}

bool is_same(const TextArray& a, const TextArray& b) {
  return a.field_id == b.field_id && a.by_row == b.by_row && a.others == b.others && same(a.function, b.function);
}

uint32_t filter_by_flags(DevicePipeline& device) {
  Pipeline& pipeline = device.pipeline;
  ArrayShape flags;
  flags.type = Physical::kU8;
  flags.stats.rows = device.rows;
  flags.stats.min = Value::of_integer(flags.type, 0);
  flags.stats.max = Value::of_integer(flags.type, 1);
  const auto column = static_cast<uint32_t>(pipeline.columns.size());
  pipeline.columns.push_back({0, "passes", {TypeKind::kBool}});
  pipeline.has_filter = true;
  pipeline.filter = column_reference(column, flags.type);
  device.codes.emplace_back();
  device.arrays.emplace_back(std::move(flags));
  device.texts.arrays.resize(pipeline.columns.size());
  return column;
}

void TextNumbering::refuse(const std::string& reason) {
  if (device_.reason.empty()) device_.reason = reason;
}

Expr TextNumbering::literal(const Value& value) {
  Expr out;
  out.type = Physical::kU32;
  out.literal.type = Physical::kU32;
  out.literal.null = value.null;
  if (value.null) return out;
  std::vector<std::string>& literals = device_.texts.literals;
  const auto found = std::ranges::find(literals, value.bytes);
  const auto place = static_cast<size_t>(found - literals.begin());
  if (found == literals.end()) literals.push_back(value.bytes);
  out.literal = Value::of_integer(Physical::kU32, known_ != nullptr ? known_->literals.at(place) : place);
  return out;
}

// An array by row of a column of strings, as far as its rows and NULLs go.
ArrayShape TextNumbering::shape_of_texts(uint32_t column) {
  const Pipeline& pipeline = device_.pipeline;
  const PipelineColumn& texts = pipeline.columns[column];
  ArrayShape shape;
  if (const std::optional<ArrayShape>& places = device_.arrays[column]) {
    shape.nullable = places->nullable;
    shape.stats.rows = places->stats.rows;
    shape.stats.null_count = places->stats.null_count;
    return shape;
  }
  for (const auto& file : pipeline.files) {
    for (const ColumnChunkInfo& chunk : file->column(texts.field_id).chunks) {
      if (const std::string reason = why_not_decode_texts(chunk); !reason.empty()) {
        refuse("column " + texts.name + " as a value: " + reason);
        return shape;
      }
      shape.nullable = shape.nullable || chunk.nodes[0].codec->holds_nulls();
    }
  }
  const Statistics known = exec::merged_statistics(pipeline, texts.field_id);
  shape.stats.rows = known.rows;
  shape.stats.null_count = known.null_count;
  return shape;
}

// The column of an array, added unless it is there; `shape` says what is known of its rows and NULLs.
Expr TextNumbering::add_array(TextArray array, ArrayShape shape, const std::string& name) {
  Pipeline& pipeline = device_.pipeline;
  std::vector<std::optional<TextArray>>& arrays = device_.texts.arrays;
  const Physical given = array.function.type;
  const Physical type = given == Physical::kBytes ? Physical::kU32 : given;
  for (uint32_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i] && arrays[i]->field_id == array.field_id && arrays[i]->others == array.others &&
        same(arrays[i]->function, array.function)) {
      return column_reference(i, type);
    }
  }
  shape.type = type;
  uint64_t most = INT32_MAX;  // of lengths and positions
  if (given == Physical::kBytes) {
    // Rounded up, so that kernels do not depend on the last string.
    const uint64_t count = known_ != nullptr ? known_->count : device_.rows + device_.texts.literals.size();
    most = std::min<uint64_t>(std::bit_ceil(std::max<uint64_t>(count, 1)), uint64_t{1} << 32) - 1;
  } else if (type == Physical::kU8) {
    most = 1;
  }
  shape.stats.min = Value::of_integer(type, 0);
  shape.stats.max = Value::of_integer(type, static_cast<int128_t>(most));
  pipeline.columns.push_back({array.field_id, name, type_of_array(given)});
  device_.codes.emplace_back();
  device_.arrays.emplace_back(std::move(shape));
  arrays.resize(pipeline.columns.size());
  arrays.back() = std::move(array);
  return column_reference(static_cast<uint32_t>(pipeline.columns.size() - 1), type);
}

Expr TextNumbering::array(uint32_t column, const Expr& function) {
  const PipelineColumn texts = device_.pipeline.columns[column];
  return add_array({texts.field_id, of_columns(function, {column})}, shape_of_texts(column), texts.name);
}

Expr TextNumbering::array_by_row(const std::vector<uint32_t>& columns, const Expr& function) {
  TextArray array;
  array.by_row = true;
  array.function = of_columns(function, columns);
  ArrayShape shape;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const uint32_t field = device_.pipeline.columns[columns[i]].field_id;
    if (i == 0) array.field_id = field;
    if (i > 0) array.others.push_back(field);
    const ArrayShape own = shape_of_texts(columns[i]);
    shape.stats.rows = own.stats.rows;
    if (!is_null_with(array.function, i)) continue;
    shape.nullable = shape.nullable || own.nullable;
    shape.stats.null_count += own.stats.null_count;
  }
  // Which rows are NULL in several columns is not known: some may have a value.
  shape.stats.null_count = std::min<uint64_t>(shape.stats.null_count, 1);
  const std::string name = device_.pipeline.columns[columns[0]].name;
  return add_array(std::move(array), std::move(shape), name);
}

Expr TextNumbering::with_values(const Expr& expr) {
  Expr out = expr;
  if (is_text(expr)) out.type = Physical::kU32;
  for (Expr& arg : out.args) arg = value(arg);
  return out;
}

Expr TextNumbering::function(const Expr& expr) {
  if (std::optional<Expr> choice = choice_of_results(expr)) return value(*choice);
  std::vector<uint32_t> columns;
  const bool known = add_columns_read(expr, columns);
  if (known && columns.empty()) {
    Expr constant;
    constant.type = expr.type;
    constant.literal = exec::constant_value(expr);
    return value(constant);
  }
  const std::string reason = known ? why_no_function(expr) : "a function of strings that are computed";
  if (!reason.empty()) {
    refuse(reason);
    return expr;
  }
  const std::optional<uint32_t> column = only_column(expr);
  return column ? array(*column, expr) : array_by_row(columns, expr);
}

Expr TextNumbering::value(const Expr& expr) {
  if (!has_texts(expr) || is_null_test_of_column(expr)) return expr;
  if (expr.op == ExprOp::kLiteral) return literal(expr.literal);
  if (expr.op == ExprOp::kColumn) return array(expr.column, expr);
  if (is_text_function(expr.op)) return function(expr);
  if (is_text(expr) || std::ranges::any_of(expr.args, is_text)) {
    if (!works_on_numbers(expr.op)) {
      refuse("strings in an expression");
      return expr;
    }
    if (compares_order(expr.op)) need_order();
  }
  return with_values(expr);
}

// Whether all chunks of a column of strings can be tested as they are stored.
bool TextNumbering::tests_in_place(uint32_t column) const {
  const uint32_t field = device_.pipeline.columns[column].field_id;
  if (device_.arrays[column] || !has_few_encodings(device_.pipeline, field, false)) return false;
  return std::ranges::all_of(device_.pipeline.files, [&](const auto& file) {
    return std::ranges::all_of(file->column(field).chunks, [](const ColumnChunkInfo& chunk) {
      return chunk.nodes.empty() || !readers_of(shape_of(chunk)).values.empty();
    });
  });
}

Expr TextNumbering::predicate(const Expr& expr) {
  if (!has_texts(expr)) return expr;
  const std::optional<StringTest> test = exec::string_test_of(expr);
  if (test && tests_in_place(exec::tested_column(expr)) && has_automaton(*test)) return expr;
  if (expr.op != ExprOp::kAnd && expr.op != ExprOp::kOr && expr.op != ExprOp::kNot) return value(expr);
  Expr out = expr;
  for (Expr& arg : out.args) arg = predicate(arg);
  return out;
}

void TextNumbering::rewrite() {
  Pipeline& pipeline = device_.pipeline;
  const FirstGroups& first = pipeline.first;
  if (first.by && first.by->column < pipeline.keys.size() && is_text(pipeline.keys[first.by->column])) {
    need_order();
  }
  if (pipeline.has_filter) pipeline.filter = predicate(pipeline.filter);
  for (Expr& key : pipeline.keys) key = value(key);
  for (Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.filter) aggregate.filter = predicate(*aggregate.filter);
    if (aggregate.op == AggregateOp::kCountStar) continue;
    const bool only_counted = aggregate.op == AggregateOp::kCount && !aggregate.distinct;
    if (only_counted && aggregate.arg.op == ExprOp::kColumn) continue;
    // Codes of a dictionary are numbers in order already.
    if (is_text(aggregate.arg) && aggregate.arg.op == ExprOp::kColumn) {
      if (const std::optional<uint32_t> codes = add_code_column(device_, aggregate.arg.column)) {
        aggregate.arg = column_reference(*codes, Physical::kU32);
        continue;
      }
    }
    if (is_text(aggregate.arg) && is_extreme(aggregate.op)) need_order();
    aggregate.arg = value(aggregate.arg);
  }
  if (device_.reason.empty()) drop_unused();
}

void TextNumbering::drop_unused() {
  Pipeline& pipeline = device_.pipeline;
  std::vector<bool> used(pipeline.columns.size(), false);
  exec::for_each_expression(
      pipeline, [&](Expr& expr) { for_each_column(expr, [&](Expr& column) { used[column.column] = true; }); });
  std::vector<uint32_t> places;
  uint32_t kept = 0;
  device_.texts.arrays.resize(device_.texts.empty() ? 0 : pipeline.columns.size());
  for (uint32_t i = 0; i < pipeline.columns.size(); ++i) {
    places.push_back(kept);
    if (!used[i] && physical_of(pipeline.columns[i].type) == Physical::kBytes) continue;
    if (kept != i) {
      pipeline.columns[kept] = std::move(pipeline.columns[i]);
      device_.codes[kept] = std::move(device_.codes[i]);
      device_.arrays[kept] = std::move(device_.arrays[i]);
      if (!device_.texts.empty()) device_.texts.arrays[kept] = std::move(device_.texts.arrays[i]);
    }
    // Of strings in arrays only their NULLs are asked for now.
    PipelineColumn& column = pipeline.columns[kept];
    if (device_.arrays[kept] && physical_of(column.type) == Physical::kBytes) column.type = {TypeKind::kUInt32};
    ++kept;
  }
  pipeline.columns.resize(kept);
  device_.codes.resize(kept);
  device_.arrays.resize(kept);
  if (!device_.texts.empty()) device_.texts.arrays.resize(kept);
  exec::for_each_expression(pipeline, [&](Expr& expr) {
    for_each_column(expr, [&](Expr& column) {
      column.column = places[column.column];
      column.type = physical_of(pipeline.columns[column.column].type);
    });
  });
}

}  // namespace basalt::device
