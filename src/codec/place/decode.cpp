// Counting rows from where the source changes.
#include <array>
#include <cstring>

#include "codec/checks.h"
#include "codec/place/layout.h"
#include "codec/place/place.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class PlaceReader final : public Reader {
 public:
  explicit PlaceReader(const NodeView& node)
      : Reader(node.type, node.count),
        checkpoints_(stream_as<uint32_t>(node, place::kCheckpoints)),
        source_(open_reader(node.children[place::kSource])) {
    std::memcpy(&base_, node.params.data(), sizeof(base_));
  }

  void decode_tile(uint32_t tile, void* out) override {
    std::array<int64_t, kTileRows> source;
    source_->decode_tile(tile, source.data());
    mark_corrupt(source_->corrupt());
    auto* values = static_cast<T*>(out);
    uint32_t at = checkpoints_[tile];
    values[0] = static_cast<T>(base_ + at);
    const uint32_t rows = rows_in_tile(count(), tile);
    for (uint32_t i = 1; i < rows; ++i) {
      at = source[i] == source[i - 1] ? at + 1 : 0;
      values[i] = static_cast<T>(base_ + at);
    }
  }
  using Reader::decode_tile;

 private:
  uint64_t base_ = 0;
  const uint32_t* checkpoints_;
  std::unique_ptr<Reader> source_;
};

}  // namespace

std::unique_ptr<Reader> PlaceCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<PlaceReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
