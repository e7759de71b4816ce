// The generator: plans which columns a statement needs and in which order, then writes the kernel as a list of steps,
// load, test, load, test, aggregate. See generate.h for what the source may depend on.
#include "exec/device/generate/generate.h"

#include <algorithm>
#include <optional>
#include <set>

#include "basalt/core/error.h"
#include "core/packed_tile.h"
#include "exec/device/generate/emit.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

namespace {

constexpr size_t kFewColumns = 5;  // up to here a statement has time to compile for more widths

// Conjuncts of the form `column <op> literal` on integers, merged per column: compared in the packed domain.
struct RangeTest {
  uint32_t column = 0;
  bool has_low = false;
  bool has_high = false;
  bool not_equal = false;
  int128_t low = 0;
  int128_t high = 0;
};

struct Needs {
  std::set<uint32_t> values;
  std::set<uint32_t> validity;  // columns with NULLs

  bool within(const Needs& other) const {
    return std::includes(other.values.begin(), other.values.end(), values.begin(), values.end());
  }
};

struct AggregateStep {
  Needs needs;
  std::vector<size_t> aggregates;
};

class Generator {
 public:
  explicit Generator(const Pipeline& pipeline) : pipeline_(pipeline) {}
  KernelPlan generate(const std::vector<ColumnShapes>& columns);

 private:
  void plan_columns(const std::vector<ColumnShapes>& columns);
  void name_columns();
  void plan_filter(const Expr& expr);
  std::optional<RangeTest> as_range_test(const Expr& expr) const;
  void plan_aggregates();
  void collect(const Expr& expr, Needs& needs) const;

  void write_range_test(const RangeTest& test);
  void write_filter_step(const Expr& expr);
  void write_aggregate_step(const AggregateStep& step);
  std::string open_columns(const Needs& needs, const std::string& indent);
  std::string slice_head(const Needs& needs, uint32_t slice, const std::string& indent);
  std::string pick_head(const Needs& needs, const std::string& indent);
  bool takes_unrolled(const Needs& needs, size_t lines);
  uint32_t slice_size(const Needs& needs) const;
  std::vector<ColumnNames> row_names() const;
  std::string whole_source() const;
  uint32_t resident_warps() const;
  std::string scratch_text(const Needs& needs) const;

  bool nullable(uint32_t column) const { return plan_.columns[column].nullable(); }

  const Pipeline& pipeline_;
  KernelPlan plan_;
  exec::StatisticsList list_;
  std::vector<Lane> lanes_;
  std::vector<std::string> names_;
  LiteralTable literals_;
  std::vector<RangeTest> range_tests_;
  std::vector<Expr> general_tests_;
  std::vector<AggregateStep> steps_;
  std::vector<std::string> scratch_sizes_;
  size_t unrolled_ = 0;       // what takes_unrolled() has granted so far
  uint32_t picks_ = 4;        // live rows that are read at a time
  std::string declarations_;  // lane states
  std::string filter_text_;
  std::string aggregate_text_;
  std::string record_text_;
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

Expr column_expression(const Pipeline& pipeline, uint32_t column) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.column = column;
  expr.type = physical_of(pipeline.columns[column].type);
  return expr;
}

// All chunks have one encoding, whose rows are read from the file's bytes: no staging, no look-up, no nesting.
bool reads_directly(const ColumnShapes& shapes) {
  if (shapes.values.size() > 1) return false;
  const auto is = [&](const char* name) { return shapes.values.empty() || shapes.values[0].starts_with(name); };
  return is("Packed<") || is("Plain<") || is("Constant<");
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
    if (plan.shapes.values.empty()) {  // no chunk at all: named, but never opened
      plan.shapes.values.push_back("Constant<uint8_t>");
      plan.shapes.value_words = 3;
    }
    if (plan.nullable()) {
      plan.validity_at = at;
      at += 1 + shapes.validity_words;
    }
    plan.value_at = at;
    at += 1 + plan.shapes.value_words;
    plan.widths = common_widths(shapes.width_tiles, most_widths);
    plan_.columns.push_back(std::move(plan));
  }
  plan_.slot_words = at;
  for (const ColumnPlan& plan : plan_.columns) list_.push_back(&plan.shapes.stats);
  for (uint32_t i = 0; i < columns.size(); ++i)
    lanes_.push_back(exec::prepare(column_expression(pipeline_, i), list_).lane);
}

