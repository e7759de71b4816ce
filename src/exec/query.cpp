// Running queries stage by stage: totals as pipelines of their own, on either device; everything else on the CPU.
#include <algorithm>
#include <chrono>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/pipeline.h"
#include "exec/cpu/column_builder.h"
#include "exec/cpu/run_stage.h"
#include "exec/evaluate.h"

namespace basalt {

namespace {

[[noreturn]] void fail_query(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, "a query: " + what); }

// What run_pipeline() takes: one row of simple aggregates over files.
bool is_totals(const Pipeline& stage) {
  if (stage.sink != Sink::kGroups || !stage.keys.empty() || stage.files.empty()) return false;
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

// The stages that the GPU takes, at least the first one, with a report of each. Without any the CPU runs all, which
// also finds the words for a row that left the range of its type; `reason` says why.
std::optional<Table> run_on_gpu(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                                std::string& reason) {
  const GpuAvailability& available = gpu();
  if (options.device == Device::kCpu) return std::nullopt;
  const bool must = options.device == Device::kCuda;
  if (available.backend == nullptr) {
    if (must) throw Error(ErrorCode::kUnsupported, "the GPU does not run this query: " + available.reason);
    return std::nullopt;
  }
  reason = available.backend->why_not(query.stages.front());
  if (!reason.empty()) {
    if (must) throw Error(ErrorCode::kUnsupported, "the GPU does not run this query: " + reason);
    return std::nullopt;
  }
  try {
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

void check_groups(const Pipeline& stage) {
  if (stage.output.size() != stage.keys.size() + stage.aggregates.size())
    fail_query("groups with another number of columns");
  for (size_t i = 0; i < stage.keys.size(); ++i) {
    exec::check_expression(stage.keys[i], stage.columns);
    check_output(stage, i, stage.keys[i].type);
  }
  for (size_t i = 0; i < stage.aggregates.size(); ++i) {
    const Aggregate& aggregate = stage.aggregates[i];
    if (aggregate.op != AggregateOp::kCountStar) exec::check_expression(aggregate.arg, stage.columns);
    if (aggregate.filter) {
      exec::check_expression(*aggregate.filter, stage.columns);
      if (aggregate.filter->type != Physical::kU8) fail_query("the filter of an aggregate is not boolean");
    }
    const bool adds = aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg;
    if (adds && aggregate.arg.type == Physical::kBytes) fail_query("sum and avg need numbers");
    if (aggregate.op >= AggregateOp::kVarPop && aggregate.arg.type != Physical::kF64)
      fail_query("variances need doubles");
    check_output(stage, stage.keys.size() + i, result_type(aggregate));
  }
}

void check_rows(const Pipeline& stage) {
  if (stage.output.size() != stage.rows.size()) fail_query("rows with another number of columns");
  for (size_t i = 0; i < stage.rows.size(); ++i) {
    exec::check_expression(stage.rows[i], stage.columns);
    check_output(stage, i, stage.rows[i].type);
  }
  for (const SortKey& key : stage.order) {
    if (key.column >= stage.rows.size()) fail_query("an order by a column that does not exist");
  }
}

void check_query(const Query& query) {
  if (query.stages.empty()) fail_query("it has no stages");
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const Pipeline& stage = query.stages[i];
    if ((i == 0) == stage.files.empty()) fail_query(i == 0 ? "it reads no file" : "a later stage reads files");
    if (stage.has_filter) {
      exec::check_expression(stage.filter, stage.columns);
      if (stage.filter.type != Physical::kU8) fail_query("the filter is not boolean");
    }
    if (stage.sink == Sink::kTotals) fail_query("totals are groups without keys");
    stage.sink == Sink::kGroups ? check_groups(stage) : check_rows(stage);
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
void add_step(RunReport step, RunReport& all) {
  if (all.steps.empty()) {
    all = step;
  } else {
    all.tiles += step.tiles;
    all.encoded_bytes_read += step.encoded_bytes_read;
    all.bytes_transferred += step.bytes_transferred;
    all.compile_ms += step.compile_ms;
    all.transfer_ms += step.transfer_ms;
    all.kernel_ms += step.kernel_ms;
    all.wait_ms += step.wait_ms;
    all.device_bytes = std::max(all.device_bytes, step.device_bytes);
    if (!step.kernel_source.empty()) {
      all.kernel_source += (all.kernel_source.empty() ? "" : "\n\n") + step.kernel_source;
    }
  }
  all.rows_out = step.rows_out;
  all.steps.push_back(std::move(step));
}

}  // namespace

Table run_query(const Query& query, const RunOptions& options, RunReport* report) {
  const auto start = Clock::now();
  check_query(query);
  RunReport own;
  RunReport& filled = report != nullptr ? *report : own;
  filled = {};
  Table rows;
  std::vector<RunReport> done;  // of stages that ran on the GPU
  std::string why_cpu;
  if (!is_totals(query.stages.front())) {
    if (std::optional<Table> first = run_on_gpu(query, options, done, why_cpu)) rows = *std::move(first);
  }
  for (size_t i = 0; i < query.stages.size(); ++i) {
    const Pipeline& stage = query.stages[i];
    const auto begin = Clock::now();
    RunReport step;
    if (i < done.size()) {
      step = std::move(done[i]);
    } else {
      step.device_name = "CPU";
      const uint64_t rows_in = rows.rows;
      if (is_totals(stage)) {
        rows = run_totals(stage, options, step);
      } else {
        rows = exec::run_stage(stage, i == 0 ? nullptr : &rows, options, step);
      }
      if (i == 0 && !why_cpu.empty()) step.why_cpu = why_cpu;
      if (i > 0) step.rows = rows_in;
      step.rows_out = rows.rows;
      step.total_ms = ms_since(begin);
    }
    step.what = stage_text(stage);
    add_step(std::move(step), filled);
  }
  filled.total_ms = ms_since(start);
  return rows;
}

}  // namespace basalt
