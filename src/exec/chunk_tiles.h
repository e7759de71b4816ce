// The columns of one chunk, read and opened when first needed, and the rows of the current tile that are still alive:
// a byte mask while many are, a list of row numbers once few are left. What expressions are evaluated over.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "basalt/file/reader.h"
#include "exec/array_tiles.h"
#include "exec/vector.h"

namespace basalt::exec {

// How often loops over tiles look for cancellation.
constexpr uint32_t kTilesPerCheck = 16;

// A column of a chunk as it was read and checked.
struct LoadedColumn {
  Buffer region;
  std::vector<Buffer> shared;
  NodeView root;
  uint64_t bytes = 0;
};

// The columns of one chunk that several threads work on: each is read once, by the first thread that needs it.
class SharedChunk {
 public:
  SharedChunk(size_t columns, uint32_t parts) : slots_(columns), parts_left_(parts) {}
  // `load` is called if nobody has loaded the column before.
  template <typename Load>
  std::shared_ptr<const LoadedColumn> get(size_t column, Load&& load) {
    std::lock_guard lock(slots_[column].mutex);
    if (slots_[column].data == nullptr) slots_[column].data = load();
    return slots_[column].data;
  }
  // Each part says once that it is done; the last one frees the columns.
  void finish_part() {
    if (parts_left_.fetch_sub(1) != 1) return;
    for (Slot& slot : slots_) {
      std::lock_guard lock(slot.mutex);
      slot.data.reset();
    }
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const LoadedColumn> data;
  };
  std::vector<Slot> slots_;
  std::atomic<uint32_t> parts_left_;
};

// One column of one chunk. Unless it is shared, its memory is kept from chunk to chunk.
class ColumnChunk {
 public:
  void reset(const File& file, const PipelineColumn& column, uint32_t chunk, SharedChunk* shared, size_t index);
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

  void check_not_corrupt() const;  // throws Error(kCorrupt)
  const ColumnChunkInfo& info() const { return *info_; }
  const PipelineColumn& column() const { return *column_; }
  std::string place() const;

 private:
  void read(LoadedColumn& out) const;

  const File* file_ = nullptr;
  const PipelineColumn* column_ = nullptr;
  const ColumnChunkInfo* info_ = nullptr;
  uint32_t chunk_ = 0;
  bool loaded_ = false;
  uint64_t bytes_read_ = 0;
  SharedChunk* shared_ = nullptr;
  size_t index_ = 0;  // in the shared chunk
  std::shared_ptr<const LoadedColumn> data_;
  std::shared_ptr<LoadedColumn> own_;
  const NodeView* root_ = nullptr;
  ArrayTiles values_;
  std::unique_ptr<Reader> valid_reader_;
  uint32_t valid_tile_ = ~0u;
  bool tile_has_null_ = false;
  bool bad_flags_ = false;  // one that is neither 0 nor 1
  Buffer valid_;
};

class ChunkTiles : public TileInput {
 public:
  ChunkTiles();
  // `columns` must outlive this object, and `shared` too where several threads work on the chunk.
  void open(const File& file, const std::vector<PipelineColumn>& columns, uint32_t chunk,
            SharedChunk* shared = nullptr);

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
  // Keeps the rows whose byte is 1; `mask` follows rows().
  void keep(const uint8_t* mask);
  // The same with one byte for every row of the tile, alive or not.
  void keep_of_tile(const uint8_t* mask);

  bool is_list() const { return listed_; }
  // Numbers of the alive rows within the tile, ascending; alive() of them. Builds the list if it does not exist.
  const uint16_t* list();

  uint32_t rows() const override { return listed_ ? alive_ : tile_rows_; }
  const uint8_t* live() const override { return listed_ || alive_ == tile_rows_ ? nullptr : mask_.as<uint8_t>(); }
  Vector column(uint32_t index, Lane lane) override;
  const uint8_t* valid(uint32_t index) override;
  bool compare_encoded(uint32_t index, ExprOp op, int128_t literal, uint8_t* out) override;

 private:
  void fill_list();

  std::vector<ColumnChunk> columns_;
  std::vector<Buffer> selected_valid_;
  uint64_t chunk_rows_ = 0;
  uint32_t tile_ = 0;
  uint32_t tile_rows_ = 0;
  uint32_t alive_ = 0;
  bool listed_ = false;  // expressions see only the alive rows
  bool list_filled_ = false;
  Buffer mask_;
  Buffer list_;
  Buffer picked_;
};

}  // namespace basalt::exec
