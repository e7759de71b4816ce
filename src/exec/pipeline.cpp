// Running pipelines: the choice of the device, and the CPU interpreter, parallel over chunks, or over parts of chunks
// where a table has few of them. Parts leave partial states that are merged in order, so that results do not depend on
// the number of threads.
#include "basalt/exec/pipeline.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "exec/aggregation.h"
#include "exec/filter.h"
#include "exec/filter_sum.h"

namespace basalt {

namespace {

using exec::AggregateState;

// A part of a chunk: whole zones of it.
struct Part {
  const File* file = nullptr;
  uint32_t chunk = 0;
  uint32_t first_tile = 0;
  uint32_t end_tile = 0;
  exec::SharedChunk* shared = nullptr;  // where the chunk has several parts
};

// What one thread keeps from chunk to chunk.
struct Worker {
  Worker(const Pipeline& pipeline, bool float_filter_sum)
      : filter(pipeline.has_filter ? &pipeline.filter : nullptr), aggregation(pipeline.aggregates, float_filter_sum) {}

  exec::ChunkTiles tiles;
  exec::Filter filter;
  exec::Aggregation aggregation;
};

// Workers are lent to whichever thread needs one.
class WorkerPool {
 public:
  explicit WorkerPool(const Pipeline& pipeline)
      : pipeline_(pipeline), float_filter_sum_(exec::is_float_filter_sum(pipeline)) {}
  std::unique_ptr<Worker> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Worker> worker = std::move(free_.back());
        free_.pop_back();
        return worker;
      }
    }
    return std::make_unique<Worker>(pipeline_, float_filter_sum_);
  }
  void give(std::unique_ptr<Worker> worker) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(worker));
  }

 private:
  const Pipeline& pipeline_;
  bool float_filter_sum_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> free_;
};

struct PartResult {
  exec::PartStates aggregates;
  TileCounts tiles;
  uint64_t bytes_read = 0;
};

PartResult run_part(const Pipeline& pipeline, const RunOptions& options, ColumnCache::Use* cache, Worker& worker,
                    const Part& part) {
  PartResult result;
  exec::ChunkTiles& tiles = worker.tiles;
  tiles.open(*part.file, pipeline.columns, part.chunk, part.shared, cache);
  tiles.set_decoded_limit(options.decoded_limit);
  const Decision whole = worker.filter.open_chunk(tiles, options.prune);
  const uint32_t count = part.end_tile - part.first_tile;
  result.tiles.total = count;
  if (whole == Decision::kAll && pipeline.has_filter) result.tiles.all_true = count;
  if (whole == Decision::kNone) result.tiles.skipped = count;
  const bool work = worker.aggregation.open_chunk(tiles, whole == Decision::kAll, options.prune, part.first_tile == 0);
  for (uint32_t tile = part.first_tile; work && whole != Decision::kNone && tile < part.end_tile; ++tile) {
    if (options.cancel != nullptr) options.cancel->check();
    tiles.begin(tile);
    if (whole != Decision::kAll) {
      const Decision zone = worker.filter.zone(tile / kTilesPerZone);
      if (zone == Decision::kNone) {
        ++result.tiles.skipped;
        continue;
      }
      if (zone == Decision::kAll) {
        ++result.tiles.all_true;
      } else {
        const bool some = worker.filter.run(tiles);
        tiles.count(result.tiles);
        if (!some) continue;
      }
    }
    worker.aggregation.add(tiles);
  }
  tiles.check_not_corrupt();
  result.bytes_read = tiles.bytes_read();
  result.aggregates = worker.aggregation.take();
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

// All chunks, each in as many parts as keep the threads busy; parts of a chunk follow each other.
class Parts {
 public:
  Parts(const Pipeline& pipeline, uint64_t threads) {
    uint64_t chunks = 0;
    for (const auto& file : pipeline.files) chunks += file->chunks().size();
    const bool few = threads > 1 && chunks < 2 * threads;
    const uint64_t wanted = few && chunks > 0 ? (kPartsPerThread * threads + chunks - 1) / chunks : 1;
    for (const auto& file : pipeline.files) {
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
        add(*file, chunk, wanted);
      }
    }
    // First parts first: threads then read different chunks instead of waiting for each other.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return parts_[a].first_tile < parts_[b].first_tile; });
  }
  const std::vector<Part>& list() const { return parts_; }
  // The i-th part to be started.
  size_t in_order(size_t i) const { return order_[i]; }

 private:
  // Fewer parts than this leave threads idle at the end; smaller parts than that cost more than they gain.
  static constexpr uint64_t kPartsPerThread = 4;
  static constexpr uint32_t kLeastZones = 8;

  void add(const File& file, uint32_t chunk, uint64_t wanted) {
    const uint32_t tiles = tile_count(file.chunks()[chunk].rows);
    const uint32_t zones = (tiles + kTilesPerZone - 1) / kTilesPerZone;
    const uint32_t count =
        std::max<uint32_t>(1, std::min<uint32_t>(static_cast<uint32_t>(wanted), zones / kLeastZones));
    if (count > 1) shared_.push_back(std::make_unique<exec::SharedChunk>(count));
    for (uint32_t i = 0; i < count; ++i) {
      order_.push_back(parts_.size());
      const uint32_t first = zones * i / count * kTilesPerZone;
      const uint32_t end = std::min(tiles, zones * (i + 1) / count * kTilesPerZone);
      parts_.push_back({&file, chunk, first, end, count > 1 ? shared_.back().get() : nullptr});
    }
  }

  std::vector<Part> parts_;
  std::vector<size_t> order_;
  std::vector<std::unique_ptr<exec::SharedChunk>> shared_;
};

