// One code per row, and a dictionary that is neither empty nor larger than the rows can use.
#include <algorithm>
#include <array>

#include "codec/checks.h"
#include "codec/dict/dict.h"
#include "codec/dict/layout.h"

namespace basalt {

void DictCodec::validate(const NodeView& node) const {
  check_stream_count(node, 0);
  check_params(node, 0);
  check_child_count(node, dict::kCodes, node.count);
  const NodeView& entries = node.children[dict::kEntries];
  if (entries.count > node.count || (entries.count == 0) != (node.count == 0)) {
    fail_corrupt(node, std::to_string(entries.count) + " entries for " + std::to_string(node.count) + " rows");
  }
  // They are decoded as a whole. All differ, and what differs takes bits: only arithmetic sequences do with next to
  // none, and those are not longer than a chunk.
  constexpr uint64_t kMostPerByte = 16;
  if (entries.count > kMaxChunkRows + kMostPerByte * encoded_bytes(entries)) {
    fail_corrupt(node, std::to_string(entries.count) + " entries in " + std::to_string(encoded_bytes(entries)) +
                           " bytes cannot all differ");
  }
  if (!entries.codec->point_access()) {
    fail_corrupt(node, "its entries are encoded as " + std::string(entries.codec->name()) +
                           ", which has no access to single rows");
  }
}

// Kernels that compare codes instead of values rely on every code having an entry.
void DictCodec::check_values(const NodeView& node) const {
  const NodeView& codes = node.children[dict::kCodes];
  const uint64_t entries = node.children[dict::kEntries].count;
  const std::unique_ptr<Reader> reader = open_reader(codes);
  if (stays_below(codes, *reader, entries)) return;
  std::array<uint32_t, kTileRows> tile_codes;
  uint32_t largest = 0;
  for (uint32_t tile = 0; tile < tile_count(codes.count); ++tile) {
    reader->decode_tile(tile, tile_codes.data());
    const uint32_t rows = rows_in_tile(codes.count, tile);
    for (uint32_t i = 0; i < rows; ++i) largest = std::max(largest, tile_codes[i]);
  }
  if (reader->corrupt()) fail_corrupt(node, "its codes break the rules of their encoding");
  if (codes.count > 0 && largest >= entries) {
    fail_corrupt(node, "code " + std::to_string(largest) + " of " + std::to_string(entries) + " entries");
  }
}

uint64_t DictCodec::held_bytes(const NodeView& node) const {
  return node.children[dict::kEntries].count * width_of(node.type);
}

}  // namespace basalt
