// The columns of one chunk, read and opened when first needed, and the rows of the current tile that are still alive:
// a byte mask while many are, a list of row numbers once few are left. What expressions are evaluated over.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/exec/column_cache.h"
#include "basalt/file/reader.h"
#include "exec/array_tiles.h"
#include "exec/vector.h"

namespace basalt::exec {

// A column of a chunk as it was read and checked.
struct LoadedColumn {
  Buffer region;
  std::vector<Buffer> shared;
  NodeView root;
  uint64_t bytes = 0;
};

// The columns of one chunk that several threads work on, by field id: each is read once, by the first thread that needs
// it. Nested columns are shared decoded.
class SharedChunk {
 public:
  explicit SharedChunk(uint32_t parts) : parts_left_(parts) {}
  // `load` is called if nobody has loaded the column before.
  template <typename Load>
  std::shared_ptr<const LoadedColumn> get(uint32_t field, Load&& load) {
    Slot& slot = slot_of(field);
    std::lock_guard lock(slot.mutex);
    if (slot.data == nullptr) slot.data = load();
    return slot.data;
  }
  template <typename Decode>
  std::shared_ptr<const Column> get_decoded(uint32_t field, Decode&& decode) {
    Slot& slot = slot_of(field);
    std::lock_guard lock(slot.mutex);
    if (slot.decoded == nullptr) slot.decoded = decode();
    return slot.decoded;
  }
  // Each part says once that it is done; the last one frees the columns.
  void finish_part() {
    if (parts_left_.fetch_sub(1) != 1) return;
    std::lock_guard lock(mutex_);
    slots_.clear();
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const LoadedColumn> data;
    std::shared_ptr<const Column> decoded;
  };
  Slot& slot_of(uint32_t field) {
    std::lock_guard lock(mutex_);
    return slots_[field];
  }

  std::mutex mutex_;
  std::map<uint32_t, Slot> slots_;  // whose slots stay where they are
  std::atomic<uint32_t> parts_left_;
};

// One column of one chunk. Unless it is shared or cached, its memory is kept from chunk to chunk.
class ColumnChunk {
 public:
  void reset(const File& file, const PipelineColumn& column, uint32_t chunk, SharedChunk* shared,
             ColumnCache::Use* cache);
  void use_room(uint64_t* room) { values_.use_room(room); }
  void leave_tile() { values_.leave_tile(); }
  bool loaded() const { return loaded_; }
  // Reads the streams, checks them, opens them. Every other function below does it when it has not been done.
  void load();
  uint64_t bytes_read() const { return bytes_read_; }  // of the current chunk

  // The array of values, below `validity`.
  const NodeView& values_node();
  ArrayTiles& values();
  // 1 = valid, for a whole tile; nullptr = no NULL in it.
  const uint8_t* valid(uint32_t tile);
  bool has_validity();
  // How many bytes strings have; nullptr where their encoding does not keep that.
  ArrayTiles* byte_lengths();

  void check_not_corrupt() const;  // throws Error(kCorrupt)
  // Errors of `body` say where they happened.
  template <typename Body>
  auto placed(const Body& body) const {
    try {
      return body();
    } catch (const Error& error) {
      throw error.within(place());
    }
  }
  const ColumnChunkInfo& info() const { return *info_; }
  const PipelineColumn& column() const { return *column_; }
  std::string place() const;

 private:
  void read(LoadedColumn& out) const;
  // From the cache, or read to `room`.
  std::shared_ptr<const LoadedColumn> find_or_read(std::shared_ptr<LoadedColumn> room) const;

