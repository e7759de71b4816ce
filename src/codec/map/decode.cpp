// Looking rows of the source up in the entries, which are decoded once per reader.
#include <array>
#include <cstring>

#include "codec/child_values.h"
#include "codec/map/layout.h"
#include "codec/map/map.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class MapReader final : public Reader {
 public:
  explicit MapReader(const NodeView& node)
      : Reader(node.type, node.count),
        source_(open_reader(node.children[map::kSource])),
        last_(node.children[map::kEntries].count - 1) {
    bool corrupt = false;
    entries_ = decoded_values(node.children[map::kEntries], corrupt);
    mark_corrupt(corrupt);
    std::memcpy(&base_, node.params.data(), sizeof(base_));
  }

  void decode_tile(uint32_t tile, void* out) override {
    std::array<uint64_t, kTileRows> rows;
    source_->decode_tile(tile, rows.data());
    look_up(rows.data(), rows_in_tile(count(), tile), static_cast<T*>(out));
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    std::vector<uint64_t> values(rows.size());
    source_->gather(rows, values.data());
    look_up(values.data(), rows.size(), static_cast<T*>(out));
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void look_up(const uint64_t* source, size_t rows, T* to) {
    const T* entries = entries_.template as<T>();
    bool beyond = false;
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t place = source[i] - base_;
      beyond = beyond || place > last_;
      to[i] = entries[place > last_ ? last_ : place];
    }
    mark_corrupt(beyond || source_->corrupt());
  }

  std::unique_ptr<Reader> source_;
  Buffer entries_;
  uint64_t last_;
  uint64_t base_ = 0;
};

}  // namespace

std::unique_ptr<Reader> MapCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<MapReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
