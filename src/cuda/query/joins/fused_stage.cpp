#include "cuda/query/joins/fused_stage.h"

#include <algorithm>
#include <bit>
#include <set>

#include "basalt/exec/expressions.h"
#include "cuda/query/common_texts.h"
#include "cuda/query/joins/join_table.h"
#include "cuda/query/joins/look_ups.h"
#include "cuda/query/joins/source_filter.h"
#include "exec/stage_source.h"

namespace basalt::cuda {

namespace {

bool looks_up(const Probe& probe) {
  if (probe.kind != JoinKind::kInner && probe.kind != JoinKind::kSemi) return false;
  if (probe.keys.size() != 1) return false;
  // Of the only partner, a condition is a filter.
  if (probe.residual && (probe.kind != JoinKind::kInner || may_throw(*probe.residual))) return false;
  const JoinKey& key = probe.keys.front();
  return !key.nulls_equal && key.build.op == ExprOp::kColumn && may_be_member(key.build.type) &&
         may_be_member(key.probe.type) && !may_throw(key.probe);
}

// For lists of how many strings a kernel is made. Of short ones that decides whether groups have a state each in shared
// memory.
uint64_t planned_entries(uint64_t entries) {
  constexpr uint64_t kFewEntries = 4096;
  return entries <= kFewEntries ? std::bit_ceil(std::max<uint64_t>(entries, 1)) : planned_rows(entries);
}

std::set<uint32_t> columns_of(const Expr& expr) {
  std::set<uint32_t> out;
  exec::add_columns(expr, out);
  return out;
}

// Which of all columns in sight something behind the filter reads.
std::vector<bool> used_columns(const Pipeline& stage, size_t columns) {
  std::set<uint32_t> used;
  exec::add_columns_of_sink(stage, used);
  for (const PipelineStep& step : stage.steps) {
    if (const auto* filter = std::get_if<FilterStep>(&step)) {
      exec::add_columns(filter->predicate, used);
    } else {
      const Probe& probe = std::get<Probe>(step);
      for (const JoinKey& key : probe.keys) exec::add_columns(key.probe, used);
      if (probe.residual) exec::add_columns(*probe.residual, used);
    }
  }
  std::vector<bool> out(columns, false);
  for (const uint32_t column : used) out.at(column) = true;
  return out;
}

// What a stage fetches by its joins, and what it does with it.
class Fetched {
 public:
  explicit Fetched(const Pipeline& stage) : stage_(stage), columns_(columns_behind_steps(stage)) {}

  // Whether a kernel can look it up, and strings only leave, as they are.
  bool can_be_looked_up() const {
    const std::vector<bool> used = used_columns(stage_, columns_.size());
    for (size_t i = stage_.columns.size(); i < columns_.size(); ++i) {
      const Physical type = physical_of(columns_[i].type);
      if (used[i] && type != Physical::kBytes && !may_be_member(type)) return false;
    }
    return std::ranges::none_of(stage_.steps, [&](const PipelineStep& step) { return reads_texts(step); }) &&
           std::ranges::none_of(stage_.aggregates, [&](const Aggregate& one) { return reads_texts(one); }) &&
           texts_leave(stage_.sink == Sink::kGroups ? stage_.keys : stage_.rows);
  }

 private:
  bool is_text(uint32_t column) const {
    return column >= stage_.columns.size() && physical_of(columns_.at(column).type) == Physical::kBytes;
  }
  bool reads_texts(const Expr& expr) const {
    return std::ranges::any_of(columns_of(expr), [&](uint32_t column) { return is_text(column); });
  }
  bool reads_texts(const PipelineStep& step) const {
    if (const auto* filter = std::get_if<FilterStep>(&step)) return reads_texts(filter->predicate);
    const Probe& probe = std::get<Probe>(step);
    if (probe.residual && reads_texts(*probe.residual)) return true;
    return std::ranges::any_of(probe.keys, [&](const JoinKey& key) { return reads_texts(key.probe); });
  }
  bool reads_texts(const Aggregate& aggregate) const {
    if (aggregate.filter && reads_texts(*aggregate.filter)) return true;
    return aggregate.op != AggregateOp::kCountStar && reads_texts(aggregate.arg);
  }
  // Nothing is ordered by their numbers, which have another order.
  bool texts_leave(const std::vector<Expr>& values) const {
    const auto leaves_as_number = [&](uint32_t place) { return place < values.size() && reads_texts(values[place]); };
    if (stage_.first.by && leaves_as_number(stage_.first.by->column)) return false;
    return std::ranges::all_of(values,
                               [&](const Expr& value) { return value.op == ExprOp::kColumn || !reads_texts(value); }) &&
           std::ranges::none_of(stage_.order, [&](const SortKey& key) { return leaves_as_number(key.column); });
  }

