// The generator: plans which columns a statement needs and in which order; write.cpp then writes the kernel as a list
// of steps, load, test, load, test, aggregate. See generate.h for what the source may depend on.
#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "codec/galp/layout.h"
#include "codec/trees.h"
#include "core/float_key.h"
#include "core/packed_tile.h"
#include "exec/column_facts.h"
#include "exec/device/generate/decode_ahead.h"
#include "exec/device/generate/file_shapes.h"
#include "exec/device/generate/generator.h"
#include "exec/expr_kind.h"
#include "exec/filter_sum.h"
#include "exec/set_places.h"
#include "exec/string_tests.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

Expr column_expression(const Pipeline& pipeline, uint32_t column) {
  return column_reference(column, physical_of(pipeline.columns[column].type));
}

bool is_null_test(const Expr& expr) {
  return (expr.op == ExprOp::kIsNull || expr.op == ExprOp::kIsNotNull) && expr.args[0].op == ExprOp::kColumn;
}

// Roots are exact everywhere; exponents, logarithms and powers are as good as the library that computes them.
bool has_device_function(ExprOp op) {
  return exec::kind_of(op) != exec::ExprKind::kMathFunction || op == ExprOp::kSquareRoot;
}

struct LiteralCount {
  size_t others = 0;
  std::set<int64_t> sets;  // which have three each

  size_t all() const { return others + 3 * sets.size(); }
};

// The columns of strings that are tested go to `tested`; nullptr: none may be.
std::string expression_reason(const Expr& expr, LiteralCount& literals, std::set<uint32_t>* tested) {
  if (is_null_test(expr)) return {};
  if (tested != nullptr && exec::string_test_of(expr)) {
    tested->insert(exec::tested_column(expr));
    return {};
  }
  if (expr.type == Physical::kBytes || expr.type == Physical::kNone) return "strings in an expression";
  if (!has_device_function(expr.op)) return "a function whose last bits differ on the GPU";
  if (expr.op == ExprOp::kLiteral) ++literals.others;
  if (expr.op == ExprOp::kIn && expr.args.size() > kFewInList + 1) {  // its list is one
    ++literals.others;
    return expression_reason(expr.args[0], literals, tested);
  }
  if (exec::asks_a_set(expr)) {
    literals.sets.insert(exec::set_of(expr));
    if (expr.op == ExprOp::kLookUp) ++literals.others;  // of numbers that are not there
    return expression_reason(expr.args[0], literals, tested);
  }
  for (const Expr& arg : expr.args) {
    if (std::string reason = expression_reason(arg, literals, tested); !reason.empty()) return reason;
  }
  return {};
}

}  // namespace

bool has_null_in_list(const Expr& predicate) {
  return predicate.op == ExprOp::kIn && std::ranges::any_of(predicate.args, [](const Expr& arg) {
           return arg.op == ExprOp::kLiteral && arg.literal.null;
         });
}

bool reads_directly(const ColumnShapes& shapes) {
  if (shapes.values.size() > 1) return false;
  return shapes.values.empty() || shapes.values[0].direct;
}

void Generator::plan_columns(const std::vector<ColumnShapes>& columns) {
  // Unrolled code costs about 0.1 s of compilation per width and column.
  const bool direct = std::ranges::all_of(columns, reads_directly);
  const size_t most_widths = columns.size() <= kFewColumns ? 3 : columns.size() <= 8 && direct ? 2 : 1;
  picks_ = columns.size() <= kFewColumns || direct ? 4 : 2;
  uint32_t at = 1;  // word 0 of a slot: the chunk's rows
  for (const ColumnShapes& shapes : columns) {
    ColumnPlan plan;
    plan.shapes = shapes;
    const uint32_t column = static_cast<uint32_t>(plan_.columns.size());
    if (plan.shapes.values.empty() && !has_texts(column)) {  // no chunk at all: named, but never opened
      NodeView none;
      none.type = Physical::kU8;
      none.codec = &get_codec(constant_tree(none.type).codec);
      plan.shapes.values.push_back(none.codec->device_reader(none));
      plan.shapes.value_words = 3;
    }
    if (plan.nullable()) {
      plan.validity_at = at;
      at += 1 + shapes.validity_words;
    }
    plan.value_at = at;
    at += 1 + plan.shapes.value_words;
    if (shapes.as_codes) plan.codes_at = at++;
    plan.widths = common_widths(shapes.width_tiles, most_widths);
    plan_.columns.push_back(std::move(plan));
  }
  plan_.slot_words = at;
  for (const ColumnPlan& plan : plan_.columns) list_.push_back(&plan.shapes.stats);
  for (uint32_t i = 0; i < columns.size(); ++i)
    lanes_.push_back(exec::prepare(column_expression(pipeline_, i), list_).lane);
}

