// Groups in generated kernels: which rung their states are kept on, and the step that adds a tile's rows to them.
#include <algorithm>
#include <bit>
#include <limits>

#include "exec/column_facts.h"
#include "exec/device/generate/generator.h"
#include "exec/device/generate/group_settings.h"
#include "exec/fixed_sum.h"
#include "exec/string_tests.h"

namespace basalt::device {

using exec::KeyKind;
using exec::KeyPart;
using exec::Lane;

namespace {

// What a warp may take so that two share a block's memory, and a block beside its warps' scratch.
constexpr uint64_t kMostLaneBytes = 20 << 10;
constexpr uint64_t kMostBlockBytes = 32 << 10;
// An array with a place for every combination of codes.
constexpr uint64_t kMostDenseSlots = uint64_t{1} << 27;

std::string literal_number(LiteralTable& literals, int128_t value, const char* type) {
  return literals.add(Value::of_integer(Physical::kI128, value), type);
}

std::string both(const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + " && " + b; }

bool adds(AggregateOp op) { return op == AggregateOp::kSum || op == AggregateOp::kAvg; }

bool is_extreme(AggregateOp op) { return op == AggregateOp::kMin || op == AggregateOp::kMax; }

bool is_variance(AggregateOp op) { return op >= AggregateOp::kVarPop; }

bool is_place(AggregateOp op) {
  return op == AggregateOp::kFirst || op == AggregateOp::kLast || op == AggregateOp::kAnyValue;
}

bool takes_nulls(AggregateOp op) { return op == AggregateOp::kFirst || op == AggregateOp::kLast; }

// Whether each value of a group counts once. Minima and maxima do not care.
bool is_distinct(const Aggregate& aggregate) {
  return aggregate.distinct && aggregate.op != AggregateOp::kCountStar && !is_extreme(aggregate.op);
}

// Counts may need less of a column than its value.
bool counts_rows(const Aggregate& aggregate) {
  if (aggregate.op == AggregateOp::kCountStar) return true;
  return aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn && !is_distinct(aggregate);
}

// Whether two aggregates are given the same value by the same rows.
bool takes_the_same(const Aggregate& a, const Aggregate& b) {
  if (counts_rows(a) || counts_rows(b) || a.filter.has_value() != b.filter.has_value()) return false;
  if (is_distinct(a) != is_distinct(b) || takes_nulls(a.op) != takes_nulls(b.op)) return false;
  return exec::same_expression(a.arg, b.arg) && (!a.filter || exec::same_expression(*a.filter, *b.filter));
}

// The words of a key, each as text.
using WordTexts = std::vector<std::string>;

void add_bits(std::string& word, const std::string& bits) { word += (word.empty() ? "" : " | ") + bits; }

// A table of such keys, and a key of it.
std::string keys_type(const exec::KeyLayout& keys) {
  const std::string words = std::to_string(keys.words());
  return keys.words() == 1 ? "NarrowKeys" : "WideKeys<" + words + ", " + words + " + 1>";
}
std::string words_text(const WordTexts& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + (word.empty() ? "0" : word);
  return "Words<" + std::to_string(words.size()) + ">{{" + text + "}}";
}

}  // namespace

const char* to_string(GroupRung rung) {
  switch (rung) {
    case GroupRung::kLanes: return "lanes";
    case GroupRung::kRuns: return "runs";
    case GroupRung::kBlock: return "blocks";
    case GroupRung::kDense: return "array";
    case GroupRung::kHash: return "hash";
    case GroupRung::kWide: return "wide";
  }
  return "";
}

std::string why_no_groups(const Pipeline& pipeline, const exec::StatisticsList& stats, uint64_t rows) {
  size_t distinct = 0;
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.distinct && is_place(aggregate.op)) return "DISTINCT in first(), last() or any_value()";
    distinct += is_distinct(aggregate) ? 1 : 0;
    if (counts_rows(aggregate)) continue;
    if (aggregate.arg.type == Physical::kBytes) return "an aggregate of strings";
    if (!adds(aggregate.op) || is_float(aggregate.arg.type)) continue;
    if (!exec::sum_fits(exec::prepare(aggregate.arg, stats).range, rows, 126)) return "a sum that may leave 128 bits";
  }
  if (distinct > kMaxDistinct) return "more than " + std::to_string(kMaxDistinct) + " DISTINCT aggregates";
  return {};
}

