// Running queries stage by stage: totals as pipelines of their own, on either device; everything else on the CPU.
#include <algorithm>
#include <chrono>

#include "basalt/core/arrow.h"
#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/device_result.h"
#include "basalt/exec/pipeline.h"
#include "exec/cpu/column_builder.h"
#include "exec/cpu/join_table.h"
#include "exec/cpu/run_stage.h"
#include "exec/evaluate.h"
#include "exec/report.h"
#include "exec/stage_source.h"

namespace basalt {

namespace {

[[noreturn]] void fail_query(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, "a query: " + what); }

// What run_pipeline() takes: one row of simple aggregates over files.
bool is_totals(const Pipeline& stage) {
  if (stage.sink != Sink::kGroups || !stage.keys.empty() || stage.files.empty() || !stage.steps.empty()) return false;
  for (const Aggregate& aggregate : stage.aggregates) {
    if (!is_simple(aggregate)) return false;
  }
  return true;
}

Table run_totals(const Pipeline& stage, const RunOptions& options, RunReport& report) {
  Pipeline totals = stage;
  totals.sink = Sink::kTotals;
  const std::vector<Value> values = run_pipeline(totals, options, &report);
  Table table;
  table.rows = 1;
  table.schema.fields = stage.output;
  for (size_t i = 0; i < values.size(); ++i) {
    exec::ColumnBuilder column(stage.output[i]);
    column.add_value(values[i]);
    table.columns.push_back(column.take());
  }
  return table;
}

// Of a chain, whatever the GPU leaves runs on the CPU; of other queries it runs all stages.
std::string why_not_stages(const Query& query, GpuBackend& backend) {
  if (is_chain(query)) return backend.why_not(query.stages.front());
  for (const Pipeline& stage : query.stages) {
    if (stage.files.empty()) continue;
    const bool direct = stage.steps.empty();
    std::string reason = backend.why_not(direct ? exec::before_windows(stage)
                                                : exec::source_rows(stage, exec::used_behind_filter(stage)));
    if (!reason.empty()) return reason;
  }
  return {};
}

// The stages that the GPU takes, at least the first one, with a report of each. Without any the CPU runs all, which
// also finds the words for a row that left the range of its type; `reason` says why. `kept`: see run_stages().
std::optional<Table> run_on_gpu(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                                std::string& reason, ArrowDeviceArray* kept) {
  const GpuAvailability& available = gpu();
  if (options.device == Device::kCpu) return std::nullopt;
  const bool must = options.device == Device::kCuda;
  if (available.backend == nullptr) {
    if (must) throw Error(ErrorCode::kUnsupported, "the GPU does not run this query: " + available.reason);
    return std::nullopt;
  }
  reason = why_not_stages(query, *available.backend);
  if (!reason.empty()) {
    if (must) throw Error(ErrorCode::kUnsupported, "the GPU does not run this query: " + reason);
    return std::nullopt;
  }
  try {
    if (kept != nullptr) return available.backend->run_stages_on_device(query, options, reports, *kept);
    return available.backend->run_stages(query, options, reports);
  } catch (const Error& error) {
    const bool too_much = error.code() == ErrorCode::kOutOfMemory || error.code() == ErrorCode::kUnsupported;
    if (error.code() != ErrorCode::kOutOfRange && (must || !too_much)) throw;
    reason = error.what();
  }
  reports.clear();
  return std::nullopt;
}

void check_output(const Pipeline& stage, size_t place, Physical type) {
  if (physical_of(stage.output[place].type) != type) {
    fail_query("column " + stage.output[place].name + " is not of its expression's type");
  }
}

using Columns = std::vector<PipelineColumn>;

void check_predicate(const Expr& predicate, const Columns& columns, const char* what) {
  exec::check_expression(predicate, columns);
  if (predicate.type != Physical::kU8) fail_query(std::string(what) + " is not boolean");
}

void check_groups(const Pipeline& stage, const Columns& columns) {
  if (stage.output.size() != stage.keys.size() + stage.aggregates.size())
    fail_query("groups with another number of columns");
  for (size_t i = 0; i < stage.keys.size(); ++i) {
    exec::check_expression(stage.keys[i], columns);
    check_output(stage, i, stage.keys[i].type);
  }
  for (size_t i = 0; i < stage.aggregates.size(); ++i) {
    const Aggregate& aggregate = stage.aggregates[i];
    if (aggregate.op != AggregateOp::kCountStar) exec::check_expression(aggregate.arg, columns);
    if (aggregate.filter) check_predicate(*aggregate.filter, columns, "the filter of an aggregate");
    const bool adds = aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg;
    if (adds && aggregate.arg.type == Physical::kBytes) fail_query("sum and avg need numbers");
    if (aggregate.op >= AggregateOp::kVarPop && aggregate.arg.type != Physical::kF64)
      fail_query("variances need doubles");
    check_output(stage, stage.keys.size() + i, result_type(aggregate));
  }
}

void check_window(const WindowFunction& function, const std::vector<Expr>& rows) {
  std::vector<uint32_t> used = function.partition;
  used.insert(used.end(), function.arguments.begin(), function.arguments.end());
  used.insert(used.end(), {function.start.column, function.end.column});
  for (const SortKey& key : function.order) used.push_back(key.column);
  if (function.op == WindowOp::kAggregate) {
    const Aggregate& aggregate = function.aggregate;
    const bool has_argument = aggregate.op != AggregateOp::kCountStar;
    const bool columns = (!has_argument || aggregate.arg.op == ExprOp::kColumn) &&
                         (!aggregate.filter || aggregate.filter->op == ExprOp::kColumn);
    if (!columns || !is_simple({aggregate.op, aggregate.arg}))
      fail_query("a window of an aggregate that it cannot take");
    if (has_argument) used.push_back(aggregate.arg.column);
    if (aggregate.filter) used.push_back(aggregate.filter->column);
  }
  const bool shifts = function.op == WindowOp::kLag || function.op == WindowOp::kLead;
  if (shifts && function.arguments.size() != 3) fail_query("a window function without its arguments");
  for (const uint32_t column : used) {
    if (column >= rows.size() && column != 0) fail_query("a window function of a column that does not exist");
  }
}

void check_rows(const Pipeline& stage, const Columns& columns) {
  const size_t count = stage.rows.size() + stage.windows.size();
  if (stage.output.size() != count) fail_query("rows with another number of columns");
  for (size_t i = 0; i < stage.rows.size(); ++i) {
    exec::check_expression(stage.rows[i], columns);
    check_output(stage, i, stage.rows[i].type);
  }
  for (const SortKey& key : stage.order) {
    if (key.column >= count) fail_query("an order by a column that does not exist");
  }
  for (const WindowFunction& function : stage.windows) check_window(function, stage.rows);
}

void check_probe(const Query& query, const Probe& probe, const Columns& before) {
  const std::vector<Field>& rows = query.stages[probe.stage].output;
  Columns build;
  for (const Field& field : rows) build.push_back({static_cast<uint32_t>(build.size()), field.name, field.type});
  for (const JoinKey& key : probe.keys) {
    exec::check_expression(key.probe, before);
    exec::check_expression(key.build, build);
    if (key.probe.type != key.build.type) fail_query("a join by keys of different types");
  }
  Columns all = before;
  for (const PipelineColumn& column : probe.fetched) {
    if (column.field_id >= rows.size() || rows[column.field_id].type != column.type) {
      fail_query("a join fetches a column that does not exist");
    }
    all.push_back(column);
  }
  if (probe.residual) check_predicate(*probe.residual, all, "the condition of a join");
}

void check_inputs(const Query& query, size_t place) {
  const Pipeline& stage = query.stages[place];
  const int kinds =
      (stage.files.empty() ? 0 : 1) + (stage.constants == nullptr ? 0 : 1) + (stage.sources.empty() ? 0 : 1);
  if (kinds == 0 && place == 0) fail_query("it reads no file");
  if (kinds > 1) fail_query("a stage reads several kinds of things");
  for (const uint32_t input : inputs_of(query, place)) {
    if (input >= place) fail_query("a stage reads one that is not before it");
  }
  for (const uint32_t source : stage.sources) {
    const std::vector<Field>& rows = query.stages[source].output;
    if (rows.size() != stage.columns.size()) fail_query("a stage reads rows of another number of columns");
  }
}

void check_query(const Query& query) {
  if (query.stages.empty()) fail_query("it has no stages");
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const Pipeline& stage = query.stages[i];
    check_inputs(query, i);
    if (stage.has_filter) check_predicate(stage.filter, stage.columns, "the filter");
    for (size_t step = 0; step < stage.steps.size(); ++step) {
      const Columns before = columns_behind(stage, step);
      if (const auto* filter = std::get_if<FilterStep>(&stage.steps[step])) {
        check_predicate(filter->predicate, before, "the filter");
      } else {
        check_probe(query, std::get<Probe>(stage.steps[step]), before);
      }
    }
    if (stage.sink == Sink::kTotals) fail_query("totals are groups without keys");
    const Columns columns = columns_behind_steps(stage);
    stage.sink == Sink::kGroups ? check_groups(stage, columns) : check_rows(stage, columns);
  }
}

}  // namespace

