// Frame of reference: each tile stores its minimum and the differences to it in as few bits as the largest needs.
#include <algorithm>
#include <bit>

#include "basalt/core/error.h"
#include "codec/codecs.h"
#include "codec/device_names.h"
#include "codec/packed/layout.h"
#include "codec/packed/packed.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

std::unique_ptr<Codec> make_packed() { return std::make_unique<PackedCodec>(); }

namespace {

template <typename T>
struct UnsignedOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct UnsignedOf<int128_t> {
  using type = uint128_t;
};
template <typename T>
using Unsigned = typename UnsignedOf<T>::type;

template <typename U>
uint32_t width_of_range(U range) {
  if constexpr (sizeof(U) == 16) {
    const auto high = static_cast<uint64_t>(range >> 64);
    return high != 0 ? 64 + static_cast<uint32_t>(std::bit_width(high))
                     : static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(range)));
  } else {
    return static_cast<uint32_t>(std::bit_width(range));
  }
}

template <typename T>
struct TileRange {
  T low;
  uint32_t width;
};

template <typename T>
TileRange<T> range_of(const T* values, uint32_t rows) {
  T low = values[0];
  T high = values[0];
  for (uint32_t i = 1; i < rows; ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  using U = Unsigned<T>;
  return {low, width_of_range(static_cast<U>(static_cast<U>(high) - static_cast<U>(low)))};
}

template <typename T>
void encode_typed(const T* values, uint64_t count, Node& node) {
  using U = Unsigned<T>;
  const uint32_t tiles = tile_count(count);
  Buffer& references = node.streams[packed::kReferences];
  Buffer& descriptors = node.streams[packed::kDescriptors];
  Buffer& words = node.streams[packed::kWords];
  references.resize(tiles * sizeof(T));
  descriptors.resize(tiles * sizeof(uint32_t));

  uint64_t row = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const auto range = range_of(values + static_cast<uint64_t>(tile) * kTileRows, rows_in_tile(count, tile));
    if (range.width > kMaxPackedWidth) {
      throw Error(ErrorCode::kUnsupported, "packed: a tile's values span more than 64 bits");
    }
    if (row > packed::kMaxFirstRow) throw Error(ErrorCode::kUnsupported, "packed: the array is too large");
    references.as<T>()[tile] = range.low;
    descriptors.as<uint32_t>()[tile] = packed::make_descriptor(static_cast<uint32_t>(row), range.width);
    row += range.width;
  }
  words.resize(row * kLanes * sizeof(uint32_t));
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t descriptor = descriptors.as<uint32_t>()[tile];
    const uint32_t width = packed::descriptor_width(descriptor);
    if (width == 0) continue;
    uint32_t* to = words.as<uint32_t>() + packed::descriptor_word(descriptor);
    const auto reference = static_cast<U>(references.as<T>()[tile]);
    const auto* from = reinterpret_cast<const U*>(values) + static_cast<uint64_t>(tile) * kTileRows;
    const uint32_t rows = rows_in_tile(count, tile);
    if (rows == kTileRows) {
      pack_tile(from, reference, width, to);
    } else {
      U padded[kTileRows];
      std::copy_n(from, rows, padded);
      std::fill(padded + rows, padded + kTileRows, reference);
      pack_tile(padded, reference, width, to);
    }
  }
}

}  // namespace

Node PackedCodec::encode(const Values& values, const Tree&, Aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  node.streams.resize(packed::kStreams);
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_floating_point_v<T>) encode_typed(values.as<T>(), values.count, node);
  });
  return node;
}

std::optional<Estimate> PackedCodec::estimate(const Sample& sample, ChildChooser&) const {
  const Values& values = sample.values;
  uint64_t rows_of_words = 0;
  bool fits = true;
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_floating_point_v<T>) {
      for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
        const auto range =
            range_of(values.as<T>() + static_cast<uint64_t>(tile) * kTileRows, rows_in_tile(values.count, tile));
        rows_of_words += range.width;
        fits = fits && range.width <= kMaxPackedWidth;
      }
    }
  });
  if (!fits) return std::nullopt;
  // A tile takes its full size whatever its rows: scale by tiles, not by rows.
  const uint32_t sampled = tile_count(values.count);
  const double tiles = tile_count(sample.total_rows);
  const double per_tile = sampled == 0 ? 0 : static_cast<double>(rows_of_words) * kLanes * 4 / sampled;
  return Estimate{tiles * (per_tile + 4 + width_of(values.type)), {"packed", {}}};
}

DeviceReader PackedCodec::device_reader(const NodeView& node) const {
  DeviceReader reader = device_reader_named("Packed", node);
  reader.type.takes_widths = true;
  reader.direct = true;
  if (width_of(node.type) <= 8) {
    reader.filter_sum = device_filter_sum_named("PackedFilterSum", node);
    reader.filter_sum.takes_widths = true;
  }
  return reader;
}

}  // namespace basalt