std::vector<size_t> unmeasured_sums(const Pipeline& pipeline, const exec::StatisticsList& stats) {
  std::vector<size_t> out;
  for (size_t i = 0; pipeline.sink == Sink::kGroups && i < pipeline.aggregates.size(); ++i) {
    const Aggregate& aggregate = pipeline.aggregates[i];
    if (!adds(aggregate.op) && !is_variance(aggregate.op)) continue;
    if (is_float(aggregate.arg.type) && !exec::float_exponent(aggregate.arg, stats)) out.push_back(i);
  }
  return out;
}

Expr finite_size(const Expr& value) {
  const auto call = [](ExprOp op, Physical type, std::vector<Expr> args) {
    Expr expr;
    expr.op = op;
    expr.type = type;
    expr.args = std::move(args);
    return expr;
  };
  Expr largest = call(ExprOp::kLiteral, value.type, {});
  largest.literal =
      Value::of_real(value.type, value.type == Physical::kF32 ? static_cast<double>(std::numeric_limits<float>::max())
                                                              : std::numeric_limits<double>::max());
  Expr none = call(ExprOp::kLiteral, value.type, {});
  none.literal = Value::of_null(value.type);
  const Expr size = call(ExprOp::kAbs, value.type, {value});
  return call(ExprOp::kCase, value.type,
              {call(ExprOp::kLessEqual, Physical::kU8, {size, std::move(largest)}), size, std::move(none)});
}

int32_t Generator::exponent_of(const Aggregate& aggregate) const {
  if (const auto known = exec::float_exponent(aggregate.arg, list_)) return *known;
  const auto index = static_cast<size_t>(&aggregate - pipeline_.aggregates.data());
  return magnitudes_.empty() ? exec::kLeastExponent : magnitudes_[index];
}

uint32_t Generator::add_words(const std::vector<const char*>& kinds) {
  std::vector<std::string>& words = plan_.groups->kinds;
  const auto first = static_cast<uint32_t>(words.size());
  words.insert(words.end(), kinds.begin(), kinds.end());
  return first;
}

void Generator::plan_groups() {
  GroupsPlan& groups = plan_.groups.emplace();
  AggregateStep& step = steps_.emplace_back();
  for (const Expr& key : pipeline_.keys) {
    groups.keys.add(key, list_);
    collect(key, step.needs);
  }
  add_words({"kAddShort"});  // rows
  for (const Aggregate& aggregate : pipeline_.aggregates) {
    if (aggregate.filter) collect(*aggregate.filter, step.needs);
    if (aggregate.op == AggregateOp::kCountStar) continue;
    Needs needs;
    collect(aggregate.arg, needs);
    if (counts_rows(aggregate)) needs.values.clear();
    step.needs.values.insert(needs.values.begin(), needs.values.end());
    step.needs.validity.insert(needs.validity.begin(), needs.validity.end());
  }
}

// `slots`: how many combinations of codes there are, if they can have an array.
bool Generator::takes(GroupRung rung, std::optional<uint64_t> slots) const {
  const GroupsPlan& groups = *plan_.groups;
  const uint64_t bytes = uint64_t{groups.words()} * sizeof(uint64_t);
  // Of shared memory, beside what the readers of a warp take.
  const uint64_t taken = std::max(plan_.scratch_bytes, scratch_of(steps_.front().needs));
  const uint64_t left = kMostScratch - std::min<uint64_t>(taken, kMostScratch);
  switch (rung) {
    case GroupRung::kLanes:
      // Records are compared as a whole, which states of lanes are not folded by.
      return slots && *slots * bytes * kLanes <= std::min(left, kMostLaneBytes) &&
             std::ranges::find(groups.kinds, "kGuard") == groups.kinds.end();
    // A code that marks free slots has no place in the table of runs that tiles share.
    case GroupRung::kRuns: return runs() && groups.keys.words() == 1 && groups.keys.bits() < 64 && distinct_.empty();
    case GroupRung::kBlock: return slots && *slots * bytes <= std::min(left, kMostBlockBytes);
    case GroupRung::kDense: return slots.has_value();
    case GroupRung::kHash: return groups.keys.words() == 1;
    case GroupRung::kWide: return groups.keys.words() > 0;
  }
  return false;
}

std::optional<uint64_t> Generator::runs() const {
  if (pipeline_.keys.size() != 1 || pipeline_.keys[0].op != ExprOp::kColumn) return std::nullopt;
  return plan_.columns[pipeline_.keys[0].column].shapes.runs;
}