  const Pipeline& stage_;
  std::vector<PipelineColumn> columns_;
};

}  // namespace

bool FusedStage::may_be(const Pipeline& stage) {
  if (stage.files.empty() || stage.steps.empty() || !stage.windows.empty()) return false;
  if (!join_settings().rung.empty()) return false;  // a table was asked for
  const bool only_looks_up = std::ranges::all_of(stage.steps, [](const PipelineStep& step) {
    if (const auto* filter = std::get_if<FilterStep>(&step)) return !may_throw(filter->predicate);
    return looks_up(std::get<Probe>(step));
  });
  return only_looks_up && Fetched(stage).can_be_looked_up();
}

std::optional<FusedStage> FusedStage::of(GraphRun& graph, const Pipeline& stage) {
  if (!may_be(stage)) return std::nullopt;
  FusedStage out(graph, stage);
  if (!out.take_steps()) return std::nullopt;
  out.take_sink();
  return out;
}

FusedStage::FusedStage(GraphRun& graph, const Pipeline& stage)
    : graph_(graph), stage_(stage), pipeline_(stage), used_(used_columns(stage, columns_behind_steps(stage).size())) {
  pipeline_.steps.clear();
  for (uint32_t i = 0; i < stage.columns.size(); ++i) {
    columns_.push_back({column_reference(i, physical_of(stage.columns[i].type))});
  }
}

Expr FusedStage::replaced(Expr expr) const {
  if (expr.op == ExprOp::kColumn) return *columns_.at(expr.column).value;
  for (Expr& arg : expr.args) arg = replaced(std::move(arg));
  return expr;
}

// Bits of the keys of all joins; false where one of these cannot look up. Before anything is made that takes long.
bool FusedStage::find_members() {
  size_t place = stage_.columns.size();
  for (const PipelineStep& step : stage_.steps) {
    const auto* probe = std::get_if<Probe>(&step);
    if (probe == nullptr) continue;
    const std::shared_ptr<const DeviceTable> rows = graph_.on_device(probe->stage);
    const DeviceColumn& keys = rows->columns.at(probe->keys.front().build.column);
    std::optional<Members> set = members_of(keys, rows->rows, graph_.most_bytes() / 4, graph_.stream());
    if (!set) return false;
    sets_.push_back(*std::move(set));
    if (probe->kind == JoinKind::kSemi) continue;
    for (const PipelineColumn& fetched : probe->fetched) {
      if (used_[place++] && rows->columns.at(fetched.field_id).validity.data() != nullptr) return false;
    }
    if (fetch(sets_.back().twice.as<uint32_t>(), graph_.stream()) != 0) return false;
  }
  return true;
}

bool FusedStage::take_steps() {
  if (!find_members()) return false;
  size_t probes = 0;
  std::vector<Expr> conditions;
  if (stage_.has_filter) conditions.push_back(stage_.filter);
  for (const PipelineStep& step : stage_.steps) {
    if (const auto* filter = std::get_if<FilterStep>(&step)) {
      conditions.push_back(replaced(filter->predicate));
      continue;
    }
    const Probe& probe = std::get<Probe>(step);
    const Members& set = sets_.at(probes++);
    if (probe.kind != JoinKind::kSemi && !take_probe(probe, set)) return false;
    conditions.push_back(exec::member_of(replaced(probe.keys.front().probe), next_set_++, set.place()));
    if (probe.residual) conditions.push_back(replaced(*probe.residual));
  }
  pipeline_.has_filter = true;
  pipeline_.filter = all_of(std::move(conditions));
  return true;
}

bool FusedStage::take_probe(const Probe& probe, const Members& set) {
  const std::shared_ptr<const DeviceTable> rows = graph_.on_device(probe.stage);
  const DeviceColumn& keys = rows->columns.at(probe.keys.front().build.column);
  const Expr number = replaced(probe.keys.front().probe);
  return std::ranges::all_of(probe.fetched,
                             [&](const PipelineColumn& fetched) { return look_up(*rows, keys, number, set, fetched); });
}

bool FusedStage::look_up(const DeviceTable& rows, const DeviceColumn& keys, const Expr& number, const Members& set,
                         const PipelineColumn& fetched) {
  const size_t place = columns_.size();
  Column& column = columns_.emplace_back();
  if (!used_[place]) return true;
  DeviceColumn values = rows.columns.at(fetched.field_id);
  Physical type = physical_of(fetched.type);
  exec::IntegerRange range{0, 0};
  if (type == Physical::kBytes) {
    column.is_text = true;
    type = Physical::kU32;
    if (values.listed == nullptr || values.texts != nullptr) {  // a list that may hold a string twice
      CommonTexts common = number_together({{&values, rows.rows}}, graph_.stream());
      values.values = std::move(common.numbers.front());
      values.texts = std::move(common.texts);
      values.listed = nullptr;
    }
    const uint64_t entries = values.texts != nullptr ? values.texts->count : values.listed->entries.size();
    range.high = static_cast<int128_t>(planned_entries(entries)) - 1;
    column.texts = values;
    column.texts.values = {};
  } else {
    range = values.range.value_or(exec::range_of(type));
  }
  const uint32_t width = width_of(type);
  const uint64_t all = bytes() + set.count * width;
  if (all > graph_.most_bytes()) return false;
  graph_.hold(all);
  const auto least = static_cast<int64_t>(range.low);
  arrays_.push_back(values_by_number(keys, set, {values.values, width, rows.rows, least}, graph_.stream()));
  column.value =
      exec::looked_up(number, next_set_++, set.place_of(arrays_.back()), type, least, static_cast<int64_t>(range.high));
  return true;
}

// An expression that leaves: a string as its number.
Expr FusedStage::output(const Expr& expr, size_t place) {
  if (expr.op == ExprOp::kColumn && columns_.at(expr.column).is_text) {
    texts_.at(place) = columns_[expr.column].texts;
    texts_[place]->field = stage_.output.at(place);
    pipeline_.output.at(place).type = {TypeKind::kUInt32};
  }
  return replaced(expr);
}

void FusedStage::take_sink() {
  texts_.resize(stage_.output.size());
  std::vector<Expr>& values = stage_.sink == Sink::kGroups ? pipeline_.keys : pipeline_.rows;
  for (size_t i = 0; i < values.size(); ++i) values[i] = output(values[i], i);
  for (Aggregate& aggregate : pipeline_.aggregates) {
    if (aggregate.op != AggregateOp::kCountStar) aggregate.arg = replaced(aggregate.arg);
    if (aggregate.filter) aggregate.filter = replaced(*aggregate.filter);
  }
}

StageRows FusedStage::with_strings(StageRows rows) const {
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (!texts_[i]) continue;
    const auto give_texts = [&](DeviceColumn& column) {
      column.field = texts_[i]->field;
      column.texts = texts_[i]->texts;
      column.listed = texts_[i]->listed;
      column.range.reset();
    };
    if (rows.device) {
      give_texts(rows.device->columns.at(i));
      continue;
    }
    Table numbers;
    numbers.rows = rows.host.rows;
    numbers.schema.fields = {rows.host.schema.fields.at(i)};
    numbers.columns.push_back(std::move(rows.host.columns.at(i)));
    DeviceTable one = upload_table(numbers, graph_.stream());
    give_texts(one.columns.front());
    Table strings = graph_.fetch(one);
    rows.host.schema.fields[i] = std::move(strings.schema.fields.front());
    rows.host.columns[i] = std::move(strings.columns.front());
  }
  return rows;
}

std::string FusedStage::text() const {
  const std::string asked = text_of(sets_);
  if (arrays_.empty()) return asked;
  return asked + "\njoins looked up there: " + std::to_string(arrays_.size()) +
         (arrays_.size() == 1 ? " array" : " arrays");
}

uint64_t FusedStage::bytes() const {
  uint64_t sum = 0;
  for (const Members& set : sets_) sum += set.bits.bytes();
  for (const DeviceBuffer& array : arrays_) sum += array.bytes();
  for (const Column& column : columns_) {
    if (column.texts.texts != nullptr) sum += column.texts.texts->offsets.bytes() + column.texts.texts->bytes.bytes();
  }
  return sum;
}

}  // namespace basalt::cuda
