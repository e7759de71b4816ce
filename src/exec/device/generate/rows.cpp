// Rows in generated kernels: the words of 64 bits they are ordered by, the step that leaves the first of an order, and
// the one that writes rows to memory.
#include <algorithm>
#include <bit>

#include "exec/bounds.h"
#include "exec/device/generate/generator.h"

namespace basalt::device {

using exec::Lane;
using Kind = OrderPart::Kind;

namespace {

uint32_t bit_count(uint128_t value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return static_cast<uint32_t>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(value)));
}

// How far the largest value of a key lies from its smallest.
uint128_t span_of(const exec::IntegerRange& range) {
  return range.high < range.low ? 0 : static_cast<uint128_t>(range.high) - static_cast<uint128_t>(range.low);
}

// Enough for the number of any row; in steps, so that a few rows more make no other kernel.
uint32_t row_number_bits(uint64_t rows) {
  return std::max<uint32_t>(16, (static_cast<uint32_t>(std::bit_width(rows)) + 7) / 8 * 8);
}

std::string order_literal(LiteralTable& literals, uint128_t value, const char* type) {
  return literals.add(Value::of_integer(Physical::kI128, static_cast<int128_t>(value)), type);
}

std::string where_valid(const Emitted& key, const std::string& code) {
  return key.valid.empty() ? code : "(" + key.valid + " ? " + code + " : 0)";
}

}  // namespace

// Words are filled one after the other; a part lies in one word.
void Generator::plan_order() {
  RowsPlan& plan = *plan_.rows;
  const auto add = [&](Kind kind, uint32_t key, uint32_t bits) {
    if (bits == 0) return;
    if (plan.word_bits.empty() || plan.word_bits.back() + bits > 64) plan.word_bits.push_back(0);
    plan.order.push_back({kind, key, bits, plan.words() - 1, plan.word_bits.back()});
    plan.word_bits.back() += bits;
  };
  for (uint32_t i = 0; i < pipeline_.order.size(); ++i) {
    const Expr& key = pipeline_.rows[pipeline_.order[i].column];
    if (exec::bounds_of(key, list_).may_null) add(Kind::kNull, i, 1);
    if (is_float(key.type)) {
      add(Kind::kReal, i, 64);
      continue;
    }
    const uint32_t bits = bit_count(span_of(exec::prepare(key, list_).range));
    if (bits > 64) add(Kind::kHigh, i, bits - 64);
    add(bits > 64 ? Kind::kLow : Kind::kInteger, i, std::min(bits, 64u));
  }
  if (plan.first_only) add(Kind::kRowNumber, 0, row_number_bits(row_count_));
  // So far counted from the top of each word.
  for (OrderPart& part : plan.order) part.shift = plan.word_bits[part.word] - part.shift - part.bits;
}

bool Generator::is_in_word(uint32_t key, uint32_t word) const {
  return std::ranges::any_of(plan_.rows->order, [&](const OrderPart& part) {
    return part.kind != Kind::kRowNumber && part.key == key && part.word == word;
  });
}

void Generator::plan_rows() {
  RowsPlan& plan = plan_.rows.emplace();
  plan_.first_row_at = plan_.slot_words++;
  plan.first_only = !pipeline_.order.empty() && pipeline_.limit != kAllRows;
  plan_order();
  if (plan.first_only) {
    Needs& needs = steps_.emplace_back().needs;
    for (uint32_t i = 0; i < pipeline_.order.size(); ++i) {
      if (is_in_word(i, 0)) collect(pipeline_.rows[pipeline_.order[i].column], needs);
    }
    // Rows that do not leave raise errors, too.
    for (const Expr& row : pipeline_.rows) {
      if (exec::bounds_of(row, list_).may_throw) collect(row, needs);
    }
  }
  Needs& needs = steps_.emplace_back().needs;
  for (const SortKey& key : pipeline_.order) collect(pipeline_.rows[key.column], needs);
  for (size_t i = 0; i < pipeline_.output.size(); ++i) {
    collect(pipeline_.rows[i], needs);
    plan.nullable.push_back(exec::bounds_of(pipeline_.rows[i], list_).may_null);
  }
}