void Generator::choose_rung() {
  GroupsPlan& groups = *plan_.groups;
  const uint64_t bytes = uint64_t{groups.words()} * sizeof(uint64_t);
  const uint64_t rows = row_count_;
  const auto slots = groups.keys.combinations(std::min(kMostDenseSlots, array_bytes_ / bytes));
  // An array that is mostly empty costs more to clear and to read than a hash table.
  const bool sparse = !slots || *slots > std::max<uint64_t>(8 * rows, 1 << 16);
  groups.rung = *std::ranges::find_if(
      kGroupRungs, [&](GroupRung rung) { return takes(rung, slots) && (rung != GroupRung::kDense || !sparse); });
  for (const GroupRung forced : group_settings().rungs) {
    if (!takes(forced, slots)) continue;
    groups.rung = forced;
    break;
  }
  if (!groups.hashed()) groups.slots = *slots;
  if (groups.rung == GroupRung::kRuns) groups.runs = *runs();
}

// From 0, or from 1 where 0 is NULL.
Generator::KeyCode Generator::key_code(const KeyPart& part, const Emitted& key) {
  KeyCode out;
  out.valid = key.valid;
  const std::string value = integer_text(key);
  const auto first = static_cast<uint64_t>(part.base - (part.null_code ? 1 : 0));
  if (part.kind == KeyKind::kFloat) {
    const std::string bits = key.lane == Lane::kF64 ? "static_cast<uint64_t>(__double_as_longlong(" + key.value + "))"
                                                    : "static_cast<uint32_t>(__float_as_uint(" + key.value + "))";
    out.code = "static_cast<uint64_t>(float_key_of_bits(" + bits + "))";
  } else if (part.two_words) {
    out.code = "static_cast<uint64_t>(" + value + ")";
    out.upper = "static_cast<uint64_t>(static_cast<int128_t>(" + value + ") >> 64)";
  } else {
    out.code =
        "static_cast<uint64_t>(" + value + ") - " + literal_number(literals_, static_cast<int128_t>(first), "uint64_t");
  }
  for (std::string* text : {&out.code, &out.upper}) {
    if (!key.valid.empty() && !text->empty()) *text = "(" + key.valid + " ? " + *text + " : 0)";
  }
  return out;
}

// A code where its layout wants it.
void Generator::put_code(const KeyPart& part, const KeyCode& key, std::vector<std::string>& words) {
  if (part.two_words) words[part.word + 1] = key.upper;
  if (part.bits >= 64) {
    words[part.word] = key.code;
  } else if (part.bits > 0) {
    add_bits(words[part.word],
             "((" + key.code + " & " + std::to_string(part.mask()) + "ull) << " + std::to_string(part.shift) + ")");
  }
  if (part.null_flag && !key.valid.empty()) {
    add_bits(words[part.null_word], "(" + key.valid + " ? 0ull : 1ull << " + std::to_string(part.null_shift) + ")");
  }
}

// The number of the row's slot, or the key that is looked for in a hash table.
std::string Generator::key_text(RowEmitter& rows) {
  const GroupsPlan& groups = *plan_.groups;
  WordTexts words(groups.keys.words());
  std::string slot;
  for (size_t i = 0; i < groups.keys.parts().size(); ++i) {
    const KeyPart& part = groups.keys.parts()[i];
    const KeyCode key = key_code(part, rows.value(exec::prepare(pipeline_.keys[i], list_)));
    if (groups.hashed()) {
      put_code(part, key, words);
    } else {
      slot = slot.empty()
                 ? "(" + key.code + ")"
                 : "(" + slot + " * " + literal_number(literals_, part.codes, "uint64_t") + " + (" + key.code + "))";
    }
  }
  if (groups.rung == GroupRung::kWide) return words_text(words);
  const std::string& key = groups.hashed() ? words[0] : slot;
  return key.empty() ? "0" : key;
}

Generator::GroupArgument Generator::group_argument(const Aggregate& aggregate, RowEmitter& rows) {
  GroupArgument arg;
  if (aggregate.filter) arg.condition = rows.predicate(exec::prepare(*aggregate.filter, list_)).value;
  if (aggregate.op == AggregateOp::kCountStar) return arg;
  if (counts_rows(aggregate)) {
    arg.value.valid = valid_name(aggregate.arg.column);
  } else {
    const exec::Step prepared = exec::prepare(aggregate.arg, list_);
    arg.value = rows.value(prepared);
    arg.range = prepared.range;
  }
  if (!takes_nulls(aggregate.op)) arg.condition = both(arg.condition, arg.value.valid);
  return arg;
}

