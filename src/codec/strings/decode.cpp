// Strings of a tile: lengths first, then the bytes they cut.
#include <array>

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
    int64_t at = out.offsets.back();
    for (const uint32_t length : lengths) {
      at += length;
      out.offsets.push_back(at);
    }
    if (!fits_) return;
    bytes_->decode_tile(tile, lengths, out.bytes);
    mark_corrupt(bytes_->corrupt());
  }
  void gather(std::span<const uint32_t> rows, StringRows& out) override {
    for (const uint32_t row : rows) {
      const uint32_t tile = row / kTileRows;
      const auto lengths = load(tile);
      if (fits_) bytes_->decode_row(tile, row % kTileRows, lengths, out.bytes);
      out.offsets.push_back(static_cast<int64_t>(out.bytes.size()));
    }
    mark_corrupt(bytes_->corrupt());
  }
  Answered test_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    const auto lengths = load(tile);
    if (!fits_ || !bytes_->test(tile, lengths, test, out)) return Answered::kNot;
    mark_corrupt(bytes_->corrupt());
    return Answered::kByRows;
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  // The tile's lengths; all zero, and the array marked, if they do not agree with the stored bytes.
  std::span<const uint32_t> load(uint32_t tile) {
    const std::span<uint32_t> lengths(tile_lengths_.data(), rows_in_tile(count(), tile));
    if (tile == loaded_) return lengths;
    lengths_->decode_tile(tile, tile_lengths_.data());
    loaded_ = tile;
    fits_ = bytes_->lengths_fit(tile, lengths);
    mark_corrupt(lengths_->corrupt() || !fits_);
    if (!fits_) tile_lengths_.fill(0);
    return lengths;
  }

  std::unique_ptr<Reader> lengths_;
  std::unique_ptr<BytesReader> bytes_;
  std::array<uint32_t, kTileRows> tile_lengths_;
  uint32_t loaded_ = ~0u;
  bool fits_ = true;
};

}  // namespace

std::unique_ptr<Reader> StringsCodec::open(const NodeView& node) const { return std::make_unique<StringsReader>(node); }

}  // namespace basalt
