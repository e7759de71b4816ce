// Writing the filter of a planned statement: ranges of columns, tests of strings, conditions row by row.
#include "exec/device/generate/generator.h"
#include "exec/string_tests.h"

namespace basalt::device {

using exec::Lane;

Generator::RangeText Generator::range_text(const RangeTest& test) {
  const Physical stored = physical_of(pipeline_.columns[test.column].type);
  const Physical physical = is_float(stored) ? Physical::kI64 : stored;
  const std::string type = logical_type(physical);
  const bool low = test.has_low || test.not_equal;
  const bool high = test.has_high || test.not_equal;
  RangeText text;
  text.kind = test.not_equal ? "kNotEqual" : low && high ? "kBetween" : low ? "kAtLeast" : "kAtMost";
  text.first = literals_.add(Value::of_integer(physical, test.low), type);
  text.last = literals_.add(Value::of_integer(physical, test.high), type);
  text.words = names_[test.column] + (test.not_equal ? " is not " + text.first
                                      : low && high  ? " lies between " + text.first + " and " + text.last
                                      : low          ? " is at least " + text.first
                                                     : " is at most " + text.last);
  return text;
}

void Generator::write_range_test(const RangeTest& test, bool by_groups) {
  const std::string& name = names_[test.column];
  const RangeText text = range_text(test);
  Needs needs;
  if (nullable(test.column)) needs.validity.insert(test.column);
  std::string& out = filter_text_;
  out += "      {  // " + text.words + "\n";
  if (nullable(test.column)) out += "        alive &= " + name + "_validity::mask(slot, work.tile(), scratch, bad);\n";
  if (by_groups) {
    tile_group_filter_ = GroupFilter{test.column, text};
    out += "        alive &= filter.mask(work, p.slots, bad, how, " + text.first + ", " + text.last + ");\n";
    declarations_ += "  " + name + "_filter filter(scratch + kTileScratch, " + text.first + ", " + text.last + ");\n";
  } else {
    needs.values.insert(test.column);
    if (!asks_early()) out += ask_text(test.column, "        ");
    out += "        alive &= " + name + "_column::test<Test::" + text.kind +
           ">(slot, work.tile(), scratch, bad, how, " + name + "_prefetch, codes_" + std::to_string(tests_) + ", " +
           text.first + ", " + text.last + ");\n";
    declarations_ += "  CodeRange codes_" + std::to_string(tests_++) + ";\n";
  }
  note_scratch(needs);
  out += "        sync_warp();\n      }\n      if (tally.ends(alive, how)) continue;\n";
}

std::string Generator::tile_group_filter_type() const {
  if (!tile_group_filter_) return {};
  const ColumnPlan& plan = plan_.columns[tile_group_filter_->column];
  return "using " + names_[tile_group_filter_->column] + "_filter = TileGroupFilter<" +
         logical_type(physical_of(pipeline_.columns[tile_group_filter_->column].type)) +
         ", Test::" + tile_group_filter_->text.kind + ", " + std::to_string(plan.value_at) + ", " +
         std::to_string(plan_.slot_words) + ", " + with_widths(plan.shapes.values[0].type, plan.widths).text() + ">;\n";
}

// A test's table has a word of its own in every slot.
uint32_t Generator::plan_text(const Expr& predicate) {
  TextPlan text;
  text.column = exec::tested_column(predicate);
  text.table_at = plan_.slot_words++;
  AutomatonOrReason made = make_automaton(*exec::string_test_of(predicate));
  text.automaton = std::move(made.automaton);
  text.reason = std::move(made.reason);
  if (text.automaton != nullptr && text.automaton->states() > Automaton::kMostDeviceStates) {
    text.automaton = nullptr;
    text.reason = "its automaton has more than " + std::to_string(Automaton::kMostDeviceStates) + " states";
  }
  plan_.texts.push_back(std::move(text));
  return static_cast<uint32_t>(plan_.texts.size() - 1);
}

std::string Generator::text_call(uint32_t text) const {
  const TextPlan& plan = plan_.texts[text];
  return names_[plan.column] + "_texts::test<" + std::to_string(plan.table_at) +
         ">(slot, work.tile(), alive, scratch, bad, how)";
}

void Generator::write_text_test(const TextTest& test) {
  const uint32_t text = plan_text(test.predicate);
  const uint32_t column = plan_.texts[text].column;
  Needs needs;
  needs.texts.push_back(&test.predicate);
  if (nullable(column)) needs.validity.insert(column);
  note_scratch(needs);
  std::string& out = filter_text_;
  out += "      {  // " + names_[column] + (test.negate ? " fails" : " passes") + " test " + std::to_string(text) +
         " of strings\n";
  if (nullable(column)) {
    out += "        alive &= " + names_[column] + "_validity::mask(slot, work.tile(), scratch, bad);\n";
  }
  out += "        alive &= " + std::string(test.negate ? "~" : "") + text_call(text) + ";\n";
  out += "        tally.text(work.index());\n      }\n      if (tally.ends(alive, how)) continue;\n";
}

// Puts a condition's tests of strings to the tile; its rows then find the answers in masks.
KnownPredicates Generator::write_texts(const Needs& needs, std::string& out) {
  KnownPredicates known;
  for (const Expr* predicate : needs.texts) {
    const uint32_t text = plan_text(*predicate);
    const uint32_t column = plan_.texts[text].column;
    const std::string mask = "text_" + std::to_string(text);
    out += "        const uint32_t " + mask + " = " + text_call(text) + ";\n        tally.text(work.index());\n";
    const std::string valid = valid_name(column);
    const std::string bit = "(" + mask + " >> picked.k[j] & 1) != 0";
    const std::string value = "(" + (valid.empty() ? "" : valid + " && ") + bit + ")";
    // Beside a NULL in the list only hits are known.
    known[predicate] = {value, has_null_in_list(*predicate) ? value : valid, Lane::kBool};
  }
  return known;
}

// The rows of a tile that a condition keeps, as `pass`. Picking rows costs more than a light condition does: while many
// are alive, all are read, neighbouring lanes neighbouring ones. So are those of staged columns at any time, where
// eight rows of all lanes are left out if none is alive: a loop less to compile.
std::string Generator::condition_loops(const Needs& needs, const std::string& row_text, const std::string& condition) {
  constexpr std::ptrdiff_t kLight = 2;  // lines
  const auto body = [&](const std::string& k) {
    return row_text + "            if (live && " + condition + ") pass |= 1u << " + k + ";\n          }\n        }";
  };
  const std::string picked = pick_head(needs, "        ") + body("picked.k[j]") + "\n";
  const bool is_light = needs.values.size() == 1 && needs.texts.empty() && std::ranges::count(row_text, '\n') <= kLight;
  if (!is_light) return picked;
  constexpr uint32_t kTogether = 8;
  const std::string all = takes_unrolled(needs, kLight)
                              ? slice_head(needs, kTogether, "        ") + body("(kFirst + j)") + ");\n"
                              : step_head(needs, kTogether, "alive", "        ") + body("picked.k[j]") + "\n";
  if (is_staged(*needs.values.begin())) return all;
  return "        if (is_sparse(alive)) {\n" + picked + "        } else {\n" + all + "        }\n";
}

void Generator::write_filter_step(const Expr& expr) {
  Needs needs;
  collect(expr, needs);
  const std::vector<ColumnNames> names = row_names();
  std::string& out = filter_text_;
  out += "      {  // a condition row by row\n";
  RowEmitter rows(names, literals_, "            ", write_texts(needs, out));
  const exec::Step step = exec::prepare(expr, list_);
  const Emitted result = rows.predicate(step);
  out += open_columns(needs, "        ");
  out += "        uint32_t pass = 0;\n" + condition_loops(needs, rows.text(), result.value);
  out += "        alive = pass;\n" + bad_text(needs.values, names_, "        ");
  if (!needs.values.empty()) out += "        how = kByRows;\n";
  out += "        sync_warp();\n      }\n      if (tally.ends(alive, how)) continue;\n";
}

}  // namespace basalt::device