// Those that take the same share what is computed for them.
std::vector<Generator::GroupArgument> Generator::group_arguments(RowEmitter& rows) {
  std::vector<GroupArgument> args;
  for (const Aggregate& aggregate : pipeline_.aggregates) {
    const auto same = std::find_if(args.begin(), args.end(), [&](const GroupArgument& arg) {
      return takes_the_same(pipeline_.aggregates[static_cast<size_t>(&arg - args.data())], aggregate);
    });
    GroupArgument arg = same == args.end() ? group_argument(aggregate, rows) : *same;
    if (same == args.end() && is_distinct(aggregate)) take_distinct(aggregate, arg);
    args.push_back(std::move(arg));
  }
  return args;
}

void Generator::take_distinct(const Aggregate& aggregate, GroupArgument& arg) {
  const std::string name = "distinct_" + std::to_string(distinct_.size());
  distinct_.push_back({&aggregate.arg, arg.value, arg.condition});
  arg.condition = name;
}

// One line for each DISTINCT argument: whether the row brings its group a new value.
void Generator::write_distinct(RowEmitter& rows) {
  GroupsPlan& groups = *plan_.groups;
  const uint32_t number_bits = groups.hashed() ? 32 : static_cast<uint32_t>(std::bit_width(groups.slots - 1));
  for (size_t i = 0; i < distinct_.size(); ++i) {
    const DistinctArgument& arg = distinct_[i];
    DistinctPlan& plan = groups.distinct.emplace_back();
    plan.keys.add_number(number_bits);
    plan.keys.add(*arg.expr, list_, false);
    const KeyPart& value = plan.keys.parts()[1];
    if (!groups.hashed() && value.codes != 0 && value.codes <= (uint64_t{1} << 40) / groups.slots) {
      plan.most = groups.slots * value.codes;
    }
    Emitted present = arg.value;
    present.valid.clear();  // NULL takes no part
    WordTexts words(plan.keys.words());
    put_code(plan.keys.parts()[0], {"group.number()", "", ""}, words);
    put_code(value, key_code(value, present), words);
    const std::string key = words.size() > 1 ? words_text(words) : words[0].empty() ? "0" : words[0];
    const std::string name = "distinct_" + std::to_string(i);
    declarations_ += "  " + keys_type(plan.keys) + " " + name + "_keys(p.distinct[" + std::to_string(i) + "]);\n";
    rows.line("  const bool " + name + " = " + both(arg.condition, name + "_keys.find(" + key + ").added") + ";");
  }
}

// The word that counts rows which take part: that of the group, or one of its own under a condition.
uint32_t Generator::count_word(size_t index, const std::vector<GroupArgument>& args,
                               std::vector<std::string>& updates) {
  const std::string& condition = args[index].condition;
  if (condition.empty()) return 0;
  for (size_t i = 0; i < index; ++i) {
    if (args[i].condition == condition) return plan_.groups->results[i].count_word;
  }
  const uint32_t word = add_words({"kAddShort"});
  updates.push_back("if (" + condition + ") group.add(" + std::to_string(word) + ", 1);");
  return word;
}

// A new word for a sum, and what adds to it.
std::string Generator::sum_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg) {
  const uint64_t rows = row_count_;
  if (is_float(aggregate.arg.type)) {
    result.wide = true;
    result.word = add_words({"kAddLow", "kAddHigh", "kMark"});
    result.fraction = exec::fraction_bits(exponent_of(aggregate), rows);
    return "add_float(group, " + std::to_string(result.word) + ", static_cast<double>(" + arg.value.value + "), " +
           literal_number(literals_, result.fraction, "int32_t") + ");";
  }
  result.wide = !exec::sum_fits(arg.range, rows, 63);
  const bool is_short = exec::sum_fits(arg.range, kTileRows, 31);
  result.word = result.wide ? add_words({"kAddLow", "kAddHigh"}) : add_words({is_short ? "kAddShort" : "kAdd"});
  return std::string("group.") + (result.wide ? "add_wide(" : "add(") + std::to_string(result.word) + ", static_cast<" +
         (result.wide ? "int128_t" : "int64_t") + ">(" + integer_text(arg.value) + "));";
}