// Column names as identifiers, no two the same; every use has a suffix, so that no keyword can appear.
void Generator::name_columns() {
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    std::string word;
    for (const char c : pipeline_.columns[i].name) word += is_word(c) ? c : '_';
    if (word.empty() || (word[0] >= '0' && word[0] <= '9') || word[0] == '_') word = "column" + word;
    std::string name = word;
    // With a number another column may be called so, too.
    for (size_t number = i; std::ranges::find(names_, name) != names_.end(); ++number) {
      name = word + "_" + std::to_string(number);
    }
    names_.push_back(std::move(name));
  }
}

// A cast that only widens integers changes nothing about them.
const Expr& Generator::before_widening(const Expr& expr) const {
  const Expr* inner = &expr;
  while (inner->op == ExprOp::kCast && is_integer(inner->type) && is_integer(inner->args[0].type) &&
         inner->power_of_ten == 0 && inner->factor == 1 && !exec::prepare(*inner, list_).may_throw) {
    inner = &inner->args[0];
  }
  return *inner;
}

std::optional<RangeTest> Generator::as_range_test(const Expr& expr) const {
  if (expr.args.size() != 2) return std::nullopt;
  ExprOp op = expr.op;
  const Expr* left = &expr.args[0];
  const Expr* right = &expr.args[1];
  if (left->op == ExprOp::kLiteral) {
    std::swap(left, right);
    op = op == ExprOp::kLess           ? ExprOp::kGreater
         : op == ExprOp::kLessEqual    ? ExprOp::kGreaterEqual
         : op == ExprOp::kGreater      ? ExprOp::kLess
         : op == ExprOp::kGreaterEqual ? ExprOp::kLessEqual
                                       : op;
  }
  left = &before_widening(*left);
  if (left->op != ExprOp::kColumn || right->op != ExprOp::kLiteral) return std::nullopt;
  const bool real = is_float(left->type);
  if (right->literal.null || (real ? right->type != left->type : !is_integer(left->type) || !is_integer(right->type))) {
    return std::nullopt;
  }
  const exec::IntegerRange range = real ? exec::range_of(Physical::kI64) : exec::range_of(left->type);
  const int128_t literal = left->type == Physical::kF64   ? float_key(right->literal.real)
                           : left->type == Physical::kF32 ? float_key(static_cast<float>(right->literal.real))
                                                          : right->literal.integer;
  RangeTest test;
  test.column = left->column;
  test.low = range.low;
  test.high = range.high;
  bool empty = false;
  switch (op) {
    case ExprOp::kEqual:
      test.has_low = test.has_high = true;
      test.low = test.high = literal;
      empty = literal < range.low || literal > range.high;
      break;
    case ExprOp::kNotEqual:
      if (literal < range.low || literal > range.high) {
        test.has_low = true;  // true of every value, but not of NULL
      } else {
        test.not_equal = true;
        test.low = test.high = literal;
      }
      break;
    case ExprOp::kLess:
    case ExprOp::kLessEqual:
      test.has_high = true;
      empty = op == ExprOp::kLess ? literal <= range.low : literal < range.low;
      if (!empty) test.high = std::min(op == ExprOp::kLess ? literal - 1 : literal, range.high);
      break;
    case ExprOp::kGreater:
    case ExprOp::kGreaterEqual:
      test.has_low = true;
      empty = op == ExprOp::kGreater ? literal >= range.high : literal > range.high;
      if (!empty) test.low = std::max(op == ExprOp::kGreater ? literal + 1 : literal, range.low);
      break;
    default: return std::nullopt;
  }
  if (empty) {
    test.has_low = test.has_high = true;
    test.low = 1;
    test.high = 0;
  }
  return test;
}

