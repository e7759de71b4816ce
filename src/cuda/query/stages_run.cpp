// The stages of a query on the device, one after the other. What one leaves there is the next one's input, as arrays;
// few rows go to the host, which needs no kernel for them.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "cuda/query/joins/graph_run.h"
#include "cuda/query/statement_texts.h"
#include "exec/report.h"

namespace basalt::cuda {

namespace {

uint64_t address(const DeviceBuffer& buffer) { return reinterpret_cast<uint64_t>(buffer.data()); }

uint64_t count_of(const StageRows& rows) { return rows.device ? rows.device->rows : rows.host.rows; }

// Columns that one kernel cannot write together are written by several, which find the same rows in the same order.
// `run` gives the rows of a half; nothing if it cannot.
template <typename Run>
std::optional<DeviceTable> rows_in_halves(const device::RowsHalves& halves, const Run& run, RunReport& report) {
  std::optional<DeviceTable> all = run(halves.first, report);
  if (!all) return std::nullopt;
  RunReport beside;
  std::optional<DeviceTable> others = run(halves.second, beside);
  if (!others) {
    report.why_cpu = beside.why_cpu;
    return std::nullopt;
  }
  if (all->rows != others->rows) throw Error(ErrorCode::kInternal, "halves of rows that differ in their number");
  beside.tiles = {};  // the same ones
  exec::add_work(beside, report);
  all->columns.resize(halves.first_columns);
  others->columns.resize(halves.second_columns);
  std::ranges::move(others->columns, std::back_inserter(all->columns));
  return all;
}

}  // namespace

StageRows CudaBackend::first_stage(const Pipeline& stage, bool keep, const RunOptions& options, RunReport& report) {
  auto planned = stages_.get(stage);
  if (const auto halves = planned->too_large ? device::halves_of(stage) : std::nullopt) {
    const auto run = [&](const Pipeline& half, RunReport& own) { return first_stage(half, true, options, own).device; };
    std::optional<DeviceTable> rows = rows_in_halves(*halves, run, report);
    if (keep) return {{}, std::move(rows)};
    return {fetch_table(*rows, threads(options.threads)), {}};
  }
  for (;;) {
    const NumberedPipeline numbered = number_texts(*this, planned, stage, options, report);
    StatementRun statement(*this, *numbered.device, options, report, numbered.texts.arrays);
    statement.set_texts(numbered.texts.texts);
    statement.set_asked(numbered.texts.tiles, numbered.texts.asked);
    statement.set_held(numbered.texts.bytes());
    if (stage.sink == Sink::kGroups) return statement.run_groups(keep);
    if (keep && !numbered.device->sources->late) return {{}, statement.run_rows_to_device(stage, nullptr)};
    if (std::optional<Table> rows = statement.run_rows(stage)) return {*std::move(rows), {}};
    // Too many rows are equal in what was left of the order: now all of it.
    planned = std::make_shared<const device::DevicePipeline>(device::rows_to_device(stage, {}, 0, nullptr, true));
  }
}

std::optional<StageRows> CudaBackend::later_stage(const Pipeline& stage, const DeviceTable& input, bool keep,
                                                  const RunOptions& options, RunReport& report) {
  const std::vector<device::ArrayShape> shapes = shapes_of(input);
  const uint64_t bound = planned_rows(input.rows);
  device::DevicePipeline device = *stages_.get(stage, shapes, bound);
  if (const auto halves = device.too_large ? device::halves_of(stage) : std::nullopt) {
    const auto run = [&](const Pipeline& half, RunReport& own) {
      std::optional<StageRows> rows = later_stage(half, input, true, options, own);
      return rows ? std::move(rows->device) : std::nullopt;
    };
    std::optional<DeviceTable> rows = rows_in_halves(*halves, run, report);
    return rows ? std::optional<StageRows>({{}, std::move(rows)}) : std::nullopt;
  }
  report.why_cpu = device.reason;
  if (!device.reason.empty()) return std::nullopt;
  StatementTexts texts;
  if (!device.texts.empty()) {
    try {
      texts = TextsRun(*this, device, stage, options, report, &input).run();
    } catch (const Error& error) {
      // What only strings show that the device does not know: the host goes on from here.
      if (error.code() != ErrorCode::kUnsupported) throw;
      report.why_cpu = error.what();
      return std::nullopt;
    }
    device = device::plan_stage(device::to_device(stage, shapes, bound, &texts.numbers));
    report.why_cpu = device.reason;
    if (!device.reason.empty()) return std::nullopt;
  }
  device.rows = input.rows;
  texts.arrays.resize(device.pipeline.columns.size());
  for (size_t i = 0; i < texts.arrays.size(); ++i) {
    if (device.texts.is_made(i)) continue;
    const DeviceColumn& column = input.columns.at(device.pipeline.columns[i].field_id);
    texts.arrays[i] = {address(column.values), address(column.validity)};
  }
  StatementRun statement(*this, device, options, report, texts.arrays);
  statement.set_texts(texts.texts);
  if (stage.sink == Sink::kGroups) return statement.run_groups(keep);
  return StageRows{{}, statement.run_rows_to_device(stage, &input)};
}

StageRows CudaBackend::run_first_stages(const Query& query, bool keep_last, const RunOptions& options,
                                        std::vector<RunReport>& reports) {
  using Clock = std::chrono::steady_clock;
  StageRows rows;
  for (const Pipeline& stage : query.stages) {
    const auto start = Clock::now();
    const bool keep = keep_last || &stage != &query.stages.back();
    RunReport report;
    {
      const CountedStatement counted(*this, options, report);
      if (reports.empty()) {
        rows = first_stage(stage, keep, options, report);
      } else {
        std::optional<StageRows> next = later_stage(stage, *rows.device, keep, options, report);
        if (!next) {
          reports.back().why_next_cpu = report.why_cpu;
          break;
        }
        rows = *std::move(next);
      }
    }
    report.rows_out = count_of(rows);
    report.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    reports.push_back(std::move(report));
    if (!rows.device) break;
  }
  return rows;
}

// Stages of queries that are no chains.
class BackendStages : public StageRunner {
 public:
  BackendStages(CudaBackend& backend, const RunOptions& options)
      : backend_(backend), options_(options), most_(backend.memory_limit(options)) {}
  ~BackendStages() override { backend_.held_bytes_ -= held_; }

