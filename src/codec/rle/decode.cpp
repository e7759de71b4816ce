// Expanding the runs of a tile, and finding the run of single rows by search.
#include <algorithm>

#include "codec/checks.h"
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
        runs_(node.children[rle::kRunEnds].count),
        entries_(stream_as<rle::TileEntry>(node, rle::kTileEntries)),
        values_(open_reader(node.children[rle::kValues])),
        ends_(open_reader(node.children[rle::kRunEnds])) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* to = static_cast<T*>(out);
    const uint32_t first_row = tile * kTileRows;
    const uint32_t rows = rows_in_tile(count(), tile);
    mark_corrupt(!begins_there(entries_[tile], first_row));
    uint64_t run = entries_[tile].first_run;
    uint32_t row = 0;
    // Ends come from a child whose values nobody has seen: each run is clamped to the tile, takes at least one row, and
    // the last run is stretched, so that the loop always ends with the tile full.
    while (row < rows) {
      load(static_cast<uint32_t>(run / kTileRows));
      const auto in_tile = static_cast<uint32_t>(run % kTileRows);
      const uint32_t end = run_ends_[in_tile];
      uint32_t stop = end > first_row ? std::min(end - first_row, rows) : 0;
      mark_corrupt(stop <= row);
      if (stop <= row) stop = run + 1 >= runs_ ? rows : row + 1;
      if (run + 1 >= runs_ && stop < rows) {
        mark_corrupt(true);
        stop = rows;
      }
      fill(to, row, stop, run_values_[in_tile]);
      row = stop;
      ++run;
      expand_loaded(first_row, rows, run, row, to);
    }
    const bool last_tile = uint64_t{first_row} + rows == count();
    mark_corrupt(last_tile && (run != runs_ || run_ends_[(run - 1) % kTileRows] != count()));
  }
  using Reader::decode_tile;

 private:
  // Most runs are short: a fixed number of values is stored without asking how many, and the next runs replace what is
  // too much. `to` has room for a whole tile.
  static constexpr uint32_t kAtOnce = 4;
  static void fill(T* to, uint32_t row, uint32_t stop, T value) {
    if (row + kAtOnce <= kTileRows) {
      T* const at = to + row;
      for (uint32_t i = 0; i < kAtOnce; ++i) at[i] = value;
      row += kAtOnce;
    }
    if (row < stop) std::fill(to + row, to + stop, value);
  }

  // Goes on with runs as they should be: loaded, not the last one, and ending in the tile behind the run before.
  void expand_loaded(uint32_t first_row, uint32_t rows, uint64_t& run, uint32_t& row, T* to) const {
    const auto begin = static_cast<uint32_t>(run % kTileRows);
    if (begin == 0) return;
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(kTileRows, runs_ - 1 - (run - begin)));
    uint32_t at = begin;
    uint32_t done = row;
    for (; at < end; ++at) {
      const uint32_t stop = run_ends_[at] - first_row;
      if (stop <= done || stop > rows) break;
      fill(to, done, stop, run_values_[at]);
      done = stop;
    }
    row = done;
    run += at - begin;
  }

  // Whether the run before ends where the entry lets its run begin: an entry may name a run that exists but is not the
  // one of the tile's first row. Read in order, the ends are loaded already.
  bool begins_there(const rle::TileEntry& entry, uint32_t first_row) {
    const uint32_t begin = first_row - entry.consumed;
    if (entry.first_run == 0) return begin == 0;
    const uint32_t before = entry.first_run - 1;
    load(before / kTileRows);
    return run_ends_[before % kTileRows] == begin;
  }

  void load(uint32_t run_tile) {
    if (run_tile == loaded_) return;
    values_->decode_tile(run_tile, run_values_);
    ends_->decode_tile(run_tile, run_ends_);
    mark_corrupt(values_->corrupt() || ends_->corrupt());
    loaded_ = run_tile;
  }

  uint64_t runs_;
  const rle::TileEntry* entries_;
  std::unique_ptr<Reader> values_;
  std::unique_ptr<Reader> ends_;
  uint32_t loaded_ = ~0u;
  T run_values_[kTileRows];
  uint32_t run_ends_[kTileRows];
};

}  // namespace

std::unique_ptr<Reader> RleCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<RleReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