// Column names as identifiers; every use has a suffix, so that no keyword can appear.
void Generator::name_columns() {
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    std::string name;
    for (const char c : pipeline_.columns[i].name) name += is_word(c) ? c : '_';
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name[0] == '_') name = "column" + name;
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) name += "_" + std::to_string(i);
    names_.push_back(name);
  }
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
  // A cast that only widens changes nothing about the order.
  while (left->op == ExprOp::kCast && is_integer(left->type) && is_integer(left->args[0].type) &&
         left->power_of_ten == 0 && left->factor == 1 && !exec::prepare(*left, list_).may_throw) {
    left = &left->args[0];
  }
  if (left->op != ExprOp::kColumn || right->op != ExprOp::kLiteral) return std::nullopt;
  if (!is_integer(left->type) || !is_integer(right->type) || right->literal.null) return std::nullopt;

  const exec::IntegerRange range = exec::range_of(left->type);
  const int128_t literal = right->literal.integer;
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

void Generator::collect(const Expr& expr, Needs& needs) const {
  const bool null_test = expr.op == ExprOp::kIsNull || expr.op == ExprOp::kIsNotNull;
  if (null_test && expr.args[0].op == ExprOp::kColumn) {
    if (nullable(expr.args[0].column)) needs.validity.insert(expr.args[0].column);
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

uint32_t lane_registers(Lane lane) { return exec::width_of(lane) / 4; }

// How many of a lane's 32 values are in registers at a time: about 32 to 64 registers for all columns together.
uint32_t Generator::slice_size(const Needs& needs) const {
  uint32_t words = 0;
  for (const uint32_t column : needs.values) words += lane_registers(lanes_[column]);
  if (words <= 1) return 32;
  if (words <= 3) return 16;
  return words <= 8 ? 8 : 4;
}

std::string Generator::scratch_text(const Needs& needs) const {
  std::string text;
  for (const uint32_t column : needs.values)
    text += (text.empty() ? "" : " + ") + names_[column] + "_column::kScratchBytes";
  for (const uint32_t column : needs.validity) {
    // Masks are made before the columns are opened, one after the other.
    text = "larger(" + (text.empty() ? "0" : text) + ", " + names_[column] + "_validity::kScratchBytes)";
  }
  return text.empty() ? "0" : text;
}

std::string Generator::open_columns(const Needs& needs, const std::string& indent) {
  scratch_sizes_.push_back(scratch_text(needs));
  std::string text;
  for (const uint32_t column : needs.validity) {
    text += indent + "const uint32_t " + names_[column] + "_valid = " + names_[column] +
            "_validity::mask(slot, work.tile(), scratch, bad);\n";
  }
  std::string offset;
  for (const uint32_t column : needs.values) {
    const std::string& name = names_[column];
    text += indent + name + "_column " + name + "_tile(slot, work.tile(), scratch" + offset + ");\n";
    offset += " + " + name + "_column::kScratchBytes";
  }
  return text;
}

std::string Generator::slice_head(const Needs& needs, uint32_t slice, const std::string& indent) {
  const std::string count = std::to_string(slice);
  std::string text = indent + "for_each_slice<" + count + ">([&](auto slice) {\n";
  text += indent + "  constexpr uint32_t kFirst = decltype(slice)::value;\n";
  for (const uint32_t column : needs.values) {
    text += indent + "  " + lane_type(lanes_[column]) + " " + names_[column] + "_value[" + count + "];\n";
    text += indent + "  " + names_[column] + "_tile.read<kFirst>(" + names_[column] + "_value);\n";
  }
  text += "#pragma unroll\n";
  text += indent + "  for (uint32_t j = 0; j < " + count + "; ++j) {\n";
  text += indent + "    const bool live = alive >> (kFirst + j) & 1;\n";
  for (const uint32_t column : needs.validity) {
    text += indent + "    const bool " + names_[column] + "_ok = " + names_[column] + "_valid >> (kFirst + j) & 1;\n";
  }
  return text;
}

std::string Generator::pick_head(const Needs& needs, const std::string& indent) {
  std::string text = indent + "for (uint32_t left = alive; any_lane(left != 0);) {\n";
  const std::string count = std::to_string(picks_);
  text += indent + "  const Picked<" + count + "> picked(left);\n";
  for (const uint32_t column : needs.values) {
    text += indent + "  " + lane_type(lanes_[column]) + " " + names_[column] + "_value[" + count + "];\n";
    text += indent + "  " + names_[column] + "_tile.pick(picked, " + names_[column] + "_value);\n";
  }
  text += "#pragma unroll\n";
  text += indent + "  for (uint32_t j = 0; j < " + count + "; ++j) {\n";
  text += indent + "    const bool live = picked.live[j] != 0;\n";
  for (const uint32_t column : needs.validity) {
    text += indent + "    const bool " + names_[column] + "_ok = " + names_[column] + "_valid >> picked.k[j] & 1;\n";
  }
  return text;
}

// Whether a step's 32 rows per lane become straight code, with every width's shifts as constants, instead of a loop
// that picks a few live rows at a time. Straight code reads packed columns fastest, but a statement has room for little
// of it: machine code takes about 0.25 ms per instruction to compile. Readers that stage their rows, look them up or
// come in several shapes gain little from it.
bool Generator::takes_unrolled(const Needs& needs, size_t lines) {
  constexpr size_t kMost = 32;  // rows of code per value and lane, all steps together
  if (pipeline_.has_filter && needs.values.size() > 1) return false;
  size_t cost = lines;
  for (const uint32_t column : needs.values) {
    const ColumnPlan& plan = plan_.columns[column];
    if (!reads_directly(plan.shapes) || lanes_[column] == Lane::kI128) return false;
    cost += 1 + plan.widths.size();
  }
  if (unrolled_ + cost > kMost) return false;
  unrolled_ += cost;
  return true;
}

std::vector<ColumnNames> Generator::row_names() const {
  std::vector<ColumnNames> names;
  for (size_t i = 0; i < names_.size(); ++i) {
    names.push_back({names_[i] + "_value[j]", nullable(static_cast<uint32_t>(i)) ? names_[i] + "_ok" : "", lanes_[i]});
  }
  return names;
}

std::string bad_text(const std::set<uint32_t>& columns, const std::vector<std::string>& names,
                     const std::string& indent) {
  std::string text;
  for (const uint32_t column : columns) text += indent + "if (" + names[column] + "_tile.bad()) bad = 1;\n";
  return text;
}

void Generator::write_range_test(const RangeTest& test) {
  const std::string& name = names_[test.column];
  const std::string type = logical_type(physical_of(pipeline_.columns[test.column].type));
  const Physical physical = physical_of(pipeline_.columns[test.column].type);
  const bool low = test.has_low || test.not_equal;
  const bool high = test.has_high || test.not_equal;
  const std::string kind = test.not_equal ? "kNotEqual" : low && high ? "kBetween" : low ? "kAtLeast" : "kAtMost";
  const std::string words = test.not_equal ? "is not "
                            : low && high  ? "lies between "
                            : low          ? "is at least "
                                           : "is at most ";
  const std::string first = literals_.add(Value::of_integer(physical, test.low), type);
  const std::string last = literals_.add(Value::of_integer(physical, test.high), type);
  Needs needs;
  needs.values.insert(test.column);
  if (nullable(test.column)) needs.validity.insert(test.column);
  std::string& out = filter_text_;
  out += "      {  // " + name + " " + words +
         (low && high && !test.not_equal ? first + " and " + last
          : low                          ? first
                                         : last);
  out += "\n";
  if (nullable(test.column)) out += "        alive &= " + name + "_validity::mask(slot, work.tile(), scratch, bad);\n";
  out += "        alive &= " + name + "_column::test<Test::" + kind + ">(slot, work.tile(), scratch, bad, " + first +
         ", " + last + ");\n";
  scratch_sizes_.push_back(scratch_text(needs));
  out += "        sync_warp();\n      }\n      if (!any_lane(alive != 0)) continue;\n";
}

void Generator::write_filter_step(const Expr& expr) {
  Needs needs;
  collect(expr, needs);
  const std::vector<ColumnNames> names = row_names();
  RowEmitter rows(names, literals_, "            ");
  const exec::Step step = exec::prepare(expr, list_);
  const Emitted result = rows.predicate(step);
  std::string& out = filter_text_;
  out += "      {  // a condition row by row\n" + open_columns(needs, "        ");
  out += "        uint32_t pass = 0;\n" + pick_head(needs, "        ") + rows.text();
  out += "            if (live && " + result.value + ") pass |= 1u << picked.k[j];\n          }\n        }\n";
  out += "        alive = pass;\n" + bad_text(needs.values, names_, "        ");
  out += "        sync_warp();\n      }\n      if (!any_lane(alive != 0)) continue;\n";
}

const char* aggregate_word(AggregateOp op) {
  switch (op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return "count";
    case AggregateOp::kSum: return "sum";
    case AggregateOp::kMin: return "min";
    case AggregateOp::kMax: return "max";
    case AggregateOp::kAvg: return "average";
  }
  return "";
}

std::string column_list(const Needs& needs, const std::vector<std::string>& names) {
  std::string text;
  std::set<uint32_t> all = needs.values;
  all.insert(needs.validity.begin(), needs.validity.end());
  for (const uint32_t column : all) text += (text.empty() ? " over " : ", ") + names[column];
  return text;
}

void Generator::write_aggregate_step(const AggregateStep& step) {
  const uint32_t slice = slice_size(step.needs);
  const std::vector<ColumnNames> names = row_names();
  RowEmitter rows(names, literals_, "          ");
  std::string before;
  std::string after;
  std::string words;
  for (const size_t index : step.aggregates) {
    const Aggregate& aggregate = pipeline_.aggregates[index];
    const std::string number = std::to_string(index);
    words += (words.empty() ? "" : ", ") + std::string(aggregate_word(aggregate.op));
    const exec::Step prepared = exec::prepare(aggregate.arg, list_);
    Emitted arg;
    if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) {
      arg.valid = names[aggregate.arg.column].valid;
    } else {
      arg = rows.value(prepared);
    }
    const std::string ok = arg.valid.empty() ? "live" : "live && " + arg.valid;
    ResultPlan& result = plan_.results[index];
    const bool counts = !arg.valid.empty();
    if (counts) {
      declarations_ += "  Count count_" + number + " = 0;\n";
      rows.line("if (" + ok + ") ++count_" + number + ";");
    }
    record_text_ += "  record.count(" + number + ", " + (counts ? "count_" + number : "rows") + ");\n";
    if (aggregate.op == AggregateOp::kCount) continue;

    const bool real = is_float(aggregate.arg.type);
    if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
      result.kind = real ? ResultKind::kFloatExtreme : ResultKind::kIntegerExtreme;
      const Lane lane = real ? Lane::kI64 : arg.lane == Lane::kBool ? Lane::kI32 : arg.lane;
      const std::string minimum = aggregate.op == AggregateOp::kMin ? "true" : "false";
      declarations_ += std::string("  Extreme<") + lane_type(lane) + ", " + minimum + "> extreme_" + number + ";\n";
      const std::string value = real                      ? "order_key(static_cast<double>(" + arg.value + "))"
                                : arg.lane == Lane::kBool ? "(" + arg.value + " ? 1 : 0)"
                                                          : arg.value;
      rows.line("extreme_" + number + ".take(" + ok + ", " + value + ");");
      record_text_ += "  record.state(" + number + ", extreme_" + number + ");\n";
      continue;
    }
    if (real) {
      result.kind = ResultKind::kFloatSum;
      result.tile_sum = plan_.tile_sums++;
      before += "      double tile_sum_" + number + " = 0;\n";
      rows.line("if (" + ok + ") tile_sum_" + number + " += static_cast<double>(" + arg.value + ");");
      after +=
          "      store_tile_sum(p, " + std::to_string(result.tile_sum) + ", work.index(), tile_sum_" + number + ");\n";
      continue;
    }
    result.kind = ResultKind::kIntegerSum;
    declarations_ += "  Sum sum_" + number + ";\n";
    record_text_ += "  record.state(" + number + ", sum_" + number + ");\n";
    const std::string value = arg.lane == Lane::kBool ? "(" + arg.value + " ? 1 : 0)" : arg.value;
    constexpr int128_t kSafe = int128_t{1} << 120;  // 32 values below this cannot leave 128 bits
    const bool wide = prepared.range.low < -kSafe || prepared.range.high > kSafe;
    if (wide) {
      rows.line("if (" + ok + ") sum_" + number + ".add(" + value + ");");
      continue;
    }
    // A lane adds its 32 values of a tile in the narrowest integers that cannot overflow, the tile to 128 bits.
    const Lane lane = exec::lane_for(
        {std::min<int128_t>(prepared.range.low, 0) * 32, std::max<int128_t>(prepared.range.high, 0) * 32});
    before += std::string("      ") + lane_type(lane) + " tile_sum_" + number + " = 0;\n";
    rows.line("if (" + ok + ") tile_sum_" + number + " += " + value + ";");
    after += "      sum_" + number + ".add(static_cast<int128_t>(tile_sum_" + number + "));\n";
  }
  std::string& out = aggregate_text_;
  out += "    {  // " + words + column_list(step.needs, names_) + "\n" + open_columns(step.needs, "      ");
  out += before;
  // Little survives most filters, and then picking the survivors costs less than reading all rows. The same text serves
  // both.
  const bool unrolled = takes_unrolled(step.needs, static_cast<size_t>(std::ranges::count(rows.text(), '\n')));
  const bool picked = pipeline_.has_filter || !unrolled;
  if (picked) {
    if (unrolled) out += "      if (is_sparse(alive)) {\n";
    out += pick_head(step.needs, "      ") + rows.text() + "        }\n      }\n";
  }
  if (unrolled) {
    if (picked) out += "      } else {\n";
    out += slice_head(step.needs, slice, "      ") + rows.text() + "        }\n      });\n";
    if (picked) out += "      }\n";
  }
  out += after;
  out += bad_text(step.needs.values, names_, "      ") + "      sync_warp();\n    }\n";
}

