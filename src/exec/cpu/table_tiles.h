// The rows of a table in memory, tile by tile, as expressions see them.
#pragma once

#include <vector>

#include "basalt/core/column.h"
#include "exec/vector.h"

namespace basalt::exec {

class TableTiles : public TileInput {
 public:
  // The table must outlive this object.
  explicit TableTiles(const Table& table);

  uint32_t tiles() const { return static_cast<uint32_t>((table_.rows + kTileRows - 1) / kTileRows); }
  void begin(uint32_t tile);

  uint32_t rows() const override { return rows_; }
  const uint8_t* live() const override { return nullptr; }
  Vector column(uint32_t index, Lane lane) override;
  const uint8_t* valid(uint32_t index) override;

 private:
  const Table& table_;
  uint64_t first_ = 0;
  uint32_t rows_ = 0;
  struct Room {
    Buffer values[2];  // an expression may want a column in two lanes at once
    Lane lanes[2] = {Lane::kBool, Lane::kBool};
    uint64_t firsts[2] = {~uint64_t{0}, ~uint64_t{0}};
    Buffer valid;
  };
  std::vector<Room> room_;
};

}  // namespace basalt::exec