std::string Generator::variance_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg) {
  const uint64_t rows = row_count_;
  const int32_t exponent = exponent_of(aggregate);
  result.word = add_words({"kAddLow", "kAddHigh", "kMark", "kAddLow", "kAddHigh"});
  result.fraction = exec::fraction_bits(exponent, rows);
  result.square_fraction = exec::fraction_bits(2 * exponent, rows);
  return "add_squares(group, " + std::to_string(result.word) + ", static_cast<double>(" + arg.value.value + "), " +
         literal_number(literals_, result.fraction, "int32_t") + ", " +
         literal_number(literals_, result.square_fraction, "int32_t") + ");";
}

std::string Generator::extreme_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg) {
  const bool smallest = aggregate.op == AggregateOp::kMin;
  if (arg.value.lane == Lane::kI128) {
    result.wide = true;
    result.word = add_words({"kGuard", "kPart", "kPart"});
    return "group.record(" + std::to_string(result.word) + ", " + (smallest ? "least_words(" : "most_words(") +
           arg.value.value + "));";
  }
  result.word = add_words({"kMost"});
  const bool real = is_float(aggregate.arg.type);
  const std::string value = real ? "order_key(static_cast<double>(" + arg.value.value + "))" : integer_text(arg.value);
  return "group.most(" + std::to_string(result.word) + ", " + (smallest ? "least_bits(" : "most_bits(") + value + "));";
}

// The value beside the number of its row, of which the first or last is kept.
std::string Generator::place_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg) {
  const std::string valid = arg.value.valid.empty() ? "true" : arg.value.valid;
  const std::string row =
      std::string(aggregate.op == AggregateOp::kLast ? "last_row(" : "first_row(") + "row, " + valid + ")";
  WordTexts words{row};
  result.wide = arg.value.lane == Lane::kI128;
  if (is_float(aggregate.arg.type)) {
    words.push_back("static_cast<uint64_t>(__double_as_longlong(static_cast<double>(" + arg.value.value + ")))");
  } else {
    const std::string value = integer_text(arg.value);
    if (result.wide) words.push_back("static_cast<uint64_t>(" + value + " >> 64)");
    words.push_back("static_cast<uint64_t>(" + value + ")");
  }
  result.word =
      result.wide ? add_words({"kGuard", "kPart", "kPart", "kPart"}) : add_words({"kGuard", "kPart", "kPart"});
  if (plan_.first_row_at == 0) plan_.first_row_at = plan_.slot_words++;
  return "group.record(" + std::to_string(result.word) + ", " + words_text(words) + ");";
}

void Generator::plan_words(size_t index, const std::vector<GroupArgument>& args, std::vector<std::string>& updates) {
  const Aggregate& aggregate = pipeline_.aggregates[index];
  const GroupArgument& arg = args[index];
  std::vector<GroupResult>& results = plan_.groups->results;
  // Whether another aggregate has the same words.
  const auto shares = [&](const Aggregate& other) {
    const bool same_words = (adds(aggregate.op) && adds(other.op)) ||
                            (is_variance(aggregate.op) && is_variance(other.op)) ||
                            ((is_extreme(aggregate.op) || is_place(aggregate.op)) && aggregate.op == other.op);
    return same_words && exec::same_expression(other.arg, aggregate.arg);
  };
  for (size_t i = 0; i < index; ++i) {
    if (args[i].condition != arg.condition || !shares(pipeline_.aggregates[i])) continue;
    const GroupResult same = results[i];
    results.push_back(same);
    return;
  }
  GroupResult result;
  if (!is_place(aggregate.op)) result.count_word = count_word(index, args, updates);
  const std::string before = arg.condition.empty() ? "" : "if (" + arg.condition + ") ";
  if (adds(aggregate.op)) updates.push_back(before + sum_text(result, aggregate, arg));
  if (is_variance(aggregate.op)) updates.push_back(before + variance_text(result, aggregate, arg));
  if (is_extreme(aggregate.op)) updates.push_back(before + extreme_text(result, aggregate, arg));
  if (is_place(aggregate.op)) updates.push_back(before + place_text(result, aggregate, arg));
  results.push_back(result);
}

void Generator::write_updates(RowEmitter& rows, const std::vector<std::string>& updates) const {
  if (plan_.first_row_at != 0) {
    rows.line("  const uint64_t row = load(slot + " + std::to_string(plan_.first_row_at) +
              ") + work.tile() * kTileRows + picked.k[j] * kLanes + lane_id();");
  }
  for (const std::string& update : updates) rows.line("  " + update);
  rows.line("}");
}

