// Reading plain values and plain bytes.
#include <cstring>

#include "basalt/codec/string_test.h"
#include "codec/checks.h"
#include "codec/plain/layout.h"
#include "codec/plain/plain.h"

namespace basalt {

namespace {

class PlainReader final : public Reader {
 public:
  explicit PlainReader(const NodeView& node)
      : Reader(node.type, node.count), width_(width_of(node.type)), values_(node.streams[plain::kValues].data()) {}

  void decode_tile(uint32_t tile, void* out) override {
    const size_t first = static_cast<size_t>(tile) * kTileRows;
    std::memcpy(out, values_ + first * width_, static_cast<size_t>(rows_in_tile(count(), tile)) * width_);
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<std::byte*>(out);
    for (const uint32_t row : rows) {
      std::memcpy(to, values_ + static_cast<size_t>(row) * width_, width_);
      to += width_;
    }
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  size_t width_;
  const std::byte* values_;
};

class PlainBytesReader final : public BytesReader {
 public:
  explicit PlainBytesReader(const NodeView& node)
      : starts_(stream_as<uint64_t>(node, plain::kTileStarts)), bytes_(node.streams[plain::kBytes].data()) {}

  void decode_tile(uint32_t tile, std::span<const uint32_t>, Buffer& out) override {
    out.append(bytes_ + starts_[tile], starts_[tile + 1] - starts_[tile]);
  }
  void decode_row(uint32_t tile, uint32_t row, std::span<const uint32_t> lengths, Buffer& out) override {
    uint64_t skip = 0;
    for (uint32_t i = 0; i < row; ++i) skip += lengths[i];
    out.append(bytes_ + starts_[tile] + skip, lengths[row]);
  }
  bool lengths_fit(uint32_t tile, std::span<const uint32_t> lengths) const override {
    uint64_t total = 0;
    for (const uint32_t length : lengths) total += length;
    return total == starts_[tile + 1] - starts_[tile];
  }
  bool test(uint32_t tile, std::span<const uint32_t> lengths, const std::shared_ptr<const Automaton>& test,
            uint8_t* out) override {
    test->match_rows(reinterpret_cast<const char*>(bytes_ + starts_[tile]), lengths, out);
    return true;
  }

 private:
  const uint64_t* starts_;
  const std::byte* bytes_;
};

}  // namespace

std::unique_ptr<Reader> PlainCodec::open(const NodeView& node) const { return std::make_unique<PlainReader>(node); }
std::unique_ptr<BytesReader> PlainCodec::open_bytes(const NodeView& node) const {
  return std::make_unique<PlainBytesReader>(node);
}

}  // namespace basalt