  const File* file_ = nullptr;
  const PipelineColumn* column_ = nullptr;
  const ColumnChunkInfo* info_ = nullptr;
  uint32_t chunk_ = 0;
  bool loaded_ = false;
  uint64_t bytes_read_ = 0;
  SharedChunk* shared_ = nullptr;
  ColumnCache::Use* cache_ = nullptr;
  std::shared_ptr<const LoadedColumn> data_;
  std::shared_ptr<LoadedColumn> own_;
  const NodeView* root_ = nullptr;
  ArrayTiles values_;
  ArrayTiles lengths_;
  bool lengths_open_ = false;
  std::unique_ptr<Reader> valid_reader_;
  uint32_t valid_tile_ = ~0u;
  bool tile_has_null_ = false;
  bool bad_flags_ = false;  // one that is neither 0 nor 1
  Buffer valid_;
};

class ChunkTiles : public TileInput {
 public:
  ChunkTiles();
  // `columns` must outlive this object, and so must `shared`, where several threads work on the chunk, and `cache`,
  // where one is used.
  void open(const File& file, const std::vector<PipelineColumn>& columns, uint32_t chunk, SharedChunk* shared = nullptr,
            ColumnCache::Use* cache = nullptr);

  // What the columns that are open may hold of decoded strings, all together.
  void set_decoded_limit(uint64_t bytes) {
    room_ = bytes;
    for (ColumnChunk& column : columns_) column.use_room(&room_);
  }
  uint64_t& decoded_room() { return room_; }

  uint64_t chunk_rows() const { return chunk_rows_; }
  uint32_t tiles() const { return tile_count(chunk_rows_); }
  ColumnChunk& chunk_column(uint32_t index) { return columns_[index]; }
  StatisticsList chunk_statistics() const;
  StatisticsList zone_statistics(uint32_t zone) const;  // entries are nullptr where a file has no zones
  uint64_t bytes_read() const;
  void check_not_corrupt() const;

  // All rows of the tile are alive.
  void begin(uint32_t tile);
  uint32_t tile() const { return tile_; }
  uint32_t tile_rows() const { return tile_rows_; }
  uint32_t alive() const { return alive_; }
  // A question about this tile was answered; the hardest way counts. Strings may have been tested as they are stored.
  void answered(Answered how) { hardest_ = std::max(hardest_, how); }
  void tested_in_place() { texts_in_place_ = true; }
  // Adds what happened to this tile so far.
  void count(TileCounts& counts) const;
  // Keeps the rows whose byte is 1; `mask` follows rows().
  void keep(const uint8_t* mask);
  // The same with one byte for every row of the tile, alive or not.
  void keep_of_tile(const uint8_t* mask);

  // The sum of the alive rows of a column without NULLs, as Reader::filter_sum.
  std::optional<double> filter_sum(uint32_t index);

  bool is_list() const { return listed_; }
  // Numbers of the alive rows within the tile, ascending; alive() of them. Builds the list if it does not exist.
  const uint16_t* list();

  uint32_t rows() const override { return listed_ ? alive_ : tile_rows_; }
  const uint8_t* live() const override { return listed_ || alive_ == tile_rows_ ? nullptr : mask_.as<uint8_t>(); }
  Vector column(uint32_t index, Lane lane) override;
  const uint8_t* valid(uint32_t index) override;
  bool compare_encoded(uint32_t index, ExprOp op, int128_t literal, uint8_t* out) override;
  bool filter_strings(uint32_t index, const std::shared_ptr<const Automaton>& test, uint8_t* out) override;
  std::optional<Vector> byte_lengths(uint32_t index) override;
  const StringRows* codes(uint32_t index, uint32_t* out) override;
  const uint16_t* row_numbers() override { return listed_ ? list() : nullptr; }

 private:
  void fill_list();

  uint64_t room_ = kDecodedLimit;
  std::vector<ColumnChunk> columns_;
  std::vector<Buffer> selected_valid_;
  uint64_t chunk_rows_ = 0;
  uint32_t tile_ = 0;
  uint32_t tile_rows_ = 0;
  uint32_t alive_ = 0;
  Answered hardest_ = Answered::kByBounds;
  bool texts_in_place_ = false;
  bool texts_decoded_ = false;
  bool listed_ = false;  // expressions see only the alive rows
  bool list_filled_ = false;
  Buffer mask_;
  Buffer list_;
  Buffer picked_;
  Buffer codes_;
};

}  // namespace basalt::exec