// Merges parts into chunks and chunks into the total, in order: see aggregate.h for why this order.
std::vector<AggregateState> merge_parts(const Pipeline& pipeline, const std::vector<Part>& parts,
                                        const std::vector<PartResult>& results) {
  std::vector<AggregateState> total(pipeline.aggregates.size());
  for (size_t a = 0; a < total.size(); ++a) {
    AggregateState chunk;
    for (size_t i = 0; i < parts.size(); ++i) {
      exec::merge(pipeline.aggregates[a], chunk, results[i].aggregates.states[a]);
      for (const double sum : results[i].aggregates.tile_sums[a]) chunk.real_sum += sum;
      if (i + 1 < parts.size() && parts[i + 1].file == parts[i].file && parts[i + 1].chunk == parts[i].chunk) continue;
      exec::merge(pipeline.aggregates[a], total[a], chunk);
      chunk = {};
    }
  }
  return total;
}

std::vector<Value> run_on_cpu(const Pipeline& pipeline, const RunOptions& options, RunReport& report) {
  report.ran_on = Device::kCpu;
  report.device_name = "CPU";
  for (const auto& file : pipeline.files) {
    for (const ChunkInfo& chunk : file->chunks()) report.rows += chunk.rows;
  }
  const uint64_t wanted = options.pool != nullptr ? options.pool->size()
                          : options.threads == 0  ? hardware_threads()
                                                  : options.threads;
  const Parts split(pipeline, wanted);
  const std::vector<Part>& parts = split.list();
  std::vector<PartResult> results(parts.size());
  WorkerPool workers(pipeline);
  std::optional<ColumnCache::Use> cache;
  if (options.cache != nullptr) cache.emplace(*options.cache, pipeline.files);
  uint64_t done = 0;
  std::mutex progress_mutex;
  const auto run_one = [&](uint64_t turn) {
    const size_t i = split.in_order(turn);
    if (options.cancel != nullptr) options.cancel->check();
    std::unique_ptr<Worker> worker = workers.take();
    results[i] = run_part(pipeline, options, cache ? &*cache : nullptr, *worker, parts[i]);
    workers.give(std::move(worker));
    if (parts[i].shared != nullptr) parts[i].shared->finish_part();
    if (!options.progress) return;
    std::lock_guard lock(progress_mutex);
    options.progress(static_cast<double>(++done) / static_cast<double>(parts.size()));
  };
  const uint64_t threads = std::min<uint64_t>(wanted, parts.size());
  if (threads <= 1) {
    for (uint64_t i = 0; i < parts.size(); ++i) run_one(i);
  } else if (options.pool != nullptr) {
    options.pool->parallel_for(parts.size(), run_one);
  } else {
    ThreadPool pool(static_cast<uint32_t>(threads));
    pool.parallel_for(parts.size(), run_one);
  }
  for (const PartResult& result : results) {
    report.tiles += result.tiles;
    report.encoded_bytes_read += result.bytes_read;
  }
  const std::vector<AggregateState> total = merge_parts(pipeline, parts, results);
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

TileCounts& TileCounts::operator+=(const TileCounts& other) {
  total += other.total;
  skipped += other.skipped;
  all_true += other.all_true;
  by_bounds += other.by_bounds;
  by_model += other.by_model;
  decoded += other.decoded;
  texts_in_place += other.texts_in_place;
  texts_decoded += other.texts_decoded;
  return *this;
}

void TileCounts::count(Answered hardest) {
  ++(hardest == Answered::kByBounds ? by_bounds : hardest == Answered::kByModel ? by_model : decoded);
}

std::vector<Value> run_pipeline(const Pipeline& pipeline, const RunOptions& options, RunReport* report) {
  const auto start = std::chrono::steady_clock::now();
  check_pipeline(pipeline);
  RunReport own;
  RunReport& filled = report != nullptr ? *report : own;
  filled = {};
  GpuBackend* backend = choose_gpu(pipeline, options.device);
  std::vector<Value> values;
  std::string why_cpu;
  if (backend != nullptr) {
    try {
      values = backend->run(pipeline, options, filled);
    } catch (const Error& error) {
      if (options.device != Device::kAuto || error.code() != ErrorCode::kOutOfMemory) throw;
      why_cpu = error.what();
      backend = nullptr;
    }
  }
  if (backend == nullptr) {
    filled = {};
    values = run_on_cpu(pipeline, options, filled);
    filled.why_cpu = why_cpu;
  }
  filled.total_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return values;
}

TileCounts decide_tiles(const Pipeline& pipeline) {
  TileCounts counts;
  for (const std::shared_ptr<const File>& file : pipeline.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
      const uint32_t tiles = tile_count(file->chunks()[chunk].rows);
      for (uint32_t first = 0; first < tiles; first += kTilesPerZone) {
        const uint32_t zone = first / kTilesPerZone;
        std::vector<const Statistics*> stats;
        for (const PipelineColumn& column : pipeline.columns) {
          const ColumnChunkInfo& info = file->column(column.field_id).chunks[chunk];
          stats.push_back(zone < info.zones.size() ? &info.zones[zone] : &info.stats);
        }
        const Decision decision = pipeline.has_filter ? decide(pipeline.filter, stats) : Decision::kAll;
        const uint32_t count = std::min(kTilesPerZone, tiles - first);
        counts.total += count;
        counts.skipped += decision == Decision::kNone ? count : 0;
        counts.all_true += decision == Decision::kAll ? count : 0;
      }
    }
  }
  return counts;
}

}  // namespace basalt
