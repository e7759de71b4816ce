// Descriptors must name widths that the value type has, and tiles that lie inside the words, one after the other.
#include <algorithm>

#include "codec/checks.h"
#include "codec/packed/layout.h"
#include "codec/packed/packed.h"
#include "core/dispatch.h"

namespace basalt {

void PackedCodec::validate(const NodeView& node) const {
  check_stream_count(node, packed::kStreams);
  check_params(node, 0);
  const uint64_t tiles = (node.count + kTileRows - 1) / kTileRows;
  if (tiles > node.streams[packed::kDescriptors].size()) fail_corrupt(node, "fewer descriptors than tiles");
  check_stream_bytes(node, packed::kReferences, tiles * width_of(node.type));
  check_stream_bytes(node, packed::kDescriptors, tiles * sizeof(uint32_t));
  const uint32_t widest = std::min(kMaxPackedWidth, width_of(node.type) * 8);
  const auto* descriptors = stream_as<uint32_t>(node, packed::kDescriptors);
  uint64_t row = 0;
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    const uint32_t width = packed::descriptor_width(descriptors[tile]);
    if (width > widest) {
      fail_corrupt(node, "tile " + std::to_string(tile) + " has width " + std::to_string(width));
    }
    if (descriptors[tile] >> 8 != row) {
      fail_corrupt(node, "tile " + std::to_string(tile) + " does not follow the one before it");
    }
    row += width;
  }
  check_stream_bytes(node, packed::kWords, row * kLanes * sizeof(uint32_t));
}

// Kernels that compare packed bits rely on the reference being the tile's smallest value.
void PackedCodec::check_values(const NodeView& node) const {
  if (!is_integer(node.type)) return;
  const std::unique_ptr<Reader> reader = open(node);
  dispatch_typed(node.type, [&](auto tag) {
    using T = decltype(tag);
    T values[kTileRows];
    const T* references = stream_as<T>(node, packed::kReferences);
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
      if (reader->bounds(tile)) continue;
      reader->decode_tile(tile, values);
      if (*std::min_element(values, values + rows_in_tile(node.count, tile)) >= references[tile]) continue;
      fail_corrupt(node, "a value of tile " + std::to_string(tile) + " is smaller than its reference");
    }
  });
}

}  // namespace basalt
