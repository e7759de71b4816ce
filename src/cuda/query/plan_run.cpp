// Planning a statement's run: what names it, which tiles statistics leave, and which chunks are loaded together.
#include <algorithm>

#include "cuda/query/statement_run.h"
#include "exec/device/generate/group_settings.h"
#include "exec/pipeline_key.h"

namespace basalt::cuda {

namespace {

// Enough chunks of 8 MiB for sixteen threads to have two each while the batch before is finished.
constexpr uint64_t kBatchBytes = 256ull << 20;

}  // namespace

// What tables of the statement's tests take at most for one chunk.
uint64_t StatementRun::table_bytes(const std::vector<const ColumnChunkInfo*>& columns) const {
  uint64_t bytes = 0;
  for (const device::TextPlan& text : plan_->texts) {
    const NodeView root = device::shape_of(*columns[text.column]);
    const NodeView& values = *device::readers_of(root).value_node;
    bytes += aligned_table(values.codec->filter_table_bytes(values, text.automaton->states()));
  }
  return bytes;
}

// Everything that decides the result and the launch: the statement, the files' contents, pruning.
std::string StatementRun::statement_key() const {
  std::string key;
  key += options_.prune ? 'p' : '-';
  for (const auto& file : pipeline_.files) {
    for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
      if (is_array(i)) continue;
      const PipelineColumn& column = pipeline_.columns[i];
      const std::vector<ChunkKey>& keys = backend_.chunk_keys(file, column.field_id);
      key.append(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(ChunkKey));
    }
    const uint64_t rows = file->rows();
    key.append(reinterpret_cast<const char*>(&rows), sizeof(rows));
  }
  return key + device::settings_key(device::group_settings()) + exec::pipeline_key(pipeline_);
}

void StatementRun::plan_chunk(const std::shared_ptr<const File>& file_pointer, uint32_t chunk) {
  const File& file = *file_pointer;
  const uint64_t rows = file.chunks()[chunk].rows;
  const uint32_t tiles = tile_count(rows);
  const uint64_t first_row = next_row_;
  next_row_ += static_cast<uint64_t>(tiles) * kTileRows;
  report_.rows += rows;
  report_.tiles.total += tiles;
  const bool ruled_out = asked_tiles_ && !asked_chunks_.contains({&file, chunk});
  if (rows == 0 || ruled_out) return;
  std::vector<const ColumnChunkInfo*> infos;
  std::vector<const Statistics*> stats;
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    if (is_array(i)) {
      infos.push_back(nullptr);
      stats.push_back(nullptr);
      continue;
    }
    const PipelineColumn& column = pipeline_.columns[i];
    const ColumnInfo& info = file.column(column.field_id);
    if (chunk >= info.chunks.size() || info.chunks[chunk].rows != rows) {
      throw Error(ErrorCode::kCorrupt, file.name() + ": column " + column.name + " has other rows than its table");
    }
    infos.push_back(&info.chunks[chunk]);
    stats.push_back(&info.chunks[chunk].stats);
  }
  WorkChunk work;
  work.file = &file;
  work.chunk = chunk;
  work.rows = rows;
  work.first_row = first_row;
  const bool prune = options_.prune && pipeline_.has_filter;
  const Decision whole = prune ? decide(pipeline_.filter, stats) : Decision::kUnknown;
  for (uint32_t tile = 0; tile < tiles;) {
    const uint32_t zone = tile / kTilesPerZone;
    const uint32_t zone_end = std::min(tiles, (zone + 1) * kTilesPerZone);
    Decision decision = whole;
    if (prune && whole == Decision::kUnknown) {
      for (size_t i = 0; i < infos.size(); ++i) {
        const bool known = infos[i] != nullptr && zone < infos[i]->zones.size();
        stats[i] = known ? &infos[i]->zones[zone] : nullptr;
      }
      decision = decide(pipeline_.filter, stats);
    }
    uint64_t& count = decision == Decision::kNone  ? report_.tiles.skipped
                      : decision == Decision::kAll ? report_.tiles.all_true
                                                   : report_.tiles.decoded;
    if (pipeline_.has_filter) count += zone_end - tile;
    for (; tile < zone_end; ++tile) {
      if (decision != Decision::kNone) work.items.push_back(device::make_work(0, tile, decision == Decision::kAll));
    }
  }
  if (work.items.empty()) return;
  for (size_t i = 0; i < infos.size(); ++i) {
    work.keys.emplace_back();
    if (infos[i] == nullptr) continue;
    report_.encoded_bytes_read += infos[i]->encoded_bytes;
    work.keys.back() = backend_.chunk_keys(file_pointer, pipeline_.columns[i].field_id)[chunk];
  }
  work.table_bytes = table_bytes(infos);
  chunks_.push_back(std::move(work));
}

// In pieces as long as the longest chunks.
void StatementRun::plan_rows_on_device() {
  report_.rows += device_.rows;
  for (uint64_t first = 0; first < device_.rows; first += kMaxChunkRows) {
    WorkChunk work;
    work.rows = std::min<uint64_t>(device_.rows - first, kMaxChunkRows);
    work.first_row = first;
    const uint32_t tiles = tile_count(work.rows);
    report_.tiles.total += tiles;
    if (pipeline_.has_filter) report_.tiles.decoded += tiles;
    for (uint32_t tile = 0; tile < tiles; ++tile) work.items.push_back(device::make_work(0, tile, false));
    work.keys.resize(pipeline_.columns.size());
    chunks_.push_back(std::move(work));
  }
}

void StatementRun::plan_chunks() {
  next_row_ = 0;
  if (pipeline_.files.empty()) return plan_rows_on_device();
  for (const auto& file : pipeline_.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) plan_chunk(file, chunk);
  }
}

// Chunks in order; a batch ends where what must be loaded and made for it reaches the batch size, or all that it needs
// a third of the memory: what is on the device now may have left when its turn comes.
void StatementRun::plan_batches() {
  const uint64_t most = limit_ / 3;
  Batch batch;
  uint64_t loaded = 0;
  uint64_t held = 0;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    uint64_t missing = chunks_[i].table_bytes;
    uint64_t needed = chunks_[i].table_bytes;
    for (size_t column = 0; column < pipeline_.columns.size(); ++column) {
      if (is_array(column)) continue;
      const uint64_t bytes =
          load_bytes(chunks_[i].file->column(pipeline_.columns[column].field_id).chunks[chunks_[i].chunk]);
      needed += bytes;
      if (backend_.cache_.find(chunks_[i].keys[column], run_) == nullptr) missing += bytes;
    }
    const bool too_much = held + needed > most || (missing > 0 && loaded + missing > kBatchBytes);
    // Rows without an order may be enough early.
    const bool may_end = pipeline_.sink == Sink::kRows && pipeline_.order.empty() && pipeline_.limit != kAllRows;
    const uint64_t most_chunks = may_end ? uint64_t{1} << std::min<size_t>(batches_.size(), 20) : device::kMaxSlots;
    const bool full = batch.end > batch.first && (too_much || batch.end - batch.first >= most_chunks);
    if (full || batch.end - batch.first >= device::kMaxSlots) {
      batches_.push_back(std::move(batch));
      batch = Batch();
      batch.first = i;
      loaded = held = 0;
    }
    batch.end = i + 1;
    loaded += missing;
    held += needed;
  }
  if (batch.end > batch.first) batches_.push_back(std::move(batch));
}

}  // namespace basalt::cuda
