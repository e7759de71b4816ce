// Expanding the runs of a tile. The tiles of runs that were decoded last are kept, so that a child's tile is decoded
// once when rows are read in order, and trees of runs over runs cost as many steps as they have levels.
#include <algorithm>

#include "codec/checks.h"
#include "codec/expand_runs.h"
#include "codec/rle/layout.h"
#include "codec/rle/rle.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class RleReader final : public Reader {
 public:
  explicit RleReader(const NodeView& node)
      : Reader(node.type, node.count),
        runs_(static_cast<uint32_t>(node.children[rle::kRunEnds].count)),
        entries_(stream_as<rle::TileEntry>(node, rle::kTileEntries)),
        values_(open_reader(node.children[rle::kValues])),
        ends_(open_reader(node.children[rle::kRunEnds])) {}

  void decode_tile(uint32_t tile, void* out) override {
    const uint32_t runs = decode_runs(tile, tile_values_, tile_ends_);
    expand_runs(tile_values_, tile_ends_, runs, rows_in_tile(count(), tile), static_cast<T*>(out));
  }
  using Reader::decode_tile;

  uint32_t decode_runs(uint32_t tile, void* values, uint32_t* ends) override {
    const uint32_t first_row = tile * kTileRows;
    const uint32_t rows = rows_in_tile(count(), tile);
    const uint32_t first_run = entries_[tile].first_run;
    const uint32_t runs = end_run(tile) - first_run;
    bool good = begins_there(entries_[tile], first_row);
    uint32_t end = first_row;
    for (uint32_t done = 0; done < runs;) {
      const RunTile& tile_of_runs = load((first_run + done) / kTileRows);
      const uint32_t begin = (first_run + done) % kTileRows;
      const uint32_t part = std::min(runs - done, kTileRows - begin);
      std::copy_n(tile_of_runs.values + begin, part, static_cast<T*>(values) + done);
      good = copy_ends(tile_of_runs.ends + begin, part, end, first_row, ends + done) && good;
      done += part;
      end = tile_of_runs.ends[begin + part - 1];
    }
    // Ends come from a child whose values nobody has seen: they must rise inside the tile, and the last run fill it.
    const uint64_t end_row = uint64_t{first_row} + rows;
    good = good && (end_row == count() ? end == end_row : end >= end_row) && (runs == 1 || ends[runs - 2] < rows);
    mark_corrupt(!good);
    const uint32_t sound = good ? runs : 1;
    ends[sound - 1] = rows;
    return sound;
  }

 private:
  // Behind the last run that has rows in the tile.
  uint32_t end_run(uint32_t tile) const {
    if (tile + 1 == tile_count(count())) return runs_;
    const rle::TileEntry& next = entries_[tile + 1];
    return next.first_run + (next.consumed > 0 ? 1 : 0);
  }

  // Counted from `first_row`. Returns whether all rise, from above `before` on.
  static bool copy_ends(const uint32_t* __restrict from, uint32_t runs, uint32_t before, uint32_t first_row,
                        uint32_t* __restrict to) {
    uint32_t falls = from[0] <= before ? 1 : 0;  // a word, so that GCC makes vectors of it
    to[0] = from[0] - first_row;
    for (uint32_t i = 1; i < runs; ++i) {
      falls |= from[i] <= from[i - 1] ? 1 : 0;
      to[i] = from[i] - first_row;
    }
    return falls == 0;
  }

  // Whether the run before ends where the entry lets its run begin: an entry may name a run that exists but is not the
  // one of the tile's first row. Read in order, the ends are loaded already.
  bool begins_there(const rle::TileEntry& entry, uint32_t first_row) {
    const uint32_t begin = first_row - entry.consumed;
    if (entry.first_run == 0) return begin == 0;
    const uint32_t before = entry.first_run - 1;
    return load(before / kTileRows).ends[before % kTileRows] == begin;
  }

  struct RunTile {
    uint32_t tile = ~0u;
    T values[kTileRows];
    uint32_t ends[kTileRows];
  };

  // Two are kept. The run before a tile's first one may lie in a tile of runs before that of the rest, and all of the
  // next tiles' runs in the same two: with one, each of them would decode both, and so would every level below.
  const RunTile& load(uint32_t run_tile) {
    if (run_tiles_[recent_].tile == run_tile) return run_tiles_[recent_];
    recent_ ^= 1;
    RunTile& room = run_tiles_[recent_];
    if (room.tile == run_tile) return room;
    room.tile = run_tile;
    values_->decode_tile(run_tile, room.values);
    ends_->decode_tile(run_tile, room.ends);
    mark_corrupt(values_->corrupt() || ends_->corrupt());
    return room;
  }

  uint32_t runs_;
  const rle::TileEntry* entries_;
  std::unique_ptr<Reader> values_;
  std::unique_ptr<Reader> ends_;
  uint32_t recent_ = 0;  // the run tile that was asked for last
  RunTile run_tiles_[2];
  T tile_values_[kTileRows];
  uint32_t tile_ends_[kTileRows];
};

}  // namespace

std::unique_ptr<Reader> RleCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<RleReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
