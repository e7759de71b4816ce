#include "cuda/query/joins/graph_run.h"

#include <algorithm>
#include <chrono>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/query/joins/fused_stage.h"
#include "cuda/query/joins/join_run.h"
#include "cuda/query/joins/parted_stage.h"
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
      most_(std::min(stages.most_memory(), join_settings().memory)),
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
    make_room();
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
      if (--readers_[input] == 0) drop(kept_[input]);
    }
  }
  Kept& last = kept_.back();
  if (last.device != nullptr) return {{}, *last.device};
  if (last.host != nullptr) return {*last.host, {}};
  StageRows rows{unparked(*last.parked, query_.stages.back().output, options_.threads), {}};
  drop(last);
  return rows;
}

uint64_t GraphRun::kept_on_device() const {
  uint64_t bytes = beside_;
  for (const Kept& kept : kept_) {
    if (kept.device != nullptr) bytes += bytes_of(*kept.device);
  }
  return bytes;
}

void GraphRun::release() {
  for (Kept& kept : kept_) {
    if (kept.host != nullptr || kept.parked != nullptr) kept.device = nullptr;
  }
  stages_.hold(kept_on_device());
}

void GraphRun::hold(uint64_t bytes) {
  bytes += kept_on_device();
  if (bytes > most_) {
    throw Error(ErrorCode::kOutOfMemory, "rows of joins and of earlier stages need " + std::to_string(bytes >> 10) +
                                             " KiB on the device, more than the limit of " +
                                             std::to_string(most_ >> 10) + " KiB");
  }
  stages_.hold(bytes);
}

void GraphRun::keep(size_t place, StageRows rows) {
  if (rows.device) {
    kept_[place].device = std::make_shared<const DeviceTable>(*std::move(rows.device));
  } else if (rows.parked != nullptr) {
    kept_[place].parked = std::move(rows.parked);
  } else {
    kept_[place].host = std::make_shared<const Table>(std::move(rows.host));
  }
}

void GraphRun::drop(Kept& kept) {
  if (kept.parked != nullptr) stages_.forget(*kept.parked);
  kept = {};
}

uint64_t GraphRun::kept_bytes(uint32_t stage) const {
  const Kept& kept = kept_.at(stage);
  if (kept.device != nullptr) return bytes_of(*kept.device);
  uint64_t width = 0;
  for (const Field& field : query_.stages[stage].output) width += width_of(physical_of(field.type));
  return kept.rows() * width;
}

ParkedRows GraphRun::parking() { return ParkedRows(options_.threads, options_.cancel, parked_files_); }

// Plans hold the files that they were made for, also where a statement has failed.
GraphRun::~GraphRun() {
  for (const std::weak_ptr<const File>& parked : parked_files_) {
    if (const std::shared_ptr<const File> file = parked.lock()) stages_.forget(*file);
  }
}

std::shared_ptr<const File> GraphRun::park(uint32_t stage) {
  Kept& kept = kept_.at(stage);
  if (kept.parked == nullptr) {
    ParkedRows parked = parking();
    parked.append(kept.device != nullptr ? stages_.fetch(*kept.device) : *kept.host);
    kept.parked = parked.finish();
  }
  kept.device = nullptr;
  kept.host = nullptr;
  return kept.parked;
}

// Of rows between stages, the largest leave while all of them take most of the memory.
void GraphRun::make_room() {
  while (kept_on_device() > most_ - most_ / 4) {
    std::optional<uint32_t> largest;
    for (uint32_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].device == nullptr) continue;
      if (!largest || kept_bytes(i) > kept_bytes(*largest)) largest = i;
    }
    if (!largest) return;
    park(*largest);
  }
}

// Rows on the device that a stage does not read. Whether there were any.
bool GraphRun::park_others(size_t place) {
  const std::vector<uint32_t> needed = inputs_of(query_, place);
  bool any = false;
  for (uint32_t i = 0; i < place; ++i) {
    if (kept_[i].device == nullptr || std::ranges::find(needed, i) != needed.end()) continue;
    park(i);
    any = true;
  }
  return any;
}

