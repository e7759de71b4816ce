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
uint64_t StatementRun::table_bytes(const FileColumns& columns, uint32_t chunk) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan_->texts.size(); ++i) {
    const NodeView& values = columns.tested[i]->texts.at(chunk);
    bytes += aligned_table(values.codec->filter_table_bytes(values, plan_->texts[i].automaton->states()));
  }
  return bytes;
}

// The contents of the files, as far as the statement reads them.
std::string StatementRun::scan_key() const {
  std::string key;
  for (const auto& file : pipeline_.files) {
    for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
      if (is_array(i)) continue;
      const PipelineColumn& column = pipeline_.columns[i];
      const std::vector<ChunkKey>& keys = backend_.chunk_keys(file, column.field_id);
      key.append(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(ChunkKey));
    }
    std::vector<uint64_t> rows = {file->chunks().size()};  // what is read of arrays goes by these, too
    for (const ChunkInfo& chunk : file->chunks()) rows.push_back(chunk.rows);
    key.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(uint64_t));
  }
  return key;
}

// Everything that decides the result and the launch: the statement, the files' contents, pruning.
std::string StatementRun::statement_key() const {
  return (options_.prune ? 'p' : '-') + scan_key_ + device::settings_key(device::group_settings()) +
         exec::pipeline_key(pipeline_);
}

StatementRun::FileColumns StatementRun::columns_of(const std::shared_ptr<const File>& file) const {
  FileColumns out;
  out.file = file.get();
  for (size_t i = 0; i < pipeline_.columns.size(); ++i) {
    const uint32_t field_id = pipeline_.columns[i].field_id;
    out.infos.push_back(is_array(i) ? nullptr : &file->column(field_id));
    out.keys.push_back(is_array(i) ? nullptr : &backend_.chunk_keys(file, field_id));
  }
  for (const device::TextPlan& text : plan_->texts) {
    out.tested.push_back(device::file_shapes(file, pipeline_.columns[text.column].field_id, false));
  }
  return out;
}

void StatementRun::plan_chunk(const FileColumns& columns, uint32_t chunk, exec::ZoneFilter& filter) {
  const File& file = *columns.file;
  WorkChunk work;
  work.file = &file;
  work.chunk = chunk;
  work.number = next_number_++;
  work.rows = file.chunks()[chunk].rows;
  work.first_row = next_row_;
  const uint32_t tiles = tile_count(work.rows);
  const TileRange read = options_.tiles.within(next_row_ / kTileRows, tiles);
  next_row_ += static_cast<uint64_t>(tiles) * kTileRows;
  if (read.empty() && tiles > 0) return;
  report_.rows += work.rows;
  report_.tiles.total += tiles;
  const bool ruled_out = asked_tiles_ && !asked_chunks_.contains({&file, chunk});
  if (work.rows == 0 || ruled_out) return;
  std::vector<const ColumnChunkInfo*> infos;
  for (size_t i = 0; i < columns.infos.size(); ++i) {
    const ColumnInfo* info = columns.infos[i];
    if (info != nullptr && (chunk >= info->chunks.size() || info->chunks[chunk].rows != work.rows)) {
      throw Error(ErrorCode::kCorrupt,
                  file.name() + ": column " + pipeline_.columns[i].name + " has other rows than its table");
    }
    infos.push_back(info == nullptr ? nullptr : &info->chunks[chunk]);
  }
  if (options_.prune && pipeline_.has_filter) {
    work.runs = exec::tile_runs(filter.decide_zones(infos, work.rows), tiles, report_.tiles);
    if (work.runs.empty()) return;
  } else {
    work.runs = {{0, tiles, false}};
    if (pipeline_.has_filter) report_.tiles.decoded += tiles;
  }
  if (read.end - read.begin < tiles) {
    exec::keep_tiles(read, work.runs);
    if (work.runs.empty()) return;
  }
  work.keys.resize(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i] == nullptr) continue;
    report_.encoded_bytes_read += infos[i]->encoded_bytes;
    work.keys[i] = (*columns.keys[i])[chunk];
  }
  work.table_bytes = table_bytes(columns, chunk);
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
    work.runs = {{0, tiles, false}};
    work.keys.resize(pipeline_.columns.size());
    chunks_.push_back(std::move(work));
  }
}

void StatementRun::plan_chunks() {
  next_row_ = 0;
  next_number_ = 0;
  if (pipeline_.files.empty()) return plan_rows_on_device();
  exec::ZoneFilter filter(pipeline_.has_filter ? &pipeline_.filter : nullptr);
  for (const auto& file : pipeline_.files) {
    const FileColumns columns = columns_of(file);
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) plan_chunk(columns, chunk, filter);
  }
}

// Rows without an order may be enough early.
bool StatementRun::may_end_early() const {
  return pipeline_.sink == Sink::kRows && pipeline_.order.empty() && pipeline_.limit != kAllRows;
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
          device_bytes(chunks_[i].file->column(pipeline_.columns[column].field_id).chunks[chunks_[i].chunk]);
      needed += bytes;
      if (backend_.cache_.find(chunks_[i].keys[column], run_) == nullptr) missing += bytes;
    }
    const bool too_much = held + needed > most || (missing > 0 && loaded + missing > kBatchBytes);
    const uint64_t most_chunks =
        may_end_early() ? uint64_t{1} << std::min<size_t>(batches_.size(), 20) : device::kMaxSlots;
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
