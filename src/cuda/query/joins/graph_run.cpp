#include "cuda/query/joins/graph_run.h"

#include <algorithm>
#include <chrono>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/query/joins/fused_stage.h"
#include "cuda/query/joins/join_run.h"
#include "cuda/query/joins/source_filter.h"
#include "cuda/query/joins/union_rows.h"
#include "cuda/query/row_arrays.h"
#include "cuda/query/windows/window_run.h"
#include "exec/column_facts.h"
#include "exec/cpu/run_stage.h"
#include "exec/report.h"
#include "exec/several_rows.h"
#include "exec/stage_source.h"

namespace basalt::cuda {

namespace {

std::string with_place(size_t place, const std::string& reason) {
  return "stage " + std::to_string(place + 1) + ": " + reason;
}

}  // namespace

GraphRun::GraphRun(StageRunner& stages, const Query& query, const RunOptions& options, std::vector<RunReport>& reports)
    : stages_(stages),
      query_(query),
      options_(options),
      few_rows_(join_settings().host_rows),
      reports_(reports),
      kept_(query.stages.size()),
      readers_(query.stages.size(), 0) {
  for (size_t i = 0; i < query.stages.size(); ++i) {
    for (const uint32_t input : inputs_of(query, i)) ++readers_[input];
  }
}

// Where the kernel of a stage without joins is not there, those of all stages over files are compiled at the same time.
void GraphRun::begin_kernels() {
  std::vector<Pipeline> stages;
  bool complete = true;
  for (const Pipeline& stage : query_.stages) {
    if (exec::row_count(stage) <= few_rows_) continue;
    if (FusedStage::may_be(stage)) continue;  // what it looks up decides its kernel
    if (!stage.steps.empty()) {
      stages.push_back(exec::source_rows(likely_filtered(query_, stage), exec::used_behind_filter(stage)));
      continue;
    }
    stages.push_back(exec::before_windows(stage));
    complete = complete && stages_.has_kernel(stages.back());
  }
  if (!complete) stages_.begin_kernels(stages);
}

StageRows GraphRun::run() {
  using Clock = std::chrono::steady_clock;
  begin_kernels();
  for (size_t i = 0; i < query_.stages.size(); ++i) {
    const auto start = Clock::now();
    check_cancelled();
    RunReport report;
    stages_.begin(report);
    hold(0);
    keep(i, run_stage(i, report));
    stages_.end(report);
    if (query_.stages[i].at_most_one && kept_[i].rows() > 1) {
      throw Error(ErrorCode::kInvalidArgument, exec::kSeveralRows);
    }
    report.rows_out = kept_[i].rows();
    report.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    reports_.push_back(std::move(report));
    for (const uint32_t input : inputs_of(query_, i)) {
      if (--readers_[input] == 0) kept_[input] = {};
    }
  }
  Kept& last = kept_.back();
  if (last.device != nullptr) return {{}, *last.device};
  return {*last.host, {}};
}

void GraphRun::hold(uint64_t bytes) {
  for (const Kept& kept : kept_) {
    if (kept.device != nullptr) bytes += bytes_of(*kept.device);
  }
  stages_.hold(bytes);
}

void GraphRun::keep(size_t place, StageRows rows) {
  if (rows.device) {
    kept_[place].device = std::make_shared<const DeviceTable>(*std::move(rows.device));
  } else {
    kept_[place].host = std::make_shared<const Table>(std::move(rows.host));
  }
}

// Few rows of every input, which can give few rows only.
bool GraphRun::belongs_to_host(size_t place) const {
  const Pipeline& stage = query_.stages[place];
  uint64_t product = std::max<uint64_t>(1, exec::row_count(stage));
  if (stage.constants != nullptr) product = std::max<uint64_t>(1, stage.constants->rows);
  for (const uint32_t input : inputs_of(query_, place)) {
    if (kept_[input].host == nullptr || product > few_rows_) return false;
    product *= std::max<uint64_t>(1, kept_[input].host->rows);
  }
  return product <= few_rows_;
}

Table GraphRun::run_on_host(size_t place, RunReport& report) {
  RunOptions options = options_;
  options.device = Device::kCpu;
  options.progress = nullptr;
  const exec::StageInput input = exec::input_of(query_, place, [&](uint32_t stage) { return kept_[stage].host.get(); });
  report.ran_on = Device::kCpu;
  report.rows += input.rows();
  return exec::run_stage(query_.stages[place], input, options, report);
}

StageRows GraphRun::run_stage(size_t place, RunReport& report) {
  const Pipeline& stage = query_.stages[place];
  if (belongs_to_host(place)) return {run_on_host(place, report), {}};
  report.ran_on = Device::kCuda;
  if (!stage.steps.empty()) return JoinRun(*this, stage, place, report).run();
  if (!stage.files.empty()) return run_over_files(stage, place, report);
  return run_over(stage, *rows_before(place), report);
}

StageRows GraphRun::run_over_files(const Pipeline& stage, size_t place, RunReport& report) {
  const Pipeline first = exec::before_windows(stage);
  if (std::string reason = why_not(first); !reason.empty()) {
    throw Error(ErrorCode::kUnsupported, with_place(place, reason));
  }
  StageRows rows = stages_.over_files(first, report);
  return stage.windows.empty() ? std::move(rows) : with_windows(stage, *std::move(rows.device), report);
}

StageRows GraphRun::run_over(const Pipeline& stage, const DeviceTable& input, RunReport& report) {
  RunReport own;
  StageRows rows;
  if (input.rows <= few_rows_) {
    RunOptions options = options_;
    options.device = Device::kCpu;
    options.progress = nullptr;
    const Table few = stages_.fetch(input);
    rows.host = exec::run_stage(stage, {{&few}, {}}, options, own);
  } else if (!stage.windows.empty()) {
    return with_windows(stage, rows_over(exec::before_windows(stage), input, report), report);
  } else {
    rows = stages_.over_rows(stage, input, own);
    if (!own.rung.empty()) report.rung += (report.rung.empty() ? "" : "\n") + own.rung;
  }
  exec::add_work(own, report);
  return rows;
}

// The numbers of rows in an order of their columns.
DeviceBuffer GraphRun::sorted_rows(const DeviceTable& rows, const std::vector<SortKey>& keys, RunReport& report) {
  DeviceTable table;
  table.rows = rows.rows;
  table.columns.push_back(row_numbers(rows.rows, stream()));
  Pipeline stage;
  stage.sink = Sink::kRows;
  for (SortKey key : keys) {
    table.columns.push_back(rows.columns.at(key.column));
    key.column = static_cast<uint32_t>(table.columns.size() - 1);
    stage.order.push_back(key);
  }
  read_columns(table, stage);
  for (uint32_t i = 0; i < table.columns.size(); ++i) {
    stage.rows.push_back(column_reference(i, physical_of(table.columns[i].field.type)));
    stage.output.push_back(table.columns[i].field);
  }
  return rows_over(stage, table, report).columns.at(0).values;
}

StageRows GraphRun::with_windows(const Pipeline& stage, DeviceTable rows, RunReport& report) {
  for (const WindowFunction& function : stage.windows) {
    if (std::string reason = why_no_window(function, rows, stream()); !reason.empty()) {
      throw Error(ErrorCode::kUnsupported, reason);
    }
  }
  const auto sort = [&](const DeviceTable& table, const std::vector<SortKey>& keys) {
    return sorted_rows(table, keys, report);
  };
  hold(2 * bytes_of(rows));
  add_windows(stage, rows, sort, stream());
  if (stage.order.empty() && stage.limit == kAllRows && stage.offset == 0) return {{}, std::move(rows)};
  Pipeline last;
  last.sink = Sink::kRows;
  last.order = stage.order;
  last.limit = stage.limit;
  last.offset = stage.offset;
  last.output = stage.output;
  read_columns(rows, last);
  for (uint32_t i = 0; i < rows.columns.size(); ++i) {
    last.rows.push_back(column_reference(i, physical_of(rows.columns[i].field.type)));
  }
  return run_over(last, rows, report);
}

DeviceTable GraphRun::rows_over(const Pipeline& stage, const DeviceTable& input, RunReport& report) {
  StageRows rows = run_over(stage, input, report);
  return rows.device ? *std::move(rows.device) : upload_table(rows.host, stream());
}

std::shared_ptr<const DeviceTable> GraphRun::on_device(uint32_t stage) {
  Kept& kept = kept_.at(stage);
  if (kept.device == nullptr) {
    kept.device = std::make_shared<const DeviceTable>(upload_table(*kept.host, stream()));
  }
  return kept.device;
}

// The rows that a stage without files reads.
std::shared_ptr<const DeviceTable> GraphRun::rows_before(size_t place) {
  const Pipeline& stage = query_.stages[place];
  if (stage.constants != nullptr) {
    return std::make_shared<const DeviceTable>(upload_table(*stage.constants, stream()));
  }
  if (stage.sources.empty()) return on_device(static_cast<uint32_t>(place - 1));
  if (stage.sources.size() == 1) return on_device(stage.sources.front());
  std::vector<std::shared_ptr<const DeviceTable>> tables;
  for (const uint32_t source : stage.sources) tables.push_back(on_device(source));
  return std::make_shared<const DeviceTable>(union_rows(tables, stream()));
}

std::shared_ptr<const DeviceTable> GraphRun::source_of(const Pipeline& stage, size_t place,
                                                       const std::vector<uint32_t>& used, RunReport& report) {
  if (stage.files.empty()) {
    std::shared_ptr<const DeviceTable> rows = rows_before(place);
    report.rows += rows->rows;
    if (!stage.has_filter) return rows;
    Pipeline kept;
    kept.columns = stage.columns;
    kept.has_filter = true;
    kept.filter = stage.filter;
    kept.sink = Sink::kRows;
    for (uint32_t i = 0; i < rows->columns.size(); ++i) {
      kept.rows.push_back(column_reference(i, physical_of(stage.columns[i].type)));
      kept.output.push_back(rows->columns[i].field);
    }
    return std::make_shared<const DeviceTable>(rows_over(kept, *rows, report));
  }
  const Pipeline source = exec::source_rows(stage, used);
  if (std::string reason = stages_.why_not(source); !reason.empty()) {
    throw Error(ErrorCode::kUnsupported, with_place(place, reason));
  }
  RunReport own;
  StageRows rows = stages_.over_files(source, own);
  report.rows += own.rows;
  exec::add_work(own, report);
  return std::make_shared<const DeviceTable>(*std::move(rows.device));
}

}  // namespace basalt::cuda