std::vector<uint32_t> GraphRun::sources_of(const Pipeline& stage, size_t place) const {
  if (!stage.files.empty() || stage.constants != nullptr) return {};
  if (!stage.sources.empty()) return stage.sources;
  return {static_cast<uint32_t>(place - 1)};
}

void GraphRun::park_sources(Pipeline& stage, size_t place) {
  for (const uint32_t source : sources_of(stage, place)) stage.files.push_back(park(source));
  if (!stage.files.empty()) stage.sources.clear();
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

StageRows GraphRun::run_at_once(const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report) {
  report.ran_on = Device::kCuda;
  if (!stage.steps.empty()) return JoinRun(*this, stage, place, tiles, report).run();
  if (!stage.files.empty()) return run_over_files(stage, place, tiles, report);
  return run_over(stage, *rows_before(stage, place), report);
}

// What the memory does not hold at once runs in parts.
StageRows GraphRun::run_stage(size_t place, RunReport& report) {
  if (belongs_to_host(place)) return {run_on_host(place, report), {}};
  Pipeline stage = query_.stages[place];
  const std::vector<uint32_t> sources = sources_of(stage, place);
  if (std::ranges::any_of(sources, [&](uint32_t source) { return kept_[source].parked != nullptr; })) {
    park_sources(stage, place);
  }
  try {
    return run_at_once(stage, place, {}, report);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  RunReport whole;
  stages_.begin(whole);
  report = std::move(whole);
  release();
  const bool has_more_room = park_others(place);
  return PartedStage(*this, stage, place, report).run(has_more_room);
}

StageRows GraphRun::run_over_files(const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report) {
  const Pipeline first = exec::before_windows(stage);
  if (std::string reason = why_not(first); !reason.empty()) {
    throw Error(ErrorCode::kUnsupported, with_place(place, reason));
  }
  StageRows rows = stages_.over_files(first, tiles, report);
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
  if (kept.device != nullptr) return kept.device;
  hold(kept_bytes(stage));
  if (kept.parked != nullptr) {
    RunReport unused;
    kept.device =
        std::make_shared<const DeviceTable>(rows_of(kept.parked, query_.stages[stage].output, std::nullopt, unused));
  } else {
    kept.device = std::make_shared<const DeviceTable>(upload_table(*kept.host, stream()));
  }
  return kept.device;
}

DeviceTable GraphRun::rows_of(const std::shared_ptr<const File>& file, const std::vector<Field>& fields,
                              const std::optional<Expr>& condition, RunReport& report) {
  Pipeline stage;
  stage.files = {file};
  stage.sink = Sink::kRows;
  stage.output = fields;
  for (uint32_t i = 0; i < fields.size(); ++i) {
    stage.columns.push_back({i, fields[i].name, fields[i].type});
    stage.rows.push_back(column_reference(i, physical_of(fields[i].type)));
  }
  stage.has_filter = condition.has_value();
  if (condition) stage.filter = *condition;
  StageRows rows = stages_.over_files(stage, {}, report);
  return rows.device ? *std::move(rows.device) : upload_table(rows.host, stream());
}

// The rows that a stage without files reads.
std::shared_ptr<const DeviceTable> GraphRun::rows_before(const Pipeline& stage, size_t place) {
  if (stage.constants != nullptr) {
    return std::make_shared<const DeviceTable>(upload_table(*stage.constants, stream()));
  }
  if (stage.sources.empty()) return on_device(static_cast<uint32_t>(place - 1));
  if (stage.sources.size() == 1) return on_device(stage.sources.front());
  std::vector<std::shared_ptr<const DeviceTable>> tables;
  for (const uint32_t source : stage.sources) tables.push_back(on_device(source));
  return std::make_shared<const DeviceTable>(union_rows(tables, stream()));
}

std::shared_ptr<const DeviceTable> GraphRun::source_of(const Pipeline& stage, size_t place, const TileRange& tiles,
                                                       const std::vector<uint32_t>& used, RunReport& report) {
  if (stage.files.empty()) {
    std::shared_ptr<const DeviceTable> rows = rows_before(stage, place);
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
  StageRows rows = stages_.over_files(source, tiles, own);
  report.rows += own.rows;
  exec::add_work(own, report);
  return std::make_shared<const DeviceTable>(*std::move(rows.device));
}

}  // namespace basalt::cuda
