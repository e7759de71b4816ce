// Strings of a tile: lengths first, then the bytes they cut.
#include <algorithm>
#include <array>
#include <numeric>

#include "codec/strings/layout.h"
#include "codec/strings/strings.h"

namespace basalt {

namespace {

class StringsReader final : public Reader {
 public:
  explicit StringsReader(const NodeView& node)
      : Reader(node.type, node.count),
        lengths_(open_reader(node.children[strings::kLengths])),
        bytes_(node.children[strings::kBytes].codec->open_bytes(node.children[strings::kBytes])) {}

  void decode_tile(uint32_t tile, StringRows& out) override {
    const auto lengths = load(tile);
    const bool fits = fit(tile);
    out.check_room(std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
    int64_t at = out.offsets.back();
    const size_t first = out.offsets.size();
    out.offsets.resize(first + lengths.size());
    for (size_t row = 0; row < lengths.size(); ++row) out.offsets[first + row] = at += lengths[row];
    if (!fits) return;
    bytes_->decode_tile(tile, lengths, out.bytes);
    mark_corrupt(bytes_->corrupt());
  }
  uint64_t entry_bytes() const override { return bytes_->entry_bytes(); }
  void string_lengths(uint32_t tile, uint32_t* out) override {
    const auto lengths = load(tile);
    std::copy(lengths.begin(), lengths.end(), out);
  }
  uint64_t most_bytes(uint32_t tile) override {
    const auto lengths = load(tile);
    return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  }
  void gather(std::span<const uint32_t> rows, StringRows& out) override {
    for (const uint32_t row : rows) {
      const uint32_t tile = row / kTileRows;
      const auto lengths = load(tile);
      const bool fits = fit(tile);
      const uint32_t length = lengths[row % kTileRows];
      out.check_room(length);
      if (out.bytes.empty()) out.bytes.reserve(length);  // often the only one, and long
      if (fits) bytes_->decode_row(tile, row % kTileRows, lengths, out.bytes);
      out.offsets.push_back(static_cast<int64_t>(out.bytes.size()));
    }
    mark_corrupt(bytes_->corrupt());
  }
  Answered filter_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    const auto lengths = load(tile);
    if (!fit(tile) || !bytes_->test(tile, lengths, test, out)) return Answered::kNot;
    mark_corrupt(bytes_->corrupt());
    return Answered::kByRows;
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  std::span<const uint32_t> load(uint32_t tile) {
    const std::span<uint32_t> lengths(tile_lengths_.data(), rows_in_tile(count(), tile));
    if (tile == loaded_) return lengths;
    lengths_->decode_tile(tile, tile_lengths_.data());
    mark_corrupt(lengths_->corrupt());
    loaded_ = tile;
    compared_ = false;
    return lengths;
  }
  // Whether the loaded tile's lengths agree with the stored bytes; if not, they become zero, and the array is marked.
  // Looked at only when bytes are wanted: it may cost as much as decoding.
  bool fit(uint32_t tile) {
    if (compared_) return fits_;
    compared_ = true;
    const std::span<const uint32_t> lengths(tile_lengths_.data(), rows_in_tile(count(), tile));
    // No string has 2^31 bytes or more: a file that says so could keep a test busy for as long as it likes.
    uint32_t seen = 0;
    for (const uint32_t length : lengths) seen |= length;
    fits_ = seen >> 31 == 0 && bytes_->lengths_fit(tile, lengths);
    mark_corrupt(!fits_);
    if (!fits_) tile_lengths_.fill(0);
    return fits_;
  }

  std::unique_ptr<Reader> lengths_;
  std::unique_ptr<BytesReader> bytes_;
  std::array<uint32_t, kTileRows> tile_lengths_;
  uint32_t loaded_ = ~0u;
  bool compared_ = false;
  bool fits_ = true;
};

}  // namespace

std::unique_ptr<Reader> StringsCodec::open(const NodeView& node) const { return std::make_unique<StringsReader>(node); }

}  // namespace basalt