std::string expression_reason(const Expr& expr, size_t& literals) {
  if (expr.type == Physical::kBytes || expr.type == Physical::kNone) return "strings in an expression";
  if (expr.op == ExprOp::kLiteral) ++literals;
  for (const Expr& arg : expr.args) {
    if (std::string reason = expression_reason(arg, literals); !reason.empty()) return reason;
  }
  return {};
}

// How many warps a multiprocessor shall hold at a time, which decides the registers each may use: 40 where only masks
// are made (such a filter by itself reads at 97 % of the ceiling of an H200, with 32 registers at 87 %), more where
// columns are read.
uint32_t Generator::resident_warps() const {
  bool reads = !general_tests_.empty();
  for (const AggregateStep& step : steps_) reads = reads || !step.needs.values.empty();
  if (!reads) return 48;
  return names_.size() <= 5 ? 32 : names_.size() <= 10 ? 24 : 16;
}

std::string Generator::whole_source() const {
  std::vector<std::string> readers;
  for (const ColumnPlan& plan : plan_.columns) {
    readers.insert(readers.end(), plan.shapes.values.begin(), plan.shapes.values.end());
    readers.insert(readers.end(), plan.shapes.validity.begin(), plan.shapes.validity.end());
  }
  std::string out =
      "// One warp per tile of 1024 rows; bit k of a lane's mask stands for row 32 * k + lane.\n" +
      codec_includes(readers) +
      "#include \"exec/device/aggregate.cuh\"\n#include \"exec/device/scan.cuh\"\n#include \"exec/scalar.h\"\n\n"
      "namespace basalt::device {\n\n";
  for (size_t i = 0; i < names_.size(); ++i) {
    const ColumnPlan& plan = plan_.columns[i];
    if (plan.nullable()) {
      out += "using " + names_[i] + "_validity = Validity<" + std::to_string(plan.validity_at) + ", " +
             std::to_string(plan.shapes.validity_words);
      for (const std::string& reader : plan.shapes.validity) out += ", " + with_widths(reader, {1});
      out += ">;\n";
    }
    out += "using " + names_[i] + "_column = Column<" + logical_type(physical_of(pipeline_.columns[i].type)) + ", " +
           std::to_string(plan.value_at) + ", " + std::to_string(plan.shapes.value_words);
    for (const std::string& reader : plan.shapes.values) {
      // What runs and deltas do with each value of their children is long: one width of each must do, or none.
      const bool staged = reader.find("Rle<") != std::string::npos || reader.find("Delta<") != std::string::npos;
      const size_t most = names_.size() <= kFewColumns ? 1 : 0;
      out += ", " + with_widths(reader, staged ? common_widths(plan.shapes.width_tiles, most) : plan.widths);
    }
    out += ">;\n";
  }
  out += "\nconstexpr uint32_t kSlotWords = " + std::to_string(plan_.slot_words) + ";\n";
  std::set<std::string> sizes(scratch_sizes_.begin(), scratch_sizes_.end());
  std::string scratch = "0";
  for (const std::string& size : sizes) {
    if (size != "0") scratch = "larger(" + scratch + ", " + size + ")";
  }
  out += "constexpr uint32_t kScratch = " + scratch + ";\nconstexpr uint32_t kWarps = warps_that_fit(kScratch);\n\n";
  out += "extern \"C\" __global__ void __launch_bounds__(kWarps * kLanes, " + std::to_string(resident_warps()) +
         " / kWarps) " + kScanKernel + "(const __grid_constant__ Parameters p) {\n";
  out +=
      "  __shared__ __align__(16) unsigned char scratches[kWarps][kScratch > 0 ? kScratch : 16];\n"
      "  unsigned char* scratch = scratches[threadIdx.x / kLanes];\n";
  for (const std::string& line : literals_.declarations()) out += "  " + line + "\n";
  out += "  Count rows = 0;\n  uint32_t overflow = 0;\n  uint32_t bad = 0;\n" + declarations_;
  out +=
      "\n  for (Work work(p.work, p.work_count); work.more(); work.next()) {\n"
      "    const uint64_t* slot = p.slots + static_cast<uint64_t>(work.slot()) * kSlotWords;\n"
      "    uint32_t alive = lane_rows(row_count(slot), work.tile());\n";
  if (!filter_text_.empty()) out += "    if (!work.all_pass()) {\n" + filter_text_ + "    }\n";
  out += "    rows += population(alive);\n" + aggregate_text_ + "  }\n\n";
  out += "  Record record(p, " + std::to_string(plan_.results.size()) + ");\n  record.head(rows, overflow, bad);\n" +
         record_text_ + "}\n\n}  // namespace basalt::device\n";
  return out;
}

