// Decoding a unit at a time; its symbols are kept, and serve all its tiles.
#include <algorithm>
#include <cstring>

#include "codec/ans/ans.h"
#include "codec/ans/layout.h"
#include "codec/ans/table.h"
#include "codec/ans/unit_decoder.h"
#include "codec/checks.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

template <typename T>
class AnsReader final : public Reader {
 public:
  explicit AnsReader(const NodeView& node)
      : Reader(node.type, node.count),
        parameters_(ans::parameters_of(node)),
        table_(node),
        starts_(stream_as<uint32_t>(node, ans::kStarts)),
        units_(stream_as<uint32_t>(node, ans::kUnits)) {}

  void decode_tile(uint32_t tile, void* out) override {
    const uint16_t* symbols = load(tile / parameters_.unit_tiles) + tile % parameters_.unit_tiles * kTileRows;
    auto* values = static_cast<T*>(out);
    const auto reference = static_cast<T>(parameters_.reference);
    const uint32_t rows = rows_in_tile(count(), tile);
    for (uint32_t i = 0; i < rows; ++i) values[i] = static_cast<T>(reference + symbols[i]);
  }
  using Reader::decode_tile;

  std::optional<ValueBounds> bounds(uint32_t) const override {
    const int128_t low = dispatch_typed(type(), [&](auto tag) {
      using V = decltype(tag);
      if constexpr (sizeof(V) == sizeof(T)) return static_cast<int128_t>(static_cast<V>(parameters_.reference));
      return int128_t{0};
    });
    return ValueBounds{low, low + parameters_.symbols - 1};
  }

 private:
  const uint16_t* load(uint32_t unit) {
    if (unit == unit_) return symbols_.data();
    const uint32_t rows = ans::rows_in_unit(count(), parameters_.unit_tiles, unit);
    symbols_.resize(std::max(symbols_.size(), size_t{ans::steps_of(rows)} * kLanes));
    const std::span<const uint32_t> words(units_ + starts_[unit], units_ + starts_[unit + 1]);
    mark_corrupt(!ans::decode_unit(table_, ans::unit_loops(), words, rows, symbols_.data()));
    unit_ = unit;
    return symbols_.data();
  }

  ans::Parameters parameters_;
  ans::Table table_;
  const uint32_t* starts_;
  const uint32_t* units_;
  uint32_t unit_ = ~0u;
  std::vector<uint16_t> symbols_;
};

}  // namespace

std::unique_ptr<Reader> AnsCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    if constexpr (sizeof(tag) <= 8) return std::make_unique<AnsReader<decltype(tag)>>(node);
    throw Error(ErrorCode::kInternal, "ans holds integers of up to 64 bits");
  });
}

}  // namespace basalt
