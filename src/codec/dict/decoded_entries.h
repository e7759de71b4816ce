// A dictionary's strings, decoded: for readers, and for the tests that a device puts to their codes.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt::dict {

// Every reader holds them whole. Entries that rows use again and again are far from this in any chunk that a writer
// makes; more of them only where they are stored in full.
constexpr uint64_t kMostEntryBytes = uint64_t{64} << 20;

// False if they are damaged.
inline bool decode_entries(const NodeView& node, StringRows& out) {
  const auto reader = open_reader(node);
  out.limit = kMostEntryBytes + 2 * encoded_bytes(node);
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, out);
  return !reader->corrupt();
}

}  // namespace basalt::dict