std::string Generator::group_rows(RowEmitter& rows, const Needs& needs, const std::vector<std::string>& updates) {
  const std::string key = key_text(rows);
  rows.line("if (live) {");
  rows.line("  const auto group_key = " + key + ";");
  if (plan_.groups->hashed()) rows.line("  if (!groups.takes(group_key)) continue;");
  rows.line("  auto group = groups.at(group_key, bad);");
  rows.line("  group.add(0, 1);");
  write_distinct(rows);
  write_updates(rows, updates);
  return pick_head(needs, "      ") + rows.text() + "        }\n      }\n";
}

std::string Generator::run_rows(RowEmitter& rows, const Needs& needs, const std::vector<std::string>& updates) {
  if (pipeline_.has_filter) rows.line("if (!any_lane(live)) continue;");
  const std::string key = key_text(rows);
  // Where there is no row, a code need not have an entry.
  const bool is_code = plan_.columns[pipeline_.keys[0].column].shapes.as_codes;
  rows.line("const auto group_key = static_cast<Groups::Key>(" +
            (is_code ? "picked.live[j] != 0 ? " + key + " : 0" : key) + ");");
  rows.line("Groups::Row group;");
  rows.line("if (live) {");
  rows.line("  group.add(0, 1);");
  write_updates(rows, updates);
  rows.line("groups.take(group_key, group, picked.live[j] != 0);");
  if (plan_.groups->words() > kFewRunWords) picks_ = 1;
  return "      const uint32_t present = lane_rows(row_count(slot), work.tile());\n"
         "      groups.begin(present);\n"
         "      if (any_lane(alive != 0)) {\n" +
         step_head(needs, picks_, "present", "      ") + rows.text() +
         "        }\n      }\n      }\n      groups.end();\n";
}

void Generator::write_groups() {
  const std::vector<ColumnNames> names = row_names();
  const Needs& needs = steps_.front().needs;
  std::string& out = aggregate_text_;
  out += "    {  // groups" + column_list(needs, names_) + "\n";
  if (!needs.texts.empty()) out += "      uint32_t how = kByBounds;  // of the tests of strings in aggregates\n";
  RowEmitter rows(names, literals_, "          ", write_texts(needs, out));
  const std::vector<GroupArgument> args = group_arguments(rows);
  std::vector<std::string> updates;
  for (size_t i = 0; i < args.size(); ++i) plan_words(i, args, updates);
  choose_rung();
  out += open_columns(needs, "      ");
  out += plan_.groups->rung == GroupRung::kRuns ? run_rows(rows, needs, updates) : group_rows(rows, needs, updates);
  out += bad_text(needs.values, names_, "      ") + "      sync_warp();\n    }\n";
  const std::string scratch = plan_.groups->rung == GroupRung::kLanes ? "scratch + kTileScratch" : "nullptr";
  declarations_ += "  Groups groups(p, " + scratch + ", block_groups);\n";
  record_text_ = "  groups.finish(p, GroupWords(), scratches[0] + kTileScratch, kScratch);\n";
  if (plan_.groups->rung == GroupRung::kLanes) {
    plan_.scratch_bytes +=
        static_cast<uint32_t>(plan_.groups->slots * plan_.groups->words() * kLanes * sizeof(uint64_t));
  }
}

std::string Generator::groups_types() const {
  const GroupsPlan& groups = *plan_.groups;
  const std::string words = std::to_string(groups.words());
  const std::string slots = std::to_string(groups.slots);
  std::string type;
  switch (groups.rung) {
    case GroupRung::kRuns:
      type = std::string("RunGroups<") + (groups.keys.bits() <= 32 ? "uint32_t" : "uint64_t") + ", GroupWords>";
      break;
    case GroupRung::kLanes: type = "LaneGroups<" + slots + ", " + words + ">"; break;
    case GroupRung::kBlock: type = "BlockGroups<" + slots + ", " + words + ">"; break;
    case GroupRung::kDense: type = "DenseGroups<" + words + ">"; break;
    case GroupRung::kHash: type = "HashGroups<" + words + ">"; break;
    case GroupRung::kWide: type = "WideGroups<" + std::to_string(groups.keys.words()) + ", " + words + ">"; break;
  }
  std::string list;
  for (const std::string& kind : groups.kinds) list += (list.empty() ? "" : ", ") + ("StateWord::" + kind);
  return "using GroupWords = StateWords<" + list + ">;\nusing Groups = " + type + ";\n";
}

}  // namespace basalt::device