KernelPlan Generator::generate(const std::vector<ColumnShapes>& columns) {
  plan_.results.resize(pipeline_.aggregates.size());
  plan_columns(columns);
  name_columns();
  if (pipeline_.has_filter) plan_filter(pipeline_.filter);
  for (const RangeTest& test : range_tests_) write_range_test(test);
  for (const Expr& expr : general_tests_) write_filter_step(expr);
  plan_aggregates();
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    if (pipeline_.aggregates[i].op != AggregateOp::kCountStar) continue;
    record_text_ += "  record.count(" + std::to_string(i) + ", rows);\n";
  }
  for (const AggregateStep& step : steps_) write_aggregate_step(step);
  plan_.literals = literals_.values();
  plan_.source = whole_source();
  return std::move(plan_);
}

}  // namespace

std::string why_not(const Pipeline& pipeline) {
  if (pipeline.columns.size() > 64) return "more than 64 columns";
  size_t literals = 0;
  if (pipeline.has_filter) {
    if (std::string reason = expression_reason(pipeline.filter, literals); !reason.empty()) return reason;
  }
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.op == AggregateOp::kCountStar) continue;
    if (std::string reason = expression_reason(aggregate.arg, literals); !reason.empty()) return reason;
  }
  // Merged range tests take two where an expression has one.
  if (2 * literals > kMaxLiterals) return "more than " + std::to_string(kMaxLiterals / 2) + " literals";
  for (const PipelineColumn& column : pipeline.columns) {
    std::set<std::string> shapes;
    for (const auto& file : pipeline.files) {
      for (const ColumnChunkInfo& chunk : file->column(column.field_id).chunks) {
        if (chunk.nodes.empty()) return "column " + column.name + " has no values of its own";
        const NodeView root = shape_of(chunk);
        const ChunkReaders readers = readers_of(root);
        if (readers.values.empty() || (readers.validity_node != nullptr && readers.validity.empty())) {
          return "column " + column.name + " has an encoding without a device reader";
        }
        shapes.insert(readers.values);
      }
    }
    if (shapes.size() > 8) return "column " + column.name + " has too many different encodings";
  }
  return {};
}

KernelPlan plan_kernel(const Pipeline& pipeline, const std::vector<ColumnShapes>& columns) {
  if (columns.size() != pipeline.columns.size()) throw Error(ErrorCode::kInternal, "a column without its shapes");
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.op != AggregateOp::kCountStar) exec::check_expression(aggregate.arg, pipeline.columns);
  }
  if (pipeline.has_filter) exec::check_expression(pipeline.filter, pipeline.columns);
  return Generator(pipeline).generate(columns);
}

}  // namespace basalt::device
