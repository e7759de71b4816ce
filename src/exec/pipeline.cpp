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
#include "exec/cpu/scan_parts.h"
#include "exec/filter.h"
#include "exec/filter_sum.h"

namespace basalt {

namespace {

using exec::AggregateState;
using exec::Part;

// Totals of parts: each leaves its states at the place of the part, so that merging them does not depend on threads.
class TotalsSink : public exec::TileSink {
 public:
  TotalsSink(const Pipeline& pipeline, bool float_filter_sum, std::vector<exec::PartStates>& results)
      : aggregation_(pipeline.aggregates, float_filter_sum), results_(results) {}

  bool open(const exec::PartBegin& part) override {
    part_ = part.part;
    chunk_ = part.chunk;
    return aggregation_.open_chunk(*chunk_, part.all_pass, part.prune, part.first_of_chunk);
  }
  void add(exec::TileInput&, uint64_t) override { aggregation_.add(*chunk_); }
  void close() override { results_[part_] = aggregation_.take(); }

 private:
  exec::Aggregation aggregation_;
  std::vector<exec::PartStates>& results_;
  exec::ChunkTiles* chunk_ = nullptr;
  size_t part_ = 0;
};

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
  if (pipeline.sink != Sink::kTotals) throw Error(ErrorCode::kInvalidArgument, "groups and rows are queries");
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (!is_simple(aggregate)) throw Error(ErrorCode::kInvalidArgument, "an aggregate that only queries have");
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

// Merges parts into chunks and chunks into the total, in order: see aggregate.h for why this order.
std::vector<AggregateState> merge_parts(const Pipeline& pipeline, const std::vector<Part>& parts,
                                        const std::vector<exec::PartStates>& results) {
  std::vector<AggregateState> total(pipeline.aggregates.size());
  for (size_t a = 0; a < total.size(); ++a) {
    AggregateState chunk;
    for (size_t i = 0; i < parts.size(); ++i) {
      exec::merge(pipeline.aggregates[a], chunk, results[i].states[a]);
      for (const double sum : results[i].tile_sums[a]) chunk.real_sum += sum;
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
  exec::PartScan scan(pipeline, options);
  std::vector<exec::PartStates> results(scan.parts().size());
  const bool float_filter_sum = exec::is_float_filter_sum(pipeline);
  scan.run([&] { return std::make_unique<TotalsSink>(pipeline, float_filter_sum, results); }, report);
  const std::vector<AggregateState> total = merge_parts(pipeline, scan.parts(), results);
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

bool is_simple(const Aggregate& aggregate) {
  return aggregate.op <= AggregateOp::kAvg && !aggregate.distinct && !aggregate.filter;
}

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
      // What only the values show that the device cannot do, too.
      const bool other_device = error.code() == ErrorCode::kOutOfMemory || error.code() == ErrorCode::kUnsupported;
      if (options.device != Device::kAuto || !other_device) throw;
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