void Generator::plan_filter(const Expr& expr) {
  if (expr.op == ExprOp::kAnd) {
    for (const Expr& arg : expr.args) plan_filter(arg);
    return;
  }
  const bool negate = expr.op == ExprOp::kNot;
  const Expr& inner = negate ? expr.args[0] : expr;
  if (exec::string_test_of(inner) && !(negate && has_null_in_list(inner))) {
    text_tests_.push_back({inner, negate});
    return;
  }
  const std::optional<RangeTest> test = as_range_test(expr);
  if (!test) {
    general_tests_.push_back(expr);
    return;
  }
  for (RangeTest& other : range_tests_) {
    if (other.column != test->column || other.not_equal || test->not_equal) continue;
    other.low = std::max(other.low, test->low);
    other.high = std::min(other.high, test->high);
    other.has_low = other.has_low || test->has_low;
    other.has_high = other.has_high || test->has_high;
    if (other.low > other.high) {  // keeps a contradiction inside the column's type
      other.low = 1;
      other.high = 0;
    }
    return;
  }
  range_tests_.push_back(*test);
}

// Ranges before limits on one side, and these before what few values fail; of files, columns of many values first. No
// literal says anything, so that other literals find the same kernel.
std::tuple<int, int128_t, uint32_t> Generator::order_of(const RangeTest& test) const {
  const int kind = test.not_equal ? 2 : test.has_low && test.has_high ? 0 : 1;
  const Step column = exec::prepare(column_expression(pipeline_, test.column), list_);
  const bool known = !pipeline_.files.empty() && is_integer(column.lane) && column.lane != Lane::kI128;
  return {kind, known ? column.range.low - column.range.high : 0, test.column};
}

void Generator::collect(const Expr& expr, Needs& needs) const {
  if (is_null_test(expr)) {
    if (nullable(expr.args[0].column)) needs.validity.insert(expr.args[0].column);
    return;
  }
  if (exec::string_test_of(expr)) {
    const uint32_t column = exec::tested_column(expr);
    if (nullable(column)) needs.validity.insert(column);
    needs.texts.push_back(&expr);
    return;
  }
  if (expr.op == ExprOp::kColumn) {
    needs.values.insert(expr.column);
    if (nullable(expr.column)) needs.validity.insert(expr.column);
  }
  for (const Expr& arg : expr.args) collect(arg, needs);
}

// Aggregates that read the same columns, or fewer of them, share a step.
void Generator::plan_aggregates() {
  std::vector<AggregateStep> single;
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    const Aggregate& aggregate = pipeline_.aggregates[i];
    if (aggregate.op == AggregateOp::kCountStar) continue;
    AggregateStep step;
    step.aggregates.push_back(i);
    collect(aggregate.arg, step.needs);
    if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) step.needs.values.clear();
    single.push_back(std::move(step));
  }
  std::stable_sort(single.begin(), single.end(), [](const AggregateStep& a, const AggregateStep& b) {
    return a.needs.values.size() > b.needs.values.size();
  });
  for (AggregateStep& step : single) {
    const auto home = std::find_if(steps_.begin(), steps_.end(),
                                   [&](const AggregateStep& other) { return step.needs.within(other.needs); });
    if (home == steps_.end()) {
      steps_.push_back(std::move(step));
    } else {
      home->needs.validity.insert(step.needs.validity.begin(), step.needs.validity.end());
      home->aggregates.push_back(step.aggregates[0]);
    }
  }
}

std::optional<uint32_t> Generator::filter_sum_column() const {
  constexpr uint32_t kColumn = 0;
  if (plan_.columns.size() != 1 || nullable(kColumn)) return std::nullopt;
  const std::vector<DeviceReader>& readers = plan_.columns[kColumn].shapes.values;
  if (readers.size() != 1 || readers[0].filter_sum.empty()) return std::nullopt;
  if (is_float(physical_of(pipeline_.columns[kColumn].type)) && !exec::is_float_filter_sum(pipeline_))
    return std::nullopt;
  if (!general_tests_.empty() || !text_tests_.empty() || range_tests_.size() > 1) return std::nullopt;
  if (!range_tests_.empty() && range_tests_[0].not_equal) return std::nullopt;
  // A lane's 32 values of a tile must fit 64 bits.
  const Step step = exec::prepare(column_expression(pipeline_, kColumn), list_);
  if (is_integer(step.lane) && tile_sum_lane(step.range) > Lane::kI64) return std::nullopt;
  bool sums = false;
  for (const Aggregate& aggregate : pipeline_.aggregates) {
    if (aggregate.op == AggregateOp::kCountStar) continue;
    if (before_widening(aggregate.arg).op != ExprOp::kColumn) return std::nullopt;
    if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) return std::nullopt;
    sums = sums || aggregate.op != AggregateOp::kCount;
  }
  return sums ? std::optional<uint32_t>(kColumn) : std::nullopt;
}

