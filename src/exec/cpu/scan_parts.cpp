#include "exec/cpu/scan_parts.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "exec/filter.h"
#include "exec/planned_reads.h"
#include "file/planned_reads.h"

namespace basalt::exec {

namespace {

// Fewer parts than this leave threads idle at the end; smaller parts than that cost more than they gain.
constexpr uint64_t kPartsPerThread = 4;
constexpr uint32_t kLeastZones = 8;

// What one thread keeps from part to part.
struct Worker {
  Worker(const Pipeline& pipeline, std::unique_ptr<TileSink> to)
      : filter(pipeline.has_filter ? &pipeline.filter : nullptr), sink(std::move(to)) {}

  ChunkTiles tiles;
  Filter filter;
  std::unique_ptr<TileSink> sink;
};

// Workers are lent to whichever thread needs one.
class WorkerPool {
 public:
  WorkerPool(const Pipeline& pipeline, const std::function<std::unique_ptr<TileSink>()>& make)
      : pipeline_(pipeline), make_(make) {}
  Worker* take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<Worker>(pipeline_, make_()));
      return all_.back().get();
    }
    Worker* worker = free_.back();
    free_.pop_back();
    return worker;
  }
  void give(Worker* worker) {
    std::lock_guard lock(mutex_);
    free_.push_back(worker);
  }
  std::vector<std::unique_ptr<TileSink>> sinks() {
    std::vector<std::unique_ptr<TileSink>> out;
    for (const auto& worker : all_) out.push_back(std::move(worker->sink));
    return out;
  }

 private:
  const Pipeline& pipeline_;
  const std::function<std::unique_ptr<TileSink>()>& make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> all_;
  std::vector<Worker*> free_;
};

struct PartCounts {
  TileCounts tiles;
  uint64_t bytes_read = 0;
};

PartCounts run_part(const Pipeline& pipeline, const RunOptions& options, ColumnCache::Use* cache, Worker& worker,
                    const Part& part, size_t index) {
  PartCounts result;
  ChunkTiles& tiles = worker.tiles;
  tiles.open(*part.file, pipeline.columns, part.chunk, part.shared, cache);
  tiles.set_decoded_limit(options.decoded_limit);
  const Decision whole = worker.filter.open_chunk(tiles, options.prune);
  const uint32_t count = part.end_tile - part.first_tile;
  result.tiles.total = count;
  if (whole == Decision::kAll && pipeline.has_filter) result.tiles.all_true = count;
  if (whole == Decision::kNone) result.tiles.skipped = count;
  const bool work = worker.sink->open(
      {index, tiles.chunk_statistics(), &tiles, part.first_tile == 0, whole == Decision::kAll, options.prune});
  for (uint32_t tile = part.first_tile; work && whole != Decision::kNone && tile < part.end_tile; ++tile) {
    if (worker.sink->full()) {
      const uint32_t left = part.end_tile - tile;
      result.tiles.skipped += left;
      if (whole == Decision::kAll && pipeline.has_filter) result.tiles.all_true -= left;
      break;
    }
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
    worker.sink->add(tiles, part.first_row + uint64_t{tile} * kTileRows);
  }
  tiles.check_not_corrupt();
  worker.sink->close();
  result.bytes_read = tiles.bytes_read();
  return result;
}

}  // namespace

PartScan::PartScan(const Pipeline& pipeline, const RunOptions& options) : pipeline_(pipeline), options_(options) {
  threads_ = options.pool != nullptr ? options.pool->size()
             : options.threads == 0  ? hardware_threads()
                                     : options.threads;
  uint64_t chunks = 0;
  for (const auto& file : pipeline.files) chunks += file->chunks().size();
  const bool few = threads_ > 1 && chunks < 2 * threads_;
  const uint64_t wanted = few && chunks > 0 ? (kPartsPerThread * threads_ + chunks - 1) / chunks : 1;
  uint64_t first_row = 0;
  uint64_t first_tile = 0;
  for (const auto& file : pipeline.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
      const uint64_t rows = file->chunks()[chunk].rows;
      const TileRange tiles = options.tiles.within(first_tile, tile_count(rows));
      if (!tiles.empty() || rows == 0) {
        add(*file, chunk, tiles, first_row, wanted);
        rows_ += std::min(rows, tiles.end * kTileRows) - std::min(rows, tiles.begin * kTileRows);
      }
      first_row += rows;
      first_tile += tile_count(rows);
    }
  }
  // First parts first: threads then read different chunks instead of waiting for each other.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return parts_[a].first_tile < parts_[b].first_tile; });
}

