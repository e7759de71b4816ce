// Groups in generated kernels: which rung their states are kept on, and the step that adds a tile's rows to them.
#include <algorithm>

#include "exec/column_facts.h"
#include "exec/device/generate/generator.h"
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
constexpr uint64_t kMostDenseBytes = uint64_t{2} << 30;
constexpr uint64_t kMostDenseSlots = uint64_t{1} << 27;

std::string literal_number(LiteralTable& literals, int128_t value, const char* type) {
  return literals.add(Value::of_integer(Physical::kI128, value), type);
}

std::string both(const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + " && " + b; }

bool adds(AggregateOp op) { return op == AggregateOp::kSum || op == AggregateOp::kAvg; }

// Whether two aggregates are given the same value by the same rows. Counts may need less of a column than its value.
bool takes_the_same(const Aggregate& a, const Aggregate& b) {
  const auto needs_value = [](AggregateOp op) { return op != AggregateOp::kCountStar && op != AggregateOp::kCount; };
  if (!needs_value(a.op) || !needs_value(b.op) || a.filter.has_value() != b.filter.has_value()) return false;
  return exec::same_expression(a.arg, b.arg) && (!a.filter || exec::same_expression(*a.filter, *b.filter));
}

}  // namespace

const char* to_string(GroupRung rung) {
  switch (rung) {
    case GroupRung::kLanes: return "lanes";
    case GroupRung::kBlock: return "blocks";
    case GroupRung::kDense: return "array";
    case GroupRung::kHash: return "hash";
  }
  return "";
}

std::string why_no_groups(const Pipeline& pipeline, const exec::StatisticsList& stats, uint64_t rows) {
  exec::KeyLayout keys;
  for (const Expr& key : pipeline.keys) keys.add(key, stats);
  if (keys.words() > 1) return "keys of more than 64 bits";
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.distinct) return "DISTINCT in an aggregate";
    if (aggregate.op > AggregateOp::kAvg) return "an aggregate other than count, sum, avg, min and max";
    if (aggregate.op == AggregateOp::kCountStar || aggregate.op == AggregateOp::kCount) continue;
    if (aggregate.arg.type == Physical::kBytes) return "an aggregate of strings";
    const exec::Step step = exec::prepare(aggregate.arg, stats);
    if (is_float(aggregate.arg.type)) {
      if (adds(aggregate.op) && !exec::float_exponent(aggregate.arg, stats)) {
        return "a sum of floats whose size statistics do not say";
      }
    } else if (adds(aggregate.op)) {
      if (!exec::sum_fits(step.range, rows, 126)) return "a sum that may leave 128 bits";
    } else if (step.lane == Lane::kI128) {
      return "minima and maxima of more than 64 bits";
    }
  }
  return {};
}

uint32_t Generator::add_word(const char* kind) {
  plan_.groups->kinds.emplace_back(kind);
  return static_cast<uint32_t>(plan_.groups->kinds.size() - 1);
}

void Generator::plan_groups() {
  GroupsPlan& groups = plan_.groups.emplace();
  AggregateStep& step = steps_.emplace_back();
  for (const Expr& key : pipeline_.keys) {
    groups.keys.add(key, list_);
    collect(key, step.needs);
  }
  add_word("kAdd");  // rows
  for (const Aggregate& aggregate : pipeline_.aggregates) {
    if (aggregate.filter) collect(*aggregate.filter, step.needs);
    if (aggregate.op == AggregateOp::kCountStar) continue;
    Needs needs;
    collect(aggregate.arg, needs);
    if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) needs.values.clear();
    step.needs.values.insert(needs.values.begin(), needs.values.end());
    step.needs.validity.insert(needs.validity.begin(), needs.validity.end());
  }
}

