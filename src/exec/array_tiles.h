// Tiles of one encoded array as vectors in any lane, each tile decoded at most once per form. Arrays whose root is
// `packed` are read straight from their words: into the lane asked for, or as single rows.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "basalt/codec/codec.h"
#include "exec/vector.h"

namespace basalt::exec {

class ArrayTiles {
 public:
  // `node` was validated and must outlive this object's use of it.
  void open(const NodeView& node);

  uint64_t count() const { return count_; }
  bool corrupt() const { return reader_ != nullptr && reader_->corrupt(); }
  bool is_packed() const { return packed_; }

  // All rows of a tile. The pointer stays good until another tile is asked for.
  const void* tile(uint32_t tile, Lane lane);
  // The rows `rows[0..count)` of a tile (numbers within the tile).
  const void* rows(uint32_t tile, Lane lane, const uint16_t* rows, uint32_t count);
  // The same in the array's own type, written to `out`, which has room for a whole tile.
  void copy_tile(uint32_t tile, void* out);
  void copy_rows(uint32_t tile, const uint16_t* rows, uint32_t count, void* out);
  // kBytes: the tile's rows. Besides the bytes of the encoded array, they take theirs from `room`, which other arrays
  // may share, and give them back for the next tile; entries of dictionaries take theirs for as long as it is open.
  // Without one, an array has a room of its own.
  void use_room(uint64_t* room);
  void leave_tile();  // gives back what it holds of the room
  const StringRows& strings(uint32_t tile);
  // kBytes: some of a tile's rows, appended; how long its rows are; how many bytes all have at most.
  void gather_strings(uint32_t tile, const uint16_t* rows, uint32_t count, StringRows& out);
  void string_lengths(uint32_t tile, uint32_t* out) { reader().string_lengths(tile, out); }
  uint64_t most_bytes(uint32_t tile) { return reader().most_bytes(tile); }
  // kBytes: the list that rows are places in, nullptr if there is none; a tile's places.
  const StringRows* entries() { return reader().entries(); }
  void codes(uint32_t tile, uint32_t* out) { reader().decode_codes(tile, out); }
  // out[i] = 1 where low ≤ value ≤ high (0 there if `negate`), if the codec can tell without decoding.
  Answered filter_range(uint32_t tile, int128_t low, int128_t high, bool negate, uint8_t* out);
  // kBytes: out[i] = 1 where the automaton accepts the row, if the codec can tell without decoding.
  Answered filter_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out) {
    return reader().filter_strings(tile, test, out);
  }
  // As Reader::filter_sum.
  std::optional<double> filter_sum(uint32_t tile, const uint8_t* live) { return reader().filter_sum(tile, live); }
  // Whether the tile's encoding leaves room for a value above `most`.
  bool may_exceed(uint32_t tile, int128_t most);

 private:
  struct PackedTile {
    const uint32_t* words = nullptr;
    uint32_t width = 0;
    int128_t reference = 0;
  };
  PackedTile packed_tile(uint32_t tile) const;
  bool fits_lane(const PackedTile& tile, Lane lane) const;
  const void* decode_native(uint32_t tile);
  const void* view_strings(uint32_t tile);
  void forget_strings();
  uint64_t& bytes_left() { return shared_room_ != nullptr ? *shared_room_ : own_room_; }
  Reader& reader();
  void use_tile(uint32_t tile);

  NodeView node_;
  std::unique_ptr<Reader> reader_;  // opened when a form needs it
  Physical type_ = Physical::kU64;
  uint64_t count_ = 0;
  uint64_t own_room_ = kDecodedLimit;
  uint64_t* shared_room_ = nullptr;
  uint64_t held_ = 0;  // of the room
  bool packed_ = false;

  uint32_t current_ = ~0u;
  bool have_native_ = false;  // native_ or strings_
  bool have_lane_[7] = {};
  Buffer native_;
  Buffer lanes_[7];
  Buffer selected_[7];
  StringRows strings_;
};

}  // namespace basalt::exec
