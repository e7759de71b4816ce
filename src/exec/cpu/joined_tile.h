// What expressions behind a join see: rows of a tile side by side with their partners, or the tile itself with fewer
// rows and a mark.
#pragma once

#include <array>
#include <vector>

#include "basalt/core/column.h"
#include "exec/narrowed_input.h"

namespace basalt::exec {

// Pairs of a row of a tile and a row of a table, at most kTileRows. Either side may be missing: its columns are NULL.
class JoinedTile : public TileInput {
 public:
  static constexpr uint32_t kMissing = ~0u;
  struct Pair {
    uint32_t row = kMissing;      // of the tile
    uint32_t partner = kMissing;  // of the table
  };

  // Columns: `before` of the tile, then the fetched ones of the table, which must outlive this object.
  JoinedTile(size_t before, const std::vector<PipelineColumn>& fetched, const Table& table);

  // The tile that pairs are of; nullptr: all of them miss it.
  void begin(TileInput* tile);
  void set_pairs(std::vector<Pair> pairs);
  const std::vector<Pair>& pairs() const { return pairs_; }

  uint32_t rows() const override { return static_cast<uint32_t>(pairs_.size()); }
  const uint8_t* live() const override { return nullptr; }
  Vector column(uint32_t index, Lane lane) override;
  const uint8_t* valid(uint32_t index) override;

 private:
  // Values in one lane, of the pairs that had this number.
  struct Values {
    Buffer data;
    uint64_t made_for = 0;
  };
  struct Room {
    std::array<Values, 7> lanes;
    Values valid;
    bool all_valid = false;
  };
  void of_table(const Column& column, Lane lane, void* out) const;

  size_t before_;
  std::vector<const Column*> fetched_;
  TileInput* tile_ = nullptr;
  std::vector<Pair> pairs_;
  bool misses_partners_ = false;
  uint64_t number_ = 0;  // of the pairs
  std::vector<Room> rooms_;
};

// A tile of which fewer rows count, and which may have a mark behind its columns.
class MarkedTile : public NarrowedInput {
 public:
  // The column `index`, one byte per row each.
  void set_mark(uint32_t index, const uint8_t* values, const uint8_t* valid);

  Vector column(uint32_t index, Lane lane) override;
  const uint8_t* valid(uint32_t index) override { return index == mark_ ? mark_valid_ : NarrowedInput::valid(index); }
  bool compare_encoded(uint32_t index, ExprOp op, int128_t literal, uint8_t* out) override {
    return index != mark_ && NarrowedInput::compare_encoded(index, op, literal, out);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  uint32_t mark_ = kNone;
  const uint8_t* mark_values_ = nullptr;
  const uint8_t* mark_valid_ = nullptr;
  std::array<Buffer, 7> mark_lanes_;
};

}  // namespace basalt::exec
