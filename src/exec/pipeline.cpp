// Running pipelines: the choice of the device, and the CPU interpreter, parallel over chunks. Chunks leave partial
// states that are merged in chunk order, so that results do not depend on the number of threads.
#include "basalt/exec/pipeline.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "exec/aggregation.h"
#include "exec/filter.h"

namespace basalt {

namespace {

using exec::AggregateState;

struct ChunkRef {
  const File* file = nullptr;
  uint32_t chunk = 0;
};

// What one thread keeps from chunk to chunk.
struct Worker {
  explicit Worker(const Pipeline& pipeline)
      : filter(pipeline.has_filter ? &pipeline.filter : nullptr), aggregation(pipeline.aggregates) {}

  exec::ChunkTiles tiles;
  exec::Filter filter;
  exec::Aggregation aggregation;
};

// Workers are lent to whichever thread needs one.
class WorkerPool {
 public:
  explicit WorkerPool(const Pipeline& pipeline) : pipeline_(pipeline) {}
  std::unique_ptr<Worker> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Worker> worker = std::move(free_.back());
        free_.pop_back();
        return worker;
      }
    }
    return std::make_unique<Worker>(pipeline_);
  }
  void give(std::unique_ptr<Worker> worker) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(worker));
  }

 private:
  const Pipeline& pipeline_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> free_;
};

struct ChunkResult {
  std::vector<AggregateState> states;
  uint64_t tiles_skipped = 0;
  uint64_t tiles_all_true = 0;
  uint64_t bytes_read = 0;
};

ChunkResult run_chunk(const Pipeline& pipeline, const RunOptions& options, Worker& worker, ChunkRef ref) {
  ChunkResult result;
  exec::ChunkTiles& tiles = worker.tiles;
  tiles.open(*ref.file, pipeline.columns, ref.chunk);
  const Decision whole = worker.filter.open_chunk(tiles, options.prune);
  const uint32_t count = tiles.tiles();
  const bool filtered = pipeline.has_filter;
  if (whole == Decision::kAll && filtered) result.tiles_all_true = count;
  if (whole == Decision::kNone) result.tiles_skipped = count;
  if (worker.aggregation.open_chunk(tiles, whole == Decision::kAll, options.prune) && whole != Decision::kNone) {
    for (uint32_t tile = 0; tile < count; ++tile) {
      if (options.cancel != nullptr && tile % exec::kTilesPerCheck == 0) options.cancel->check();
      tiles.begin(tile);
      if (whole != Decision::kAll) {
        const Decision zone = worker.filter.zone(tile / kTilesPerZone);
        if (zone == Decision::kNone) {
          ++result.tiles_skipped;
          continue;
        }
        if (zone == Decision::kAll) {
          ++result.tiles_all_true;
        } else if (!worker.filter.run(tiles)) {
          continue;
        }
      }
      worker.aggregation.add(tiles);
    }
  }
  tiles.check_not_corrupt();
  result.bytes_read = tiles.bytes_read();
  result.states = worker.aggregation.take();
  return result;
}

void check_pipeline(const Pipeline& pipeline) {
  for (const auto& file : pipeline.files) {
    for (const PipelineColumn& column : pipeline.columns) {
      if (column.field_id >= file->fields().size() || file->fields()[column.field_id]->type != column.type) {
        throw Error(ErrorCode::kInvalidArgument,
                    file->name() + ": has no column " + column.name + " of type " + to_string(column.type));
      }
    }
  }
  if (pipeline.has_filter) {
    exec::check_expression(pipeline.filter, pipeline.columns);
    if (pipeline.filter.type != Physical::kU8) throw Error(ErrorCode::kInvalidArgument, "the filter is not boolean");
  }
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.op == AggregateOp::kCountStar) continue;
    exec::check_expression(aggregate.arg, pipeline.columns);
    const bool number = is_integer(aggregate.arg.type) || is_float(aggregate.arg.type);
    if ((aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg) && !number) {
      throw Error(ErrorCode::kInvalidArgument, "sum and avg need numbers");
    }
    if (aggregate.avg_scale < 0 || aggregate.avg_scale > 38) {
      throw Error(ErrorCode::kInvalidArgument, "the scale of an average is not in 0..38");
    }
  }
}

std::vector<Value> run_on_cpu(const Pipeline& pipeline, const RunOptions& options, RunReport& report) {
  report.ran_on = Device::kCpu;
  report.device_name = "CPU";
  std::vector<ChunkRef> chunks;
  for (const auto& file : pipeline.files) {
    for (uint32_t i = 0; i < file->chunks().size(); ++i) {
      chunks.push_back({file.get(), i});
      report.rows += file->chunks()[i].rows;
      report.tiles += tile_count(file->chunks()[i].rows);
    }
  }
  std::vector<ChunkResult> results(chunks.size());
  WorkerPool workers(pipeline);
  std::atomic<uint64_t> done{0};
  std::mutex progress_mutex;
  const auto run_one = [&](uint64_t i) {
    if (options.cancel != nullptr) options.cancel->check();
    std::unique_ptr<Worker> worker = workers.take();
    results[i] = run_chunk(pipeline, options, *worker, chunks[i]);
    workers.give(std::move(worker));
    if (!options.progress) return;
    std::lock_guard lock(progress_mutex);
    options.progress(static_cast<double>(++done) / static_cast<double>(chunks.size()));
  };
  const uint64_t wanted = options.threads == 0 ? hardware_threads() : options.threads;
  const uint64_t threads = std::min<uint64_t>(wanted, chunks.size());
  if (threads <= 1) {
    for (uint64_t i = 0; i < chunks.size(); ++i) run_one(i);
  } else {
    ThreadPool pool(static_cast<uint32_t>(threads - 1));  // the calling thread works too
    pool.parallel_for(chunks.size(), run_one);
  }
  std::vector<AggregateState> total(pipeline.aggregates.size());
  for (const ChunkResult& result : results) {
    for (size_t i = 0; i < total.size(); ++i) exec::merge(pipeline.aggregates[i], total[i], result.states[i]);
    report.tiles_skipped += result.tiles_skipped;
    report.tiles_all_true += result.tiles_all_true;
    report.encoded_bytes_read += result.bytes_read;
  }
  std::vector<Value> values;
  for (size_t i = 0; i < total.size(); ++i) values.push_back(exec::finish(pipeline.aggregates[i], total[i]));
  return values;
}

// The GPU that shall run the pipeline, or nullptr for the CPU.
GpuBackend* choose_gpu(const Pipeline& pipeline, Device device) {
  if (device == Device::kCpu) return nullptr;
  const GpuAvailability& available = gpu();
  if (available.backend == nullptr) {
    if (device == Device::kAuto) return nullptr;
    throw Error(ErrorCode::kDevice, "CUDA is unavailable: " + available.reason);
  }
  const std::string reason = available.backend->why_not(pipeline);
  if (reason.empty()) return available.backend;
  if (device == Device::kAuto) return nullptr;
  throw Error(ErrorCode::kUnsupported, "this pipeline cannot run on the GPU: " + reason);
}

}  // namespace

std::vector<Value> run_pipeline(const Pipeline& pipeline, const RunOptions& options, RunReport* report) {
  const auto start = std::chrono::steady_clock::now();
  check_pipeline(pipeline);
  RunReport own;
  RunReport& filled = report != nullptr ? *report : own;
  filled = {};
  GpuBackend* backend = choose_gpu(pipeline, options.device);
  std::vector<Value> values =
      backend != nullptr ? backend->run(pipeline, options, filled) : run_on_cpu(pipeline, options, filled);
  filled.total_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return values;
}

}  // namespace basalt
