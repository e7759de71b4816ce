// A GPU that is none: stages without joins are planned for kernels, so that it refuses what a GPU does, and then run in
// the engine for CPUs; joins run as the code for devices has them, loops over rows in place of kernels. Tests open it
// by BASALT_CUDA_LIBRARY where there is no GPU.
#include <algorithm>
#include <mutex>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "cuda/query/joins/graph_run.h"
#include "exec/cpu/run_stage.h"
#include "exec/device/generate/stage_cache.h"

namespace basalt::cuda {

namespace {

RunOptions on_cpu(const RunOptions& options) {
  RunOptions out = options;
  out.device = Device::kCpu;
  return out;
}

Column download_column(const DeviceColumn& from, uint64_t rows) {
  Column out = make_column(from.field);
  out.length = rows;
  if (from.validity.data() != nullptr) {
    out.validity.resize((rows + 7) / 8);
    std::fill_n(out.validity.as<uint8_t>(), out.validity.size(), uint8_t{0});
    for (uint64_t i = 0; i < rows; ++i) {
      if (from.validity.as<uint8_t>()[i] != 0) {
        out.validity.as<uint8_t>()[i / 8] |= static_cast<uint8_t>(1u << i % 8);
      } else {
        ++out.null_count;
      }
    }
    if (out.null_count == 0) out.validity = {};
  }
  const Physical type = physical_of(from.field.type);
  if (type != Physical::kBytes) {
    out.values = download(from.values, rows * width_of(type), nullptr);
    return out;
  }
  const TextList list = list_of(from, nullptr);
  for (uint64_t i = 0; i < rows; ++i) {
    if (out.is_valid(i)) {
      const uint32_t place = from.values.as<uint32_t>()[i];
      if (place >= list.count) throw Error(ErrorCode::kInternal, "a place that no string has");
      out.bytes.append(list.at.bytes(place), static_cast<size_t>(list.at.offsets[place + 1] - list.at.offsets[place]));
    }
    out.offsets.push(static_cast<int64_t>(out.bytes.size()));
  }
  return out;
}

class EmulatedStages : public StageRunner {
 public:
  EmulatedStages(device::StageCache& plans, const RunOptions& options) : plans_(plans), options_(on_cpu(options)) {}

  std::string why_not(const Pipeline& stage) override { return plans_.why_not(stage); }
  bool has_kernel(const Pipeline&) override { return false; }
  void begin_kernels(const std::vector<Pipeline>&) override {}
  StageRows over_files(const Pipeline& stage, const TileRange& tiles, RunReport& report) override {
    RunOptions options = options_;
    options.tiles = tiles;
    return run(stage, {}, options, report);
  }
  StageRows over_rows(const Pipeline& stage, const DeviceTable& input, RunReport& report) override {
    const auto planned = plans_.get(stage, shapes_of(input), planned_rows(input.rows));
    if (!planned->reason.empty() && !planned->too_large) throw Error(ErrorCode::kUnsupported, planned->reason);
    const Table rows = fetch(input);
    return run(stage, {{&rows}, {}}, options_, report);
  }
  Table fetch(const DeviceTable& table) override {
    Table out;
    out.rows = table.rows;
    for (const DeviceColumn& column : table.columns) {
      out.schema.fields.push_back(column.field);
      out.columns.push_back(download_column(column, table.rows));
    }
    return out;
  }
  void begin(RunReport& report) override {
    report = {};
    report.memory_gbs = 100;
  }
  void end(RunReport&) override {}
  void hold(uint64_t) override {}
  uint64_t memory_limit() const override { return most_memory(); }
  uint64_t most_memory() const override { return options_.gpu_memory == 0 ? uint64_t{8} << 30 : options_.gpu_memory; }
  void forget(const File& file) override { plans_.forget(file); }
  cudaStream_t stream() const override { return nullptr; }

 private:
  // Few groups are the host's, as those of a device are.
  StageRows run(const Pipeline& stage, const exec::StageInput& input, const RunOptions& options, RunReport& report) {
    Table rows = exec::run_stage(stage, input, options, report);
    report.ran_on = Device::kCuda;
    if (stage.sink == Sink::kGroups && rows.rows <= device::kFewRows) return {std::move(rows), {}};
    return {{}, upload_table(rows, nullptr)};
  }

  device::StageCache& plans_;
  RunOptions options_;
};

class EmulatedBackend : public GpuBackend {
 public:
  std::vector<GpuInfo> devices() override {
    GpuInfo info;
    info.name = "an emulated GPU";
    return {info};
  }
  GpuBandwidth measure_bandwidth() override { return {}; }
  std::string why_not(const Pipeline& pipeline) override { return plans_.why_not(pipeline); }
  std::vector<Value> run(const Pipeline& pipeline, const RunOptions& options, RunReport& report) override {
    std::vector<Value> values = run_pipeline(pipeline, on_cpu(options), &report);
    report.ran_on = Device::kCuda;
    return values;
  }
  Table run_stages(const Query& query, const RunOptions& options, std::vector<RunReport>& reports) override {
    const std::lock_guard lock(mutex_);
    EmulatedStages stages(plans_, options);
    StageRows rows = GraphRun(stages, query, options, reports).run();
    return rows.device ? stages.fetch(*rows.device) : std::move(rows.host);
  }
  Table run_stages_on_device(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                             ArrowDeviceArray&) override {
    return run_stages(query, options, reports);
  }
  std::string kernel_source(const Pipeline&) override { return {}; }
  Column decode(const NodeView&, const DataType&) override { refuse(); }
  std::string why_not_decode(const NodeView&) override { return kNothingElse; }
  bool has_precompiled_decoder(const NodeView&) override { return false; }
  DecodeTiming time_decode(std::span<const NodeView>, bool, int) override { refuse(); }
  TransferTiming time_transfers(std::span<const std::vector<NodeView>>, int) override { refuse(); }
  PeerTimings time_nvcomp(const Values&, int) override { refuse(); }
  TunedDecoder tune_decoder(std::span<const NodeView>, bool) override { refuse(); }
  Node encode(const Values&, const Tree&, Aims) override { refuse(); }
  std::string why_not_encode(Physical, const Tree&) override { return kNothingElse; }
  void drop_cache() override {}
  uint64_t cached_bytes() override { return 0; }

 private:
  static constexpr const char* kNothingElse = "an emulated GPU runs queries only";
  [[noreturn]] static void refuse() { throw Error(ErrorCode::kUnsupported, kNothingElse); }

  std::mutex mutex_;
  device::StageCache plans_;
};

}  // namespace

}  // namespace basalt::cuda

extern "C" __attribute__((visibility("default"))) basalt::GpuBackend* basalt_create_gpu_backend(uint32_t abi,
                                                                                                std::string* reason) {
  if (abi != basalt::kGpuBackendAbi) {
    *reason = "an emulated GPU of another version";
    return nullptr;
  }
  static basalt::cuda::EmulatedBackend backend;
  return &backend;
}