Physical result_type(const Aggregate& aggregate) {
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return Physical::kI64;
    case AggregateOp::kSum: return is_float(aggregate.arg.type) ? Physical::kF64 : Physical::kI128;
    case AggregateOp::kMin:
    case AggregateOp::kMax:
    case AggregateOp::kFirst:
    case AggregateOp::kLast:
    case AggregateOp::kAnyValue: return aggregate.arg.type;
    case AggregateOp::kAvg:
    case AggregateOp::kVarPop:
    case AggregateOp::kVarSamp:
    case AggregateOp::kStddevPop:
    case AggregateOp::kStddevSamp: return Physical::kF64;
  }
  return Physical::kNone;
}

std::string why_not_gpu(const Query& query) {
  const GpuAvailability& available = gpu();
  if (available.backend == nullptr) return available.reason;
  if (!is_chain(query)) return why_not_stages(query, *available.backend);
  const Pipeline& first = query.stages.front();
  Pipeline totals = first;
  if (is_totals(first)) totals.sink = Sink::kTotals;
  return available.backend->why_not(totals);
}

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string stage_text(const Pipeline& stage) {
  const auto counted = [](size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = stage.has_filter ? "filter, " : "";
  const auto joins = std::ranges::count_if(stage.steps, [](const auto& step) { return step.index() == 1; });
  if (joins > 0) text += counted(static_cast<size_t>(joins), "join") + ", ";
  if (stage.sink == Sink::kGroups) {
    const std::string aggregates = counted(stage.aggregates.size(), "aggregate");
    return text + (stage.keys.empty() ? "" : "groups by " + counted(stage.keys.size(), "key") + ", ") + aggregates;
  }
  text += counted(stage.rows.size(), "column") + " of rows";
  if (!stage.order.empty()) text += ", in order";
  if (stage.limit != kAllRows || stage.offset > 0) text += ", limited";
  return text;
}

// The whole is what its stages did together; where it ran is where its first stage did.
// Stages of few rows may run on the host: the whole has run on the GPU where any of it has.
void add_step(RunReport step, RunReport& all) {
  if (all.steps.empty()) {
    all = step;
  } else {
    exec::add_work(step, all);
    if (step.ran_on == Device::kCuda) all.ran_on = Device::kCuda;
  }
  all.rows_out = step.rows_out;
  all.steps.push_back(std::move(step));
}

// The rows that stages left, until nobody needs them any longer.
class KeptRows {
 public:
  explicit KeptRows(const Query& query) : rows_(query.stages.size()), readers_(query.stages.size(), 0) {
    for (size_t i = 0; i < query.stages.size(); ++i) {
      for (const uint32_t input : inputs_of(query, i)) ++readers_[input];
    }
  }
  const Table& at(size_t stage) const { return rows_[stage]; }
  void put(size_t stage, Table rows) { rows_[stage] = std::move(rows); }
  Table take(size_t stage) { return std::move(rows_[stage]); }
  void done_with(uint32_t stage) {
    if (--readers_[stage] == 0) rows_[stage] = {};
  }

 private:
  std::vector<Table> rows_;
  std::vector<uint32_t> readers_;
};

Table run_on_cpu(const Query& query, size_t place, const KeptRows& kept, const RunOptions& options, RunReport& step) {
  const Pipeline& stage = query.stages[place];
  step.device_name = "CPU";
  if (is_totals(stage)) return run_totals(stage, options, step);
  const exec::StageInput input = exec::input_of(query, place, [&](uint32_t earlier) { return &kept.at(earlier); });
  Table rows = exec::run_stage(stage, input, options, step);
  step.rows += input.rows();
  if (stage.at_most_one && rows.rows > 1) throw Error(ErrorCode::kInvalidArgument, exec::kSeveralRows);
  return rows;
}

// The rows of the last stage. `kept`: where they may stay on the GPU; if they do, it has them and the table is empty.
Table run_stages(const Query& query, const RunOptions& options, RunReport* report, ArrowDeviceArray* kept) {
  const auto start = Clock::now();
  check_query(query);
  RunReport own;
  RunReport& filled = report != nullptr ? *report : own;
  filled = {};
  KeptRows rows(query);
  std::vector<RunReport> done;  // of stages that ran on the GPU
  std::string why_cpu;
  if (!is_totals(query.stages.front()) || !is_chain(query)) {
    std::optional<Table> first = run_on_gpu(query, options, done, why_cpu, kept);
    if (first) rows.put(done.size() - 1, *std::move(first));
  }
  RunOptions on_cpu = options;
  if (!is_chain(query)) on_cpu.device = Device::kCpu;
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const auto begin = Clock::now();
    RunReport step;
    if (i < done.size()) {
      step = std::move(done[i]);
    } else {
      rows.put(i, run_on_cpu(query, i, rows, on_cpu, step));
      if (i == 0 && !why_cpu.empty()) step.why_cpu = why_cpu;
      if (i > 0 && i == done.size()) step.why_cpu = filled.steps.back().why_next_cpu;
      step.rows_out = rows.at(i).rows;
      step.total_ms = ms_since(begin);
      for (const uint32_t input : inputs_of(query, i)) rows.done_with(input);
    }
    step.what = stage_text(query.stages[i]);
    add_step(std::move(step), filled);
  }
  filled.total_ms = ms_since(start);
  return rows.take(query.stages.size() - 1);
}

}  // namespace

Table run_query(const Query& query, const RunOptions& options, RunReport* report) {
  return run_stages(query, options, report, nullptr);
}

DeviceResult run_query_on_device(const Query& query, const RunOptions& options, RunReport* report) {
  DeviceResult result;
  Table rows = run_stages(query, options, report, &result.array);
  if (result.array.array.release == nullptr) {
    export_batch(std::move(rows), &result.array.array);
    result.array.device_id = -1;
    result.array.device_type = ARROW_DEVICE_CPU;
  }
  Schema schema;
  schema.fields = query.stages.back().output;
  export_schema(schema, &result.schema);
  return result;
}

}  // namespace basalt