std::string Generator::order_part(const OrderPart& part, RowEmitter& rows) {
  if (part.kind == Kind::kRowNumber) return "(first_row + k * kLanes)";
  const SortKey& how = pipeline_.order[part.key];
  const Expr& expr = pipeline_.rows[how.column];
  const exec::Step step = exec::prepare(expr, list_);
  const Emitted key = rows.value(step);
  if (part.kind == Kind::kNull) {
    const std::string valid = key.valid.empty() ? "true" : key.valid;
    return std::string("(") + valid + (how.nulls_first ? " ? 1ull : 0ull)" : " ? 0ull : 1ull)");
  }
  if (part.kind == Kind::kReal) {
    const std::string code = "order_code_of(static_cast<double>(" + key.value + "))";
    return where_valid(key, how.descending ? "~" + code : code);
  }
  // Counted from the end that comes first.
  const auto first = static_cast<uint128_t>(how.descending ? step.range.high : step.range.low);
  const auto distance = [&](const char* type) {
    const std::string value = std::string("static_cast<") + type + ">(" + integer_text(key) + ")";
    const std::string end = order_literal(literals_, first, type);
    return how.descending ? end + " - " + value : value + " - " + end;
  };
  if (part.kind == Kind::kInteger) {
    const std::string check = exec::bounds_of(expr, list_).may_throw ? ")" : ", bad)";
    const std::string from_end = distance("uint64_t");
    const std::string most = order_literal(literals_, span_of(step.range), "uint64_t");
    return where_valid(key, "order_code(" + from_end + ", " + most + check);
  }
  const std::string half = part.kind == Kind::kHigh ? " >> 64)" : ")";
  const std::string code = "static_cast<uint64_t>((" + distance("uint128_t") + ")" + half;
  const std::string mask =
      part.bits < 64 ? " & " + std::to_string((uint64_t{1} << part.bits) - 1) + "ull" : std::string();
  return where_valid(key, "(" + code + mask + ")");
}

std::string Generator::order_word(uint32_t word, RowEmitter& rows) {
  std::string text;
  for (const OrderPart& part : plan_.rows->order) {
    if (part.word != word) continue;
    const std::string code = order_part(part, rows);
    text += text.empty() ? "" : " | ";
    text += part.shift == 0 ? code : code + " << " + std::to_string(part.shift);
  }
  return text;
}

// Of rows in an order with a limit, those within the threshold stay alive.
void Generator::write_first_rows() {
  const std::vector<ColumnNames> names = row_names();
  const Needs& needs = steps_.front().needs;
  RowEmitter rows(names, literals_, "          ");
  for (const Expr& row : pipeline_.rows) {
    if (exec::bounds_of(row, list_).may_throw) rows.value(exec::prepare(row, list_));
  }
  // Words only of rows that there are: codes of others may be beyond their list.
  const std::string word = order_word(0, rows);
  rows.line("if (live && (" + word + ") <= p.rows.threshold) first |= 1u << k;");
  std::string& out = aggregate_text_;
  out += "    {  // rows within the threshold" + column_list(needs, names_) + "\n" + open_columns(needs, "      ");
  out += "      uint32_t first = 0;\n" + row_loops(needs, rows.text());
  out += "      alive = first;\n" + bad_text(needs.values, names_, "      ") + "      sync_warp();\n    }\n";
}

void Generator::write_rows() {
  const RowsPlan& plan = *plan_.rows;
  declarations_ += "  RowWriter writer(p.rows);\n";
  std::string& out = aggregate_text_;
  out += "    const uint64_t first_row = load(slot + " + std::to_string(plan_.first_row_at) +
         ") + work.tile() * kTileRows + lane_id();\n";
  if (plan.first_only) write_first_rows();
  const std::vector<ColumnNames> names = row_names();
  const Needs& needs = steps_.back().needs;
  RowEmitter rows(names, literals_, "          ");
  std::vector<std::string> puts;
  const auto put = [&](uint32_t output, const std::string& value) {
    puts.push_back("  writer.put(" + std::to_string(output) + ", place, " + value + ");");
  };
  put(RowsPlan::kNumbers, "static_cast<uint64_t>(first_row + k * kLanes)");
  for (uint32_t word = 0; word < plan.words(); ++word) {
    put(RowsPlan::word_output(word), "static_cast<uint64_t>(" + order_word(word, rows) + ")");
  }
  for (uint32_t i = 0; i < pipeline_.output.size(); ++i) {
    const Emitted value = rows.value(exec::prepare(pipeline_.rows[i], list_));
    const std::string type = logical_type(physical_of(pipeline_.output[i].type));
    put(plan.value_output(i), "static_cast<" + type + ">(" + where_valid(value, integer_text(value)) + ")");
    if (plan.nullable[i]) {
      put(plan.value_output(i) + 1,
          "static_cast<uint8_t>(" + (value.valid.empty() ? "1" : value.valid + " ? 1 : 0") + ")");
    }
  }
  rows.line("const uint64_t place = writer.place(k, live);");
  rows.line("if (place != kNoPlace) {");
  for (const std::string& line : puts) rows.line(line);
  rows.line("}");
  out += "    if (!writer.begin(work.index(), alive)) continue;\n";
  out += "    {  // rows" + column_list(needs, names_) + "\n" + open_columns(needs, "      ");
  out += row_loops(needs, rows.text(), plan.first_only) + bad_text(needs.values, names_, "      ");
  out += "      sync_warp();\n    }\n";
}

}  // namespace basalt::device