  std::string why_not(const Pipeline& stage) override { return backend_.why_not(stage); }
  bool has_kernel(const Pipeline& stage) override {
    const auto planned = backend_.stages_.get(stage);
    return planned->plan == nullptr || backend_.modules_.find(planned->plan->source) != nullptr;
  }
  void begin_kernels(const std::vector<Pipeline>& stages) override {
    std::vector<std::string> sources;
    for (const Pipeline& stage : stages) {
      const auto planned = backend_.stages_.get(stage);
      if (planned->plan != nullptr && planned->texts.empty()) sources.push_back(planned->plan->source);
    }
    backend_.modules_.begin(sources, device::kScanKernel);
  }
  StageRows over_files(const Pipeline& stage, const TileRange& tiles, RunReport& report) override {
    RunOptions options = options_;
    // The caller may have asked for some tiles only, of which these are a part.
    options.tiles.begin = std::max(tiles.begin, options_.tiles.begin);
    options.tiles.end = std::max(options.tiles.begin, std::min(tiles.end, options_.tiles.end));
    return backend_.first_stage(stage, true, options, report);
  }
  StageRows over_rows(const Pipeline& stage, const DeviceTable& input, RunReport& report) override {
    std::optional<StageRows> rows = backend_.later_stage(stage, input, true, options_, report);
    if (!rows) throw Error(ErrorCode::kUnsupported, report.why_cpu);
    return *std::move(rows);
  }
  Table fetch(const DeviceTable& table) override {
    return backend_.fetch_table(table, backend_.threads(options_.threads));
  }
  void begin(RunReport& report) override { backend_.begin_statement(options_, report); }
  void hold(uint64_t bytes) override {
    backend_.held_bytes_ += bytes - held_;
    held_ = bytes;
    backend_.cache_.make_room(0, memory_limit(), backend_.runs_);
  }
  void end(RunReport& report) override { report.device_bytes = device_memory().most(); }
  uint64_t memory_limit() const override { return backend_.memory_limit(options_); }
  uint64_t most_memory() const override { return most_; }
  void forget(const File& file) override { backend_.stages_.forget(file); }
  cudaStream_t stream() const override { return backend_.compute_; }

 private:
  CudaBackend& backend_;
  const RunOptions& options_;
  const uint64_t most_;
  uint64_t held_ = 0;
};

StageRows CudaBackend::run_graph(const Query& query, const RunOptions& options, std::vector<RunReport>& reports) {
  use_device();
  read_free_memory();
  BackendStages stages(*this, options);
  return GraphRun(stages, query, options, reports).run();
}

// A chain whose stages do not fit the memory runs as any other query, in parts.
StageRows CudaBackend::run_query(const Query& query, bool keep_last, const RunOptions& options,
                                 std::vector<RunReport>& reports) {
  if (!is_chain(query)) return run_graph(query, options, reports);
  try {
    return run_first_stages(query, keep_last, options, reports);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  reports.clear();
  return run_graph(query, options, reports);
}

Table CudaBackend::run_stages(const Query& query, const RunOptions& options, std::vector<RunReport>& reports) {
  const std::lock_guard lock(mutex_);
  forget_free_memory();
  StageRows rows = run_query(query, false, options, reports);
  return rows.device ? fetch_table(*rows.device, threads(options.threads)) : std::move(rows.host);
}

Table CudaBackend::run_stages_on_device(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                                        ArrowDeviceArray& out) {
  const std::lock_guard lock(mutex_);
  forget_free_memory();
  StageRows rows = run_query(query, true, options, reports);
  if (!rows.device) return std::move(rows.host);
  if (reports.size() < query.stages.size()) return fetch_table(*rows.device, threads(options.threads));
  export_table(*std::move(rows.device), out);
  return {};
}

}  // namespace basalt::cuda
