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

// What a warp may take so that four share a block's memory, and a block beside its warps' scratch.
constexpr uint64_t kMostLaneBytes = 11 << 10;
constexpr uint64_t kMostBlockBytes = 32 << 10;
// An array with a place for every combination of codes.
constexpr uint64_t kMostDenseBytes = uint64_t{2} << 30;
constexpr uint64_t kMostDenseSlots = uint64_t{1} << 27;

std::string literal_number(LiteralTable& literals, int128_t value, const char* type) {
  return literals.add(Value::of_integer(Physical::kI128, value), type);
}

std::string both(const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + " && " + b; }

bool adds(AggregateOp op) { return op == AggregateOp::kSum || op == AggregateOp::kAvg; }

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
  const uint64_t rows = exec::row_count(pipeline_);
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

void Generator::plan_words(const Aggregate& aggregate, const GroupArgument& arg) {
  GroupResult result;
  if (!arg.condition.empty()) result.count_word = add_word("kAdd");
  const uint64_t rows = exec::row_count(pipeline_);
  if (adds(aggregate.op)) {
    const bool real = is_float(aggregate.arg.type);
    result.wide = real || !exec::sum_fits(arg.range, rows, 63);
    result.word = add_word(result.wide ? "kAddLow" : "kAdd");
    if (result.wide) add_word("kAddHigh");
    if (real) {
      add_word("kMark");
      result.fraction = exec::fraction_bits(*exec::float_exponent(aggregate.arg, list_), rows);
    }
  } else if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
    result.word = add_word("kMost");
  }
  plan_.groups->results.push_back(result);
}

// Adds a row to a group's state.
std::string Generator::update_text(const Aggregate& aggregate, const GroupResult& result, const GroupArgument& arg) {
  const std::string word = std::to_string(result.word);
  std::string text;
  if (!arg.condition.empty()) text += "group.add(" + std::to_string(result.count_word) + ", 1); ";
  const bool real = is_float(aggregate.arg.type);
  const std::string value = real ? "static_cast<double>(" + arg.value.value + ")" : integer_text(arg.value);
  if (adds(aggregate.op) && real) {
    text +=
        "add_float(group, " + word + ", " + value + ", " + literal_number(literals_, result.fraction, "int32_t") + ");";
  } else if (adds(aggregate.op)) {
    text += std::string("group.") + (result.wide ? "add_wide(" : "add(") + word + ", static_cast<" +
            (result.wide ? "int128_t" : "int64_t") + ">(" + value + "));";
  } else if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
    text += "group.most(" + word + ", " + (aggregate.op == AggregateOp::kMin ? "least_bits(" : "most_bits(") +
            (real ? "order_key(" + value + ")" : value) + "));";
  }
  if (text.empty() || arg.condition.empty()) return text;
  return "if (" + arg.condition + ") { " + text + " }";
}

void Generator::write_groups() {
  const std::vector<ColumnNames> names = row_names();
  const Needs& needs = steps_.front().needs;
  std::string& out = aggregate_text_;
  out += "    {  // groups" + column_list(needs, names_) + "\n";
  RowEmitter rows(names, literals_, "          ", write_texts(needs, out));
  std::vector<GroupArgument> args;
  for (const Aggregate& aggregate : pipeline_.aggregates) args.push_back(group_argument(aggregate, rows));
  for (size_t i = 0; i < args.size(); ++i) plan_words(pipeline_.aggregates[i], args[i]);
  choose_rung();
  const std::string key = key_text(rows);
  rows.line("if (live) {");
  rows.line("  auto group = groups.at(" + key + ", bad);");
  rows.line("  group.add(0, 1);");
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string text = update_text(pipeline_.aggregates[i], plan_.groups->results[i], args[i]);
    if (!text.empty()) rows.line("  " + text);
  }
  rows.line("}");
  out += open_columns(needs, "      ") + pick_head(needs, "      ") + rows.text() + "        }\n      }\n";
  out += bad_text(needs.values, names_, "      ") + "      sync_warp();\n    }\n";
  const std::string scratch = plan_.groups->rung == GroupRung::kLanes ? "scratch + kTileScratch" : "nullptr";
  declarations_ += "  Groups groups(p, " + scratch + ", block_groups);\n";
  record_text_ = "  groups.finish(p, GroupWords());\n";
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
