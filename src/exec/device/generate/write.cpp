// Writing a planned statement as CUDA C++, step by step; see generator.h.
#include <algorithm>

#include "exec/device/generate/generator.h"
#include "exec/string_tests.h"

namespace basalt::device {

using exec::Lane;

namespace {

uint32_t lane_registers(Lane lane) { return exec::width_of(lane) / 4; }

uint32_t largest_scratch(const std::vector<DeviceReader>& readers) {
  uint32_t bytes = 0;
  for (const DeviceReader& reader : readers) bytes = std::max(bytes, (reader.scratch_bytes + 15) / 16 * 16);
  return bytes;
}

// Whether a row counts.
std::string live_text(const Emitted& arg) { return arg.valid.empty() ? "live" : "live && " + arg.valid; }

}  // namespace

std::string bad_text(const std::set<uint32_t>& columns, const std::vector<std::string>& names,
                     const std::string& indent) {
  std::string text;
  for (const uint32_t column : columns) text += indent + "if (" + names[column] + "_tile.bad()) bad = 1;\n";
  return text;
}

std::string integer_text(const Emitted& arg) {
  return arg.lane == Lane::kBool ? "(" + arg.value + " ? 1 : 0)" : arg.value;
}

std::string column_list(const Needs& needs, const std::vector<std::string>& names) {
  std::string text;
  std::set<uint32_t> all = needs.values;
  all.insert(needs.validity.begin(), needs.validity.end());
  for (const uint32_t column : all) text += (text.empty() ? " over " : ", ") + names[column];
  return text;
}

Lane tile_sum_lane(const exec::IntegerRange& range) {
  return exec::lane_for({std::min<int128_t>(range.low, 0) * 32, std::max<int128_t>(range.high, 0) * 32});
}

// How many of a lane's 32 values are in registers at a time: about 32 to 64 registers for all columns together.
uint32_t Generator::slice_size(const Needs& needs) const {
  uint32_t words = 0;
  for (const uint32_t column : needs.values) words += lane_registers(lanes_[column]);
  if (words <= 1) return 32;
  if (words <= 3) return 16;
  return words <= 8 ? 8 : 4;
}

uint32_t Generator::scratch_of(uint32_t column) const { return largest_scratch(plan_.columns[column].shapes.values); }

uint32_t Generator::scratch_of(const Needs& needs) const {
  uint32_t bytes = 0;
  for (const uint32_t column : needs.values) bytes += is_kept(column) ? 0 : scratch_of(column);
  for (const uint32_t column : needs.validity) {
    bytes = std::max(bytes, largest_scratch(plan_.columns[column].shapes.validity));
  }
  for (const Expr* text : needs.texts) bytes = std::max(bytes, scratch_of(exec::tested_column(*text)));
  for (const uint32_t column : kept_) bytes += scratch_of(column);
  return bytes;
}

void Generator::note_scratch(const Needs& needs) {
  scratch_sizes_.push_back(scratch_text(needs));
  plan_.scratch_bytes = std::max(plan_.scratch_bytes, scratch_of(needs));
}

std::string Generator::scratch_text(const Needs& needs) const {
  std::string text;
  for (const uint32_t column : needs.values) {
    if (!is_kept(column)) text += (text.empty() ? "" : " + ") + names_[column] + "_column::kScratchBytes";
  }
  for (const uint32_t column : needs.validity) {
    // Masks are made before the columns are opened, one after the other.
    text = "larger(" + (text.empty() ? "0" : text) + ", " + names_[column] + "_validity::kScratchBytes)";
  }
  for (const Expr* test : needs.texts) {  // and so are strings tested
    text =
        "larger(" + (text.empty() ? "0" : text) + ", " + names_[exec::tested_column(*test)] + "_texts::kScratchBytes)";
  }
  return text.empty() ? "0" : text;
}

// Asks for what the column's tile begins with.
std::string Generator::ask_text(uint32_t column, const std::string& indent) const {
  const std::string& name = names_[column];
  return indent + "const " + name + "_column::Prefetch " + name + "_prefetch(slot, work.tile());\n";
}

std::string Generator::open_columns(const Needs& needs, const std::string& indent) {
  note_scratch(needs);
  std::string text;
  for (const uint32_t column : needs.validity) {
    text += indent + "const uint32_t " + names_[column] + "_valid = " + names_[column] +
            "_validity::mask(slot, work.tile(), scratch, bad);\n";
  }
  std::string offset;
  for (const uint32_t column : needs.values) {
    const std::string& name = names_[column];
    if (!asks_early()) text += ask_text(column, indent);
    if (is_kept(column)) {
      text += indent + name + "_column& " + name + "_tile = " + name + "_kept.open(slot, work.tile(), scratch + " +
              name + "_at, " + name + "_prefetch);\n";
    } else {
      text += indent + name + "_column " + name + "_tile(slot, work.tile(), scratch" + offset + ", " + name +
              "_prefetch);\n";
      offset += " + " + name + "_column::kScratchBytes";
    }
    if (plan_.columns[column].shapes.as_codes) {
      text += indent + "const auto* " + name + "_codes = reinterpret_cast<const uint32_t*>(load(slot + " +
              std::to_string(plan_.columns[column].codes_at) + "));\n";
    }
  }
  return text;
}

// Reads `count` rows of each column by `read` (text behind the column's tile) and begins the loop over them; row j is
// alive if `live` says so and has validity bit `k`.
std::string Generator::rows_head(const Needs& needs, uint32_t count, const RowsText& rows, const std::string& indent) {
  std::string text;
  for (const uint32_t column : needs.values) {
    const std::string value = names_[column] + "_value";
    text += indent + "  " + lane_type(lanes_[column]) + " " + value + "[" + std::to_string(count) + "];\n";
    text += indent + "  " + names_[column] + "_tile." + rows.read + value + ");\n";
  }
  text += "#pragma unroll\n";
  text += indent + "  for (uint32_t j = 0; j < " + std::to_string(count) + "; ++j) {\n";
  text += indent + "    const bool live = " + rows.live + ";\n";
  if (plan_.rows) text += indent + "    const uint32_t k = " + rows.k + ";\n";
  for (const uint32_t column : needs.validity) {
    text += indent + "    const bool " + names_[column] + "_ok = " + names_[column] + "_valid >> " + rows.k + " & 1;\n";
  }
  return text;
}

std::string Generator::slice_head(const Needs& needs, uint32_t slice, const std::string& indent) {
  return indent + "for_each_slice<" + std::to_string(slice) + ">([&](auto slice) {\n" + indent +
         "  constexpr uint32_t kFirst = decltype(slice)::value;\n" +
         rows_head(needs, slice, {"read<kFirst>(", "alive >> (kFirst + j) & 1", "(kFirst + j)"}, indent);
}

std::string Generator::pick_head(const Needs& needs, const std::string& indent) {
  return indent + "for (uint32_t left = alive; any_lane(left != 0);) {\n" + indent + "  const Picked<" +
         std::to_string(picks_) + "> picked(left);\n" +
         rows_head(needs, picks_, {"pick(picked, ", "picked.live[j] != 0", "picked.k[j]"}, indent);
}

// All rows, dead ones too, so that lanes have neighbouring ones; but for steps in which all are dead.
std::string Generator::step_head(const Needs& needs, uint32_t count, const std::string& present,
                                 const std::string& indent) {
  const std::string rows = std::to_string(count);
  const std::string mask = std::to_string((1u << count) - 1);
  return indent + "for (uint32_t step = 0; step < kRowsPerLane / " + rows + "; ++step) {\n" +
         (pipeline_.has_filter
              ? indent + "  if (!any_lane((alive >> " + rows + " * step & " + mask + ") != 0)) continue;\n"
              : "") +
         indent + "  const Picked<" + rows + "> picked(" + rows + " * step, " + present + ");\n" +
         rows_head(needs, count, {"step(picked, ", "(alive >> picked.k[j] & 1) != 0", "picked.k[j]"}, indent);
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

std::string Generator::valid_name(uint32_t column) const { return nullable(column) ? names_[column] + "_ok" : ""; }

std::vector<ColumnNames> Generator::row_names() const {
  std::vector<ColumnNames> names;
  for (uint32_t i = 0; i < names_.size(); ++i) {
    const std::string value = names_[i] + "_value[j]";
    const bool codes = plan_.columns[i].shapes.as_codes;
    names.push_back(
        {codes ? "common_code(" + names_[i] + "_codes, " + value + ", bad)" : value, valid_name(i), lanes_[i]});
  }
  return names;
}

void Generator::write_extreme(size_t index, const Emitted& arg, RowEmitter& rows) {
  const Aggregate& aggregate = pipeline_.aggregates[index];
  const std::string number = std::to_string(index);
  const bool real = is_float(aggregate.arg.type);
  plan_.results[index].kind = real ? ResultKind::kFloatExtreme : ResultKind::kIntegerExtreme;
  const Lane lane = real ? Lane::kI64 : arg.lane == Lane::kBool ? Lane::kI32 : arg.lane;
  const std::string minimum = aggregate.op == AggregateOp::kMin ? "true" : "false";
  declarations_ += std::string("  Extreme<") + lane_type(lane) + ", " + minimum + "> extreme_" + number + ";\n";
  const std::string value = real ? "order_key(static_cast<double>(" + arg.value + "))" : integer_text(arg);
  rows.line("extreme_" + number + ".take(" + live_text(arg) + ", " + value + ");");
  record_text_ += "  record.state(" + number + ", extreme_" + number + ");\n";
}

void Generator::write_float_sum(size_t index, const Emitted& arg, StepText& text) {
  const std::string number = std::to_string(index);
  ResultPlan& result = plan_.results[index];
  result.kind = ResultKind::kFloatSum;
  result.tile_sum = plan_.tile_sums++;
  text.before += "      double tile_sum_" + number + " = 0;\n";
  text.rows.line("if (" + live_text(arg) + ") tile_sum_" + number + " += static_cast<double>(" + arg.value + ");");
  text.after += "      store_tile_sum(p, " + std::to_string(result.tile_sum) +
                ", work.index(), sum_of_lanes(tile_sum_" + number + "));\n";
}

void Generator::write_integer_sum(size_t index, const Emitted& arg, const exec::IntegerRange& range, StepText& text) {
  const std::string number = std::to_string(index);
  plan_.results[index].kind = ResultKind::kIntegerSum;
  declarations_ += "  Sum sum_" + number + ";\n";
  record_text_ += "  record.state(" + number + ", sum_" + number + ");\n";
  const std::string value = integer_text(arg);
  constexpr int128_t kSafe = int128_t{1} << 120;  // 32 values below this cannot leave 128 bits
  const bool wide = range.low < -kSafe || range.high > kSafe;
  if (wide) {
    text.rows.line("if (" + live_text(arg) + ") sum_" + number + ".add(" + value + ");");
    return;
  }
  // A lane adds its 32 values of a tile in the narrowest integers that cannot overflow, the tile to 128 bits.
  const Lane lane = tile_sum_lane(range);
  text.before += std::string("      ") + lane_type(lane) + " tile_sum_" + number + " = 0;\n";
  text.rows.line("if (" + live_text(arg) + ") tile_sum_" + number + " += " + value + ";");
  text.after += "      sum_" + number + ".add(static_cast<int128_t>(tile_sum_" + number + "));\n";
}

void Generator::write_aggregate(size_t index, StepText& text) {
  const Aggregate& aggregate = pipeline_.aggregates[index];
  const std::string number = std::to_string(index);
  const exec::Step prepared = exec::prepare(aggregate.arg, list_);
  Emitted arg;
  if (aggregate.op == AggregateOp::kCount && aggregate.arg.op == ExprOp::kColumn) {
    arg.valid = valid_name(aggregate.arg.column);
  } else {
    arg = text.rows.value(prepared);
  }
  const bool counts = !arg.valid.empty();
  if (counts) {
    declarations_ += "  Count count_" + number + " = 0;\n";
    text.rows.line("if (" + live_text(arg) + ") ++count_" + number + ";");
  }
  record_text_ += "  record.count(" + number + ", " + (counts ? "count_" + number : "rows") + ");\n";
  if (aggregate.op == AggregateOp::kCount) return;
  if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) {
    write_extreme(index, arg, text.rows);
  } else if (is_float(aggregate.arg.type)) {
    write_float_sum(index, arg, text);
  } else {
    write_integer_sum(index, arg, prepared.range, text);
  }
}

// Little survives most filters, and then picking the survivors costs less than reading all rows. The same text serves
// both. `few`: no more than few rows get here.
std::string Generator::row_loops(const Needs& needs, const std::string& row_text, bool few) {
  const bool unrolled = !few && takes_unrolled(needs, static_cast<size_t>(std::ranges::count(row_text, '\n')));
  const bool picked = pipeline_.has_filter || !unrolled;
  std::string out;
  if (picked) {
    if (unrolled) out += "      if (is_sparse(alive)) {\n";
    out += pick_head(needs, "      ") + row_text + "        }\n      }\n";
  }
  if (unrolled) {
    if (picked) out += "      } else {\n";
    out += slice_head(needs, slice_size(needs), "      ") + row_text + "        }\n      });\n";
    if (picked) out += "      }\n";
  }
  return out;
}

void Generator::write_aggregate_step(const AggregateStep& step) {
  const std::vector<ColumnNames> names = row_names();
  StepText text{RowEmitter(names, literals_, "          "), "", ""};
  std::string words;
  for (const size_t index : step.aggregates) {
    words += (words.empty() ? "" : ", ") + std::string(to_string(pipeline_.aggregates[index].op));
    write_aggregate(index, text);
  }
  std::string& out = aggregate_text_;
  out += "    {  // " + words + column_list(step.needs, names_) + "\n" + open_columns(step.needs, "      ");
  out += text.before + row_loops(step.needs, text.rows.text()) + text.after;
  out += bad_text(step.needs.values, names_, "      ") + "      sync_warp();\n    }\n";
}

// Filter and sums in one step. Without a filter every value is at most the largest.
void Generator::write_filter_sum(uint32_t column) {
  const std::string& name = names_[column];
  RangeTest every;
  every.column = column;
  every.has_high = true;
  const Physical type = physical_of(pipeline_.columns[column].type);
  const bool real = is_float(type);
  const exec::IntegerRange range = exec::range_of(real ? Physical::kI64 : type);
  every.low = range.low;
  every.high = range.high;
  const RangeText text = range_text(range_tests_.empty() ? every : range_tests_[0]);
  scratch_sizes_.push_back(name + "_filter_sum::kScratchBytes");
  declarations_ +=
      "  " + name + "_filter_sum filter_sum(scratch" + (real ? ", " + text.first + ", " + text.last : "") + ");\n";
  std::string& out = aggregate_text_;
  out += "    // rows and sum where " + text.words + "\n    const auto tile = filter_sum.of" +
         (real ? "(work, p.slots, tally, " : "<Test::" + text.kind + ">(work, p.slots, ") + text.first + ", " +
         text.last + ");\n    rows += tile.count;\n    bad |= tile.bad;\n";
  if (!real && !range_tests_.empty()) out += "    if (!work.all_pass()) tally.count(tile.how);\n";
  for (size_t i = 0; i < pipeline_.aggregates.size(); ++i) {
    const AggregateOp op = pipeline_.aggregates[i].op;
    const std::string number = std::to_string(i);
    record_text_ += "  record.count(" + number + ", rows);\n";
    if (op != AggregateOp::kSum && op != AggregateOp::kAvg) continue;
    ResultPlan& result = plan_.results[i];
    if (real) {
      result.kind = ResultKind::kFloatSum;
      result.tile_sum = plan_.tile_sums++;
      out += "    store_tile_sum(p, " + std::to_string(result.tile_sum) + ", work.index(), tile.sum);\n";
      continue;
    }
    result.kind = ResultKind::kIntegerSum;
    declarations_ += "  Sum sum_" + number + ";\n";
    record_text_ += "  record.state(" + number + ", sum_" + number + ");\n";
    out += "    sum_" + number + ".add(static_cast<int128_t>(static_cast<int64_t>(tile.sum)));\n";
  }
}

// How many warps a multiprocessor shall hold at a time, which decides the registers each may use: 40 where only masks
// are made (such a filter by itself reads at 97 % of the ceiling of an H200, with 32 registers at 87 %), more where
// columns are read or shared memory lets no more warps in.
uint32_t Generator::resident_warps() const {
  // Of 32, whose 64 registers do not hold half a tile of residuals, learned columns read 40 instead of 59 % at 16 bits.
  if (filter_sum_of_) return 24;
  // Three states in registers: 19 words of each spill 1.5 KB with 64 registers.
  if (plan_.groups && plan_.groups->rung == GroupRung::kRuns && plan_.groups->words() > kFewRunWords) return 16;
  bool reads = !general_tests_.empty() || !text_tests_.empty();
  for (const AggregateStep& step : steps_) reads = reads || !step.needs.values.empty();
  // Tiles in groups are read with more words in flight by fewer warps: doubles of 16 bits at 89 % with 32, 79 with 40.
  if (!reads && plan_.scratch_bytes == 0) return tile_group_filter_ ? 32 : 48;
  // Columns are tested one after the other. Floats of 4 bytes are at 84 instead of 78 % of the ceiling with 16 bits, at
  // 97 instead of 92 with 24; those of 8 bytes lose from 24 bits on.
  const bool narrow = std::ranges::all_of(
      pipeline_.columns, [](const auto& column) { return physical_of(column.type) == Physical::kF32; });
  if (!reads && plan_.scratch_bytes <= 1024) return narrow ? 40 : 32;
  const uint32_t wanted = names_.size() <= 5 ? 32 : names_.size() <= 10 ? 24 : 16;
  // Registers for warps that shared memory lets in, and not for more.
  constexpr uint32_t kSharedBytes = 216 << 10;
  return std::min(wanted, std::max(8u, kSharedBytes / std::max(plan_.scratch_bytes, 1u)));
}

// A column of strings that is tested; of others only NULLs are asked for.
std::string Generator::texts_type(uint32_t column) const {
  if (!is_tested(column)) return {};
  const ColumnPlan& plan = plan_.columns[column];
  std::string out = "using " + names_[column] + "_texts = Texts<" + std::to_string(plan.value_at) + ", " +
                    std::to_string(plan.shapes.value_words);
  for (const DeviceReader& filter : plan.shapes.values) {
    out += ", " + (filter.direct ? with_widths(filter.type, plan.widths) : filter.type).text();
  }
  return out + ">;\n";
}

bool Generator::is_tested(uint32_t column) const {
  return std::ranges::any_of(plan_.texts, [&](const TextPlan& text) { return text.column == column; });
}

std::string Generator::column_types() const {
  std::string out;
  for (uint32_t i = 0; i < names_.size(); ++i) {
    const ColumnPlan& plan = plan_.columns[i];
    if (plan.nullable()) {
      out += "using " + names_[i] + "_validity = Validity<" + std::to_string(plan.validity_at) + ", " +
             std::to_string(plan.shapes.validity_words);
      for (const DeviceReader& reader : plan.shapes.validity) out += ", " + with_widths(reader.type, {1}).text();
      out += ">;\n";
    }
    if (has_texts(i)) {
      out += texts_type(i);
      continue;
    }
    const std::string type = logical_type(physical_of(pipeline_.columns[i].type));
    if (filter_sum_of_ == i) {
      out += "using " + names_[i] + "_filter_sum = " +
             (is_float(physical_of(pipeline_.columns[i].type)) ? "FloatFilterSum<" : "FilterSum<" + type + ", ") +
             std::to_string(plan.value_at) + ", " + std::to_string(plan_.slot_words) + ", " +
             with_widths(plan.shapes.values[0].filter_sum, plan.widths).text() + ">;\n";
      continue;
    }
    if (is_filtered_by_groups(i)) continue;
    out += "using " + names_[i] + "_column = Column<" + type + ", " + std::to_string(plan.value_at) + ", " +
           std::to_string(plan.shapes.value_words);
    for (const DeviceReader& reader : plan.shapes.values) {
      // What is long for every value has time for one width, or none.
      const size_t most = names_.size() <= kFewColumns ? 1 : 0;
      const std::vector<uint32_t> widths =
          reader.long_code ? common_widths(plan.shapes.width_tiles, most) : plan.widths;
      out += ", " + with_widths(reader.type, widths).text();
    }
    out += ">;\n";
  }
  return out;
}

// What is done with one tile.
std::string Generator::tile_steps() const {
  if (filter_sum_of_) return aggregate_text_;
  const bool filters_once = counts_rows_first();
  std::string out = filters_once ? "    if (writer.skips(work.index())) continue;\n" : "";
  if (tile_group_filter_) {
    out += "    uint32_t alive = filter.next(work, p.slots, " + tile_group_filter_->text.first + ", " +
           tile_group_filter_->text.last + ");\n";
  }
  if (!tile_group_filter_ || names_.size() > 1 || nullable(tile_group_filter_->column)) {
    out += "    const uint64_t* slot = p.slots + static_cast<uint64_t>(work.slot()) * kSlotWords;\n";
  }
  for (uint32_t i = 0; asks_early() && i < names_.size(); ++i) {
    if (!has_texts(i) && !is_filtered_by_groups(i)) out += ask_text(i, "    ");
  }
  for (const uint32_t column : kept_) out += "    Kept<" + names_[column] + "_column> " + names_[column] + "_kept;\n";
  if (!tile_group_filter_) out += "    uint32_t alive = lane_rows(row_count(slot), work.tile());\n";
  if (!filter_text_.empty()) {
    const std::string unknown = filters_once ? "!writer.knows(work.index(), alive) && " : "";
    out += "    if (" + unknown + "!work.all_pass()) {\n      uint32_t how = kByBounds;\n" + filter_text_ +
           "      tally.count(how);\n    }\n";
  }
  return out + "    rows += population(alive);\n" + aggregate_text_;
}

std::string Generator::function_headers() const {
  std::set<std::string> headers;
  if (pipeline_.has_filter) add_headers(pipeline_.filter, headers);
  for (const Expr& key : pipeline_.keys) add_headers(key, headers);
  for (const Expr& row : pipeline_.rows) add_headers(row, headers);
  for (const Aggregate& aggregate : pipeline_.aggregates) {
    add_headers(aggregate.arg, headers);
    if (aggregate.filter) add_headers(*aggregate.filter, headers);
  }
  std::string out;
  for (const std::string& header : headers) out += "#include \"" + header + "\"\n";
  return out;
}

std::string Generator::whole_source() const {
  std::vector<DeviceType> types;
  const auto add = [&](const std::vector<DeviceReader>& readers) {
    for (const DeviceReader& reader : readers) types.push_back(reader.type);
  };
  for (uint32_t i = 0; i < plan_.columns.size(); ++i) {
    const ColumnShapes& shapes = plan_.columns[i].shapes;
    if (filter_sum_of_ == i) {
      types.push_back(shapes.values[0].filter_sum);
    } else if (!has_texts(i) || is_tested(i)) {
      add(shapes.values);
    }
    add(shapes.validity);
  }
  std::string out = "// One warp per tile of 1024 rows; bit k of a lane's mask stands for row 32 * k + lane.\n" +
                    codec_includes(types) + "#include \"exec/device/aggregate.cuh\"\n" +
                    (filter_sum_of_ ? "#include \"exec/device/filter_sum.cuh\"\n" : "") +
                    "#include \"exec/device/scan.cuh\"\n" +
                    (plan_.groups ? std::string("#include \"exec/device/") +
                                        (plan_.groups->rung == GroupRung::kRuns ? "run_groups" : "groups") + ".cuh\"\n"
                                  : "") +
                    (plan_.rows ? "#include \"exec/device/rows.cuh\"\n" : "") +
                    (plan_.texts.empty() ? "" : "#include \"exec/device/text_tests.cuh\"\n") +
                    (tile_group_filter_ ? "#include \"exec/device/tile_group_filter.cuh\"\n" : "") +
                    function_headers() + "#include \"exec/scalar.h\"\n\nnamespace basalt::device {\n\n";
  out += column_types() + tile_group_filter_type() + (plan_.groups ? groups_types() : "");
  out += "\nconstexpr uint32_t kSlotWords = " + std::to_string(plan_.slot_words) + ";\n";
  std::set<std::string> sizes(scratch_sizes_.begin(), scratch_sizes_.end());
  std::string scratch = "0";
  for (const std::string& size : sizes) {
    if (size != "0") scratch = "larger(" + scratch + ", " + size + ")";
  }
  if (!kept_.empty()) {
    out += "constexpr uint32_t kStepScratch = round_to_16(" + scratch + ");\n";
    std::string at = "kStepScratch";
    for (const uint32_t column : kept_) {
      const std::string& name = names_[column];
      out += "constexpr uint32_t " + name + "_at = " + at + ";\n";
      at = name + "_at + " + name + "_column::kScratchBytes";
    }
    scratch = at;
  }
  if (tile_group_filter_ || plan_.groups) {
    out +=
        "constexpr uint32_t kTileScratch = " + (tile_group_filter_ ? scratch : "round_to_16(" + scratch + ")") + ";\n";
    scratch = "kTileScratch + " + (tile_group_filter_ ? names_[tile_group_filter_->column] + "_filter::kScratchBytes"
                                                      : "Groups::kBytesPerWarp");
  }
  out += "constexpr uint32_t kScratch = " + scratch + ";\nconstexpr uint32_t kWarps = warps_that_fit(kScratch" +
         (plan_.groups ? ", Groups::kBytesPerBlock" : "") + ");\n\n";
  out += "extern \"C\" __global__ void __launch_bounds__(kWarps * kLanes, " + std::to_string(resident_warps()) +
         " / kWarps) " + kScanKernel + "(const __grid_constant__ Parameters p) {\n";
  out +=
      "  __shared__ __align__(16) unsigned char scratches[kWarps][kScratch > 0 ? kScratch : 16];\n"
      "  unsigned char* scratch = scratches[threadIdx.x / kLanes];\n";
  if (plan_.groups) {
    out += "  __shared__ __align__(16) unsigned char block_groups[larger(Groups::kBytesPerBlock, 16)];\n";
  }
  const bool filters = !filter_text_.empty() || (filter_sum_of_ && !range_tests_.empty());
  const bool sums_floats = filter_sum_of_ && is_float(physical_of(pipeline_.columns[*filter_sum_of_].type));
  if (filters || sums_floats || !plan_.texts.empty()) {
    out +=
        "  __shared__ TileTally tallies[kWarps];\n"
        "  TileTally& tally = tallies[threadIdx.x / kLanes];\n  tally.begin();\n";
  }
  for (const std::string& line : literals_.declarations()) out += "  " + line + "\n";
  out += "  Count rows = 0;\n  uint32_t overflow = 0;\n  uint32_t bad = 0;\n" + declarations_;
  const bool runs = plan_.groups && plan_.groups->rung == GroupRung::kRuns;
  out += std::string("\n  for (Work work(p.work, p.work_count") + (runs ? ", uniform_warp()" : "") +
         "); work.more(); work.next()) {\n" + tile_steps() + "  }\n\n";
  out += "  Record record(p, " + std::to_string(plan_.results.size()) + ");\n" +
         (counts_rows_first() ? "  if (writer.knows()) return record.add_flags(overflow, bad);\n" : "") +
         "  record.head(rows, overflow, bad);\n" + (filters ? "  record.tiles(tally);\n" : "") +
         (plan_.texts.empty() ? "" : "  record.texts(tally);\n") + record_text_ +
         "}\n\n}  // namespace basalt::device\n";
  return out;
}

}  // namespace basalt::device
