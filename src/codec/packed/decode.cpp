// Unpacking tiles and single rows.
#include <algorithm>

#include "codec/checks.h"
#include "codec/packed/layout.h"
#include "codec/packed/packed.h"
#include "codec/range_test.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

namespace {

template <typename T>
class PackedReader final : public Reader {
 public:
  explicit PackedReader(const NodeView& node)
      : Reader(node.type, node.count),
        references_(stream_as<T>(node, packed::kReferences)),
        descriptors_(stream_as<uint32_t>(node, packed::kDescriptors)),
        words_(stream_as<uint32_t>(node, packed::kWords)) {}

  void decode_tile(uint32_t tile, void* out) override {
    const uint32_t descriptor = descriptors_[tile];
    unpack_tile(words_ + packed::descriptor_word(descriptor), packed::descriptor_width(descriptor), references_[tile],
                static_cast<T*>(out));
  }
  uint32_t decode_runs(uint32_t tile, void* values, uint32_t* ends) override {
    if (packed::descriptor_width(descriptors_[tile]) > 0) return 0;
    *static_cast<T*>(values) = references_[tile];
    *ends = rows_in_tile(count(), tile);
    return 1;
  }
  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t tile = rows[i] / kTileRows;
      const uint32_t descriptor = descriptors_[tile];
      const uint64_t offset = packed_row(words_ + packed::descriptor_word(descriptor),
                                         packed::descriptor_width(descriptor), rows[i] % kTileRows);
      to[i] = static_cast<T>(references_[tile] + static_cast<T>(offset));
    }
  }
  using Reader::decode_tile;
  using Reader::gather;

  Answered filter_range(uint32_t tile, int128_t low, int128_t high, uint8_t* out) override {
    if (!is_integer(type())) return Answered::kNot;
    if (!bounds(tile)) return test_decoded(tile, low, high, out);
    const uint32_t width = packed::descriptor_width(descriptors_[tile]);
    const OffsetRange range = offsets_between(low, high, reference(tile), width);
    if (range.none || range.all) {
      std::fill_n(out, kTileRows, range.all ? uint8_t{1} : uint8_t{0});
      return Answered::kByBounds;
    }
    dispatch_width(narrowest(width), [&](auto tag) {
      using U = decltype(tag);
      if constexpr (sizeof(U) <= 8) {
        test_between(offsets<U>(tile), kTileRows, static_cast<U>(range.first), static_cast<U>(range.last), out);
      }
    });
    return Answered::kByRows;
  }
  std::optional<ValueBounds> bounds(uint32_t tile) const override {
    if (!is_integer(type())) return std::nullopt;
    const int128_t low = reference(tile);
    const auto most = static_cast<int128_t>(low_bits(packed::descriptor_width(descriptors_[tile])));
    int128_t high = 0;
    // Values that do not fit wrap around.
    if (__builtin_add_overflow(low, most, &high) || high > largest()) return std::nullopt;
    return ValueBounds{low, high};
  }

 private:
  int128_t smallest() const { return is_signed(type()) ? -(int128_t{1} << (8 * sizeof(T) - 2)) * 2 : int128_t{0}; }
  int128_t largest() const { return static_cast<int128_t>(static_cast<T>(~T{0}) >> (is_signed(type()) ? 1 : 0)); }
  // Where values may wrap around, they are compared as they are.
  Answered test_decoded(uint32_t tile, int128_t low, int128_t high, uint8_t* out) {
    low = std::max(low, smallest());
    high = std::min(high, largest());
    offsets_tile_ = ~0u;
    offsets_.resize(kTileRows * sizeof(T));
    decode_tile(tile, offsets_.data());
    if (low > high) {
      std::fill_n(out, kTileRows, uint8_t{0});
    } else {
      test_between(offsets_.as<T>(), kTileRows, static_cast<T>(low), static_cast<T>(high), out);
    }
    return Answered::kByRows;
  }

  int128_t reference(uint32_t tile) const {
    return dispatch_typed(type(), [&](auto tag) {
      using V = decltype(tag);
      if constexpr (sizeof(V) == sizeof(T)) return static_cast<int128_t>(static_cast<V>(references_[tile]));
      return int128_t{0};
    });
  }
  static uint32_t narrowest(uint32_t width) { return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8; }
  // The tile's values without their reference, kept for the next question about the same tile.
  template <typename U>
  const U* offsets(uint32_t tile) {
    if (offsets_tile_ == tile) return offsets_.as<U>();
    offsets_tile_ = tile;
    offsets_.resize(kTileRows * sizeof(U));
    const uint32_t descriptor = descriptors_[tile];
    unpack_tile(words_ + packed::descriptor_word(descriptor), packed::descriptor_width(descriptor), U{0},
                offsets_.as<U>());
    return offsets_.as<U>();
  }

  Buffer offsets_;
  uint32_t offsets_tile_ = ~0u;
  const T* references_;
  const uint32_t* descriptors_;
  const uint32_t* words_;
};

}  // namespace

std::unique_ptr<Reader> PackedCodec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    return std::make_unique<PackedReader<decltype(tag)>>(node);
  });
}

}  // namespace basalt