void Generator::choose_rung() {
  GroupsPlan& groups = *plan_.groups;
  const uint64_t bytes = uint64_t{groups.words()} * sizeof(uint64_t);
  const uint64_t rows = row_count_;
  const auto slots = groups.keys.combinations(std::min(kMostDenseSlots, kMostDenseBytes / bytes));
  // An array that is mostly empty costs more to clear and to read than a hash table.
  if (!slots || *slots > std::max<uint64_t>(8 * rows, 1 << 16)) {
    groups.rung = GroupRung::kHash;
    return;
  }
  groups.slots = *slots;
  groups.rung = *slots * bytes * kLanes <= kMostLaneBytes ? GroupRung::kLanes
                : *slots * bytes <= kMostBlockBytes       ? GroupRung::kBlock
                                                          : GroupRung::kDense;
}

// A key's code: from 0, or from 1 where 0 is NULL.
std::string Generator::code_text(const KeyPart& part, const Emitted& key) {
  std::string code;
  if (part.kind == KeyKind::kFloat) {
    const std::string bits = key.lane == Lane::kF64 ? "static_cast<uint64_t>(__double_as_longlong(" + key.value + "))"
                                                    : "static_cast<uint32_t>(__float_as_uint(" + key.value + "))";
    code = "static_cast<uint64_t>(float_key_of_bits(" + bits + "))";
  } else {
    const auto first = static_cast<uint64_t>(part.base - (part.null_code ? 1 : 0));
    code = "static_cast<uint64_t>(" + integer_text(key) + ") - " +
           literal_number(literals_, static_cast<int128_t>(first), "uint64_t");
  }
  return key.valid.empty() ? code : "(" + key.valid + " ? " + code + " : 0)";
}

// The number of the row's slot, or the key that is looked for in a hash table.
std::string Generator::key_text(RowEmitter& rows) {
  const GroupsPlan& groups = *plan_.groups;
  const bool dense = groups.rung != GroupRung::kHash;
  std::string text;
  for (size_t i = 0; i < groups.keys.parts().size(); ++i) {
    const KeyPart& part = groups.keys.parts()[i];
    const Emitted key = rows.value(exec::prepare(pipeline_.keys[i], list_));
    const std::string code = code_text(part, key);
    if (dense) {
      text = text.empty()
                 ? "(" + code + ")"
                 : "(" + text + " * " + literal_number(literals_, part.codes, "uint64_t") + " + (" + code + "))";
      continue;
    }
    const std::string mask = part.bits >= 64 ? "" : " & " + std::to_string(part.mask()) + "ull";
    text += (text.empty() ? "" : " | ") + std::string("((") + code + mask + ") << " + std::to_string(part.shift) + ")";
    if (part.null_flag && !key.valid.empty()) {
      text += " | (" + key.valid + " ? 0ull : 1ull << " + std::to_string(part.null_shift) + ")";
    }
  }
  return text.empty() ? "0" : text;
}

Generator::GroupArgument Generator::group_argument(const Aggregate& aggregate, RowEmitter& rows) {
  GroupArgument arg;
  if (aggregate.filter) arg.condition = rows.predicate(exec::prepare(*aggregate.filter, list_)).value;
  if (aggregate.op == AggregateOp::kCountStar) return arg;
  if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) {
    arg.value.valid = valid_name(aggregate.arg.column);
  } else {
    const exec::Step prepared = exec::prepare(aggregate.arg, list_);
    arg.value = rows.value(prepared);
    arg.range = prepared.range;
  }
  arg.condition = both(arg.condition, arg.value.valid);
  return arg;
}

// The word that counts rows which take part: that of the group, or one of its own under a condition.
uint32_t Generator::count_word(size_t index, const std::vector<GroupArgument>& args,
                               std::vector<std::string>& updates) {
  const std::string& condition = args[index].condition;
  if (condition.empty()) return 0;
  for (size_t i = 0; i < index; ++i) {
    if (args[i].condition == condition) return plan_.groups->results[i].count_word;
  }
  const uint32_t word = add_word("kAdd");
  updates.push_back("if (" + condition + ") group.add(" + std::to_string(word) + ", 1);");
  return word;
}

