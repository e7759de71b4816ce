// Entries by id. A tile's ids lie together; where a row's begin follows from the counts.
#include <algorithm>
#include <array>
#include <numeric>

#include "codec/checks.h"
#include "codec/copy_text.h"
#include "codec/strings/symbol_automaton.h"
#include "codec/tokens/decoded_entries.h"
#include "codec/tokens/layout.h"
#include "codec/tokens/tokens.h"

namespace basalt {

namespace {

// Ids of a tile whose places are worth their memory: 2^20 entries of 255 bytes are below 2^32.
constexpr size_t kMostPlaces = 1 << 20;

class TokensReader final : public BytesReader {
 public:
  explicit TokensReader(const NodeView& node)
      : rows_(node.count),
        starts_(stream_as<uint64_t>(node, tokens::kTileStarts)),
        ids_(open_reader(node.children[tokens::kIds])),
        counts_(open_reader(node.children[tokens::kCounts])) {
    sound_ = tokens::decode_entries(node.children[tokens::kEntries], entries_);
    for (size_t i = 0; i < entries_.size(); ++i) entry_bytes_.push_back(static_cast<uint8_t>(entries_.at(i).size()));
  }

  uint64_t entry_bytes() const override { return entries_.bytes.size(); }
  bool lengths_fit(uint32_t tile, std::span<const uint32_t> lengths) const override {
    // Every entry has 1 to 255 bytes: ids that are too many or too few are not even looked at.
    const uint64_t plain = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
    const uint64_t ids = starts_[tile + 1] - starts_[tile];
    if (!sound_ || ids > plain || plain > ids * tokens::kLongestEntry || !load(tile)) return false;
    uint64_t differ = 0;
    uint64_t first = 0;
    if (is_long_) {
      for (size_t row = 0; row < lengths.size(); ++row) {
        uint64_t length = 0;
        for (uint32_t i = 0; i < tile_counts_[row]; ++i) length += entry_bytes_[tile_ids_[first++]];
        differ |= length ^ lengths[row];
      }
      return differ == 0;
    }
    // No branch: how many ids a row has is hard to guess.
    for (size_t row = 0; row < lengths.size(); ++row) {
      const uint64_t next = first + tile_counts_[row];
      differ |= (id_places_[next] - id_places_[first]) ^ lengths[row];
      first = next;
    }
    return differ == 0;
  }

  void decode_tile(uint32_t tile, std::span<const uint32_t> lengths, Buffer& out) override {
    load(tile);
    const size_t at = out.size();
    out.resize(std::accumulate(lengths.begin(), lengths.end(), at));
    uint64_t end = 0;
    for (size_t i = 0; i < tile_ids_.size(); ++i) {
      const std::string_view text = entries_.at(tile_ids_[i]);
      std::byte* to = out.data() + at + (is_long_ ? end : id_places_[i]);
      end += text.size();
      copy_text(to, text.data(), text.size());
    }
  }

  void decode_row(uint32_t tile, uint32_t row, std::span<const uint32_t>, Buffer& out) override {
    load(tile);
    const uint32_t first = std::accumulate(tile_counts_.begin(), tile_counts_.begin() + row, 0u);
    for (uint32_t i = 0; i < tile_counts_[row]; ++i) {
      const std::string_view text = entries_.at(tile_ids_[first + i]);
      out.append(text.data(), text.size());
    }
  }

  bool test(uint32_t tile, std::span<const uint32_t> lengths, const std::shared_ptr<const Automaton>& test,
            uint8_t* out) override {
    const strings::SymbolAutomaton& automaton = automata_.get(test, [&] {
      return strings::SymbolAutomaton(test, static_cast<uint32_t>(entries_.size()),
                                      [&](uint32_t id) { return entries_.at(id); });
    });
    load(tile);
    const uint32_t* id = tile_ids_.data();
    for (size_t row = 0; row < lengths.size(); ++row) {
      uint8_t state = test->start();
      for (uint32_t i = 0; i < tile_counts_[row] && !test->settled(state); ++i) state = automaton.next(state, id[i]);
      id += tile_counts_[row];
      out[row] = test->accepts(state) ? 1 : 0;
    }
    return true;
  }

 private:
  // The tile's counts and ids; false if they do not agree with its place, or name what is not there.
  bool load(uint32_t tile) const {
    if (tile == loaded_) return fits_;
    loaded_ = tile;
    const uint32_t rows = rows_in_tile(rows_, tile);
    counts_->decode_tile(tile, tile_counts_.data());
    const uint64_t total = std::accumulate(tile_counts_.begin(), tile_counts_.begin() + rows, uint64_t{0});
    const uint64_t first = starts_[tile];
    const uint64_t last = starts_[tile + 1];
    fits_ = total == last - first && !counts_->corrupt();
    tile_ids_.clear();
    if (!fits_) return false;
    tile_ids_.reserve(total);
    for (uint64_t at = first; at < last;) {
      const auto piece = static_cast<uint32_t>(at / kTileRows);
      if (piece != piece_) {
        ids_->decode_tile(piece, piece_ids_.data());
        piece_ = piece;
      }
      const uint64_t end = std::min(last, (uint64_t{piece} + 1) * kTileRows);
      tile_ids_.insert(tile_ids_.end(), piece_ids_.begin() + at % kTileRows,
                       piece_ids_.begin() + static_cast<ptrdiff_t>(at % kTileRows + (end - at)));
      at = end;
    }
    uint32_t largest = 0;
    for (const uint32_t id : tile_ids_) largest = std::max(largest, id);
    fits_ = !ids_->corrupt() && (tile_ids_.empty() || largest < entries_.size());
    if (!fits_) return false;
    is_long_ = tile_ids_.size() > kMostPlaces;
    if (is_long_) return true;
    id_places_.resize(tile_ids_.size() + 1);
    uint32_t place = 0;
    for (size_t i = 0; i < tile_ids_.size(); ++i) {
      id_places_[i] = place;
      place += static_cast<uint32_t>(entry_bytes_[tile_ids_[i]]);
    }
    id_places_[tile_ids_.size()] = place;
    return true;
  }

  uint64_t rows_;
  const uint64_t* starts_;
  std::unique_ptr<Reader> ids_;
  std::unique_ptr<Reader> counts_;
  StringRows entries_;
  std::vector<uint8_t> entry_bytes_;
  bool sound_ = true;
  strings::PerAutomaton<strings::SymbolAutomaton> automata_;

  mutable uint32_t loaded_ = ~0u;
  mutable bool fits_ = true;
  mutable std::array<uint32_t, kTileRows> tile_counts_;
  mutable std::vector<uint32_t> tile_ids_;
  mutable std::vector<uint32_t> id_places_;  // of each id's text among the tile's bytes, and their end
  mutable bool is_long_ = false;             // too many ids for places
  mutable uint32_t piece_ = ~0u;             // tile of the ids that was decoded last
  mutable std::array<uint32_t, kTileRows> piece_ids_;
};

}  // namespace

std::unique_ptr<BytesReader> TokensCodec::open_bytes(const NodeView& node) const {
  return std::make_unique<TokensReader>(node);
}

}  // namespace basalt