KernelPlan Generator::generate(const std::vector<ColumnShapes>& columns) {
  const bool groups = pipeline_.sink == Sink::kGroups;
  if (!groups) plan_.results.resize(pipeline_.aggregates.size());
  plan_columns(columns);
  name_columns();
  if (pipeline_.has_filter) plan_filter(pipeline_.filter);
  // Neither can raise an error.
  std::ranges::stable_sort(range_tests_, {}, [&](const RangeTest& test) { return order_of(test); });
  std::ranges::stable_sort(text_tests_, {}, [](const TextTest& test) { return exec::tested_column(test.predicate); });
  if (!groups) filter_sum_of_ = filter_sum_column();
  if (filter_sum_of_) {
    write_filter_sum(*filter_sum_of_);
  } else {
    write_steps();
  }
  plan_.literals = literals_.values();
  plan_.lists = literals_.lists();
  plan_.sets = literals_.sets();
  plan_.source = whole_source();
  // Beside what tiles take in turn.
  if (tile_group_filter_) plan_.scratch_bytes += galp::kTileGroupBytes;
  return std::move(plan_);
}

bool Generator::filters_tile_groups() const {
  if (range_tests_.empty()) return false;
  const uint32_t column = range_tests_[0].column;
  const std::vector<DeviceReader>& readers = plan_.columns[column].shapes.values;
  if (readers.size() != 1 || readers[0].filter_sum.name != "GalpFilterSum") return false;
  Needs others;
  for (const Expr& expr : general_tests_) collect(expr, others);
  if (pipeline_.sink != Sink::kTotals) return false;
  for (const AggregateStep& step : steps_) others.values.insert(step.needs.values.begin(), step.needs.values.end());
  for (size_t i = 1; i < range_tests_.size(); ++i) others.values.insert(range_tests_[i].column);
  return !others.values.contains(column);
}

void Generator::plan_kept() {
  if (steps_.empty()) return;
  std::vector<Needs> filters;
  for (const Expr& expr : general_tests_) collect(expr, filters.emplace_back());
  const auto most_scratch = [&] {
    uint32_t most = 0;
    for (const Needs& needs : filters) most = std::max(most, scratch_of(needs));
    for (const AggregateStep& step : steps_) most = std::max(most, scratch_of(step.needs));
    return most;
  };
  const uint32_t before = most_scratch();
  for (const uint32_t column : steps_.back().needs.values) {
    const bool is_filtered =
        std::ranges::any_of(filters, [&](const Needs& needs) { return needs.values.contains(column); });
    if (is_filtered && is_staged(column)) kept_.insert(column);
  }
  // Other steps find less room then: it must be no more for all of them.
  if (most_scratch() > before) kept_.clear();
}

void Generator::write_steps() {
  if (pipeline_.sink == Sink::kGroups) {
    plan_groups();
  } else if (pipeline_.sink == Sink::kRows) {
    plan_rows();
  } else {
    plan_aggregates();
  }
  plan_kept();
  const bool by_groups = filters_tile_groups();
  for (size_t i = 0; i < range_tests_.size(); ++i) write_range_test(range_tests_[i], i == 0 && by_groups);
  for (const TextTest& test : text_tests_) write_text_test(test);
  for (const Expr& expr : general_tests_) write_filter_step(expr);
  if (plan_.groups) return write_groups();
  if (plan_.rows) return write_rows();
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    if (pipeline_.aggregates[i].op != AggregateOp::kCountStar) continue;
    record_text_ += "  record.count(" + std::to_string(i) + ", rows);\n";
  }
  for (const AggregateStep& step : steps_) write_aggregate_step(step);
}