// A new word for a sum, and what adds to it.
std::string Generator::sum_text(GroupResult& result, const Aggregate& aggregate, const GroupArgument& arg) {
  const uint64_t rows = row_count_;
  const bool real = is_float(aggregate.arg.type);
  result.wide = real || !exec::sum_fits(arg.range, rows, 63);
  result.word = add_word(result.wide ? "kAddLow" : "kAdd");
  if (result.wide) add_word("kAddHigh");
  const std::string word = std::to_string(result.word);
  if (real) {
    add_word("kMark");
    result.fraction = exec::fraction_bits(*exec::float_exponent(aggregate.arg, list_), rows);
    return "add_float(group, " + word + ", static_cast<double>(" + arg.value.value + "), " +
           literal_number(literals_, result.fraction, "int32_t") + ");";
  }
  return std::string("group.") + (result.wide ? "add_wide(" : "add(") + word + ", static_cast<" +
         (result.wide ? "int128_t" : "int64_t") + ">(" + integer_text(arg.value) + "));";
}

void Generator::plan_words(size_t index, const std::vector<GroupArgument>& args, std::vector<std::string>& updates) {
  const Aggregate& aggregate = pipeline_.aggregates[index];
  const GroupArgument& arg = args[index];
  std::vector<GroupResult>& results = plan_.groups->results;
  GroupResult result;
  result.count_word = count_word(index, args, updates);
  const std::string before = arg.condition.empty() ? "" : "if (" + arg.condition + ") ";
  if (adds(aggregate.op)) {
    for (size_t i = 0; i < index; ++i) {
      const Aggregate& other = pipeline_.aggregates[i];
      if (!adds(other.op) || args[i].condition != arg.condition) continue;
      if (!exec::same_expression(other.arg, aggregate.arg)) continue;
      results.push_back(results[i]);
      return;
    }
    updates.push_back(before + sum_text(result, aggregate, arg));
  } else if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
    result.word = add_word("kMost");
    const bool real = is_float(aggregate.arg.type);
    const std::string value =
        real ? "order_key(static_cast<double>(" + arg.value.value + "))" : integer_text(arg.value);
    updates.push_back(before + "group.most(" + std::to_string(result.word) + ", " +
                      (aggregate.op == AggregateOp::kMin ? "least_bits(" : "most_bits(") + value + "));");
  }
  results.push_back(result);
}

void Generator::write_groups() {
  const std::vector<ColumnNames> names = row_names();
  const Needs& needs = steps_.front().needs;
  std::string& out = aggregate_text_;
  out += "    {  // groups" + column_list(needs, names_) + "\n";
  if (!needs.texts.empty()) out += "      uint32_t how = kByBounds;  // of the tests of strings in aggregates\n";
  RowEmitter rows(names, literals_, "          ", write_texts(needs, out));
  std::vector<GroupArgument> args;
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    const auto same = std::find_if(args.begin(), args.end(), [&](const GroupArgument& arg) {
      return takes_the_same(pipeline_.aggregates[static_cast<size_t>(&arg - args.data())], pipeline_.aggregates[i]);
    });
    GroupArgument arg = same == args.end() ? group_argument(pipeline_.aggregates[i], rows) : *same;
    args.push_back(std::move(arg));
  }
  std::vector<std::string> updates;
  for (size_t i = 0; i < args.size(); ++i) plan_words(i, args, updates);
  choose_rung();
  const std::string key = key_text(rows);
  rows.line("if (live) {");
  rows.line("  auto group = groups.at(" + key + ", bad);");
  rows.line("  group.add(0, 1);");
  for (const std::string& update : updates) rows.line("  " + update);
  rows.line("}");
  out += open_columns(needs, "      ") + pick_head(needs, "      ") + rows.text() + "        }\n      }\n";
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
  const std::string type = groups.rung == GroupRung::kLanes   ? "LaneGroups<" + slots + ", " + words + ">"
                           : groups.rung == GroupRung::kBlock ? "BlockGroups<" + slots + ", " + words + ">"
                           : groups.rung == GroupRung::kDense ? "DenseGroups<" + words + ">"
                                                              : "HashGroups<" + words + ">";
  std::string list;
  for (const std::string& kind : groups.kinds) list += (list.empty() ? "" : ", ") + ("StateWord::" + kind);
  return "using Groups = " + type + ";\nusing GroupWords = StateWords<" + list + ">;\n";
}

}  // namespace basalt::device