void PartScan::add(const File& file, uint32_t chunk, const TileRange& read, uint64_t first_row, uint64_t wanted) {
  const uint32_t tiles = tile_count(file.chunks()[chunk].rows);
  const uint32_t zones = (tiles + kTilesPerZone - 1) / kTilesPerZone;
  const uint32_t count = std::max<uint32_t>(1, std::min<uint32_t>(static_cast<uint32_t>(wanted), zones / kLeastZones));
  if (count > 1) shared_.push_back(std::make_unique<SharedChunk>(count));
  for (uint32_t i = 0; i < count; ++i) {
    order_.push_back(parts_.size());
    const auto first = std::clamp(zones * i / count * kTilesPerZone, static_cast<uint32_t>(read.begin),
                                  static_cast<uint32_t>(read.end));
    const auto end =
        std::clamp(std::min(tiles, zones * (i + 1) / count * kTilesPerZone), first, static_cast<uint32_t>(read.end));
    parts_.push_back({&file, chunk, first, end, first_row, count > 1 ? shared_.back().get() : nullptr});
  }
}

// What the parts of a file read, if it is far away.
std::shared_ptr<const RemoteSource::Plan> PartScan::plan_file(const File& file) const {
  if (!is_remote(file)) return nullptr;
  uint64_t first_row = ~uint64_t{0};
  uint64_t end_row = 0;
  for (const Part& part : parts_) {
    if (part.file != &file) continue;
    const ChunkInfo& rows = file.chunks()[part.chunk];
    first_row = std::min(first_row, rows.first_row);
    end_row = std::max(end_row, rows.first_row + rows.rows);
  }
  const Expr* filter = pipeline_.has_filter && options_.prune ? &pipeline_.filter : nullptr;
  return plan_reads(file, {}, filter, pipeline_.columns, first_row, end_row);
}

std::vector<std::unique_ptr<TileSink>> PartScan::run(const std::function<std::unique_ptr<TileSink>()>& make,
                                                     RunReport& report) {
  std::vector<PartCounts> results(parts_.size());
  WorkerPool workers(pipeline_, make);
  std::optional<ColumnCache::Use> cache;
  if (options_.cache != nullptr) cache.emplace(*options_.cache, pipeline_.files);
  std::map<const File*, PlannedFile> planned;
  for (const Part& part : parts_) planned.try_emplace(part.file);
  uint64_t done = 0;
  std::mutex progress_mutex;
  const auto run_one = [&](uint64_t turn) {
    const size_t i = order_[turn];
    if (options_.cancel != nullptr) options_.cancel->check();
    PlannedFile& file = planned.at(parts_[i].file);
    std::call_once(file.once, [&] { file.plan = plan_file(*parts_[i].file); });
    Worker* worker = workers.take();
    results[i] = run_part(pipeline_, options_, cache ? &*cache : nullptr, *worker, parts_[i], i);
    workers.give(worker);
    if (parts_[i].shared != nullptr) parts_[i].shared->finish_part();
    if (!options_.progress) return;
    std::lock_guard lock(progress_mutex);
    options_.progress(static_cast<double>(++done) / static_cast<double>(parts_.size()));
  };
  const uint64_t threads = std::min<uint64_t>(threads_, parts_.size());
  if (threads <= 1) {
    for (uint64_t i = 0; i < parts_.size(); ++i) run_one(i);
  } else if (options_.pool != nullptr) {
    options_.pool->parallel_for(parts_.size(), run_one);
  } else {
    ThreadPool pool(static_cast<uint32_t>(threads));
    pool.parallel_for(parts_.size(), run_one);
  }
  for (const PartCounts& result : results) {
    report.tiles += result.tiles;
    report.encoded_bytes_read += result.bytes_read;
  }
  report.rows += rows_;
  return workers.sinks();
}

}  // namespace basalt::exec