namespace {

constexpr size_t kMostColumns = 64;

// Fills the plan in; gives the reason why there is none, and whether that is the size of it all.
std::string refuse_or_plan(const DevicePipeline& device, KernelPlan& plan, bool& too_large) {
  if (!device.reason.empty()) return device.reason;
  const Pipeline& pipeline = device.pipeline;
  const auto refuse_size = [&](const std::string& reason) {
    too_large = true;
    return reason;
  };
  if (pipeline.columns.size() > kMostColumns) {
    return refuse_size("more than " + std::to_string(kMostColumns) + " columns");
  }
  LiteralCount literals;
  std::set<uint32_t> tested;  // columns of strings
  if (pipeline.has_filter) {
    if (std::string reason = expression_reason(pipeline.filter, literals, &tested); !reason.empty()) return reason;
  }
  for (const Expr& key : pipeline.keys) {
    if (std::string reason = expression_reason(key, literals, nullptr); !reason.empty()) return reason;
  }
  for (const Expr& row : pipeline.rows) {
    if (std::string reason = expression_reason(row, literals, nullptr); !reason.empty()) return reason;
  }
  literals.others += 2 * pipeline.order.size();
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.filter) {
      if (std::string reason = expression_reason(*aggregate.filter, literals, &tested); !reason.empty()) return reason;
    }
    if (aggregate.op == AggregateOp::kCountStar) continue;
    if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) continue;
    if (std::string reason = expression_reason(aggregate.arg, literals, nullptr); !reason.empty()) return reason;
  }
  // Merged range tests take two where an expression has one.
  if (2 * literals.all() > kMaxLiterals) {
    return refuse_size("more than " + std::to_string(kMaxLiterals / 2) + " literals");
  }
  for (uint32_t i = 0; i < pipeline.columns.size(); ++i) {
    if (device.arrays[i]) continue;
    const PipelineColumn& column = pipeline.columns[i];
    const bool only_nulls = physical_of(column.type) == Physical::kBytes && !tested.contains(i);
    std::set<std::string> shapes;
    for (const auto& file : pipeline.files) {
      const auto found = file_shapes(file, column.field_id, column.as_codes);
      if (found->lacks_values) return "column " + column.name + " has no values of its own";
      if (found->chunk_words > kMostDescriptorWords)
        return "column " + column.name + " has a chunk with a long text in its parameters";
      const auto refusal = [&](const std::string& reason) {
        return "column " + column.name + ": " + (reason.empty() ? "an encoding without a device reader" : reason);
      };
      for (const DeviceReader& reader : found->values) {
        if (reader.empty() && !only_nulls) return refusal(reader.reason);
        shapes.insert(reader.type.text());
      }
      for (const DeviceReader& reader : found->validity) {
        if (reader.empty()) return refusal(reader.reason);
      }
    }
    if (shapes.size() > kMostEncodings && !only_nulls)
      return "column " + column.name + " has too many different encodings";
  }
  const std::vector<ColumnShapes> shapes = shapes_of(device);
  if (pipeline.sink == Sink::kGroups) {
    exec::StatisticsList stats;
    for (const ColumnShapes& column : shapes) stats.push_back(&column.stats);
    if (std::string reason = why_no_groups(pipeline, stats, device.rows); !reason.empty()) return reason;
  }
  try {
    plan = plan_kernel(pipeline, shapes, device.rows);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return refuse_size(error.what());
  }
  for (const TextPlan& text : plan.texts) {
    if (text.automaton == nullptr) return "a test of strings: " + text.reason;
  }
  if (plan.scratch_bytes > kMostScratch) {
    return refuse_size("columns whose encodings together need more shared memory than a block of the GPU has");
  }
  return {};
}

}  // namespace

DevicePipeline plan_stage(DevicePipeline device) {
  auto plan = std::make_shared<KernelPlan>();
  device.reason = refuse_or_plan(device, *plan, device.too_large);
  if (device.reason.empty()) device.plan = std::move(plan);
  return device;
}

KernelPlan plan_kernel(const Pipeline& pipeline, const std::vector<ColumnShapes>& columns, uint64_t rows,
                       const std::vector<int32_t>& magnitudes, uint64_t array_bytes) {
  if (columns.size() != pipeline.columns.size()) throw Error(ErrorCode::kInternal, "a column without its shapes");
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.op != AggregateOp::kCountStar) exec::check_expression(aggregate.arg, pipeline.columns);
  }
  for (const Expr& row : pipeline.rows) exec::check_expression(row, pipeline.columns);
  if (pipeline.has_filter) exec::check_expression(pipeline.filter, pipeline.columns);
  return Generator(pipeline, rows, magnitudes, array_bytes).generate(columns);
}

}  // namespace basalt::device
