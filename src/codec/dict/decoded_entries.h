// A dictionary's strings, decoded: for readers, and for the tests that a device puts to their codes.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/entry_limit.h"

namespace basalt::dict {

// False if they are damaged.
inline bool decode_entries(const NodeView& node, StringRows& out) {
  const auto reader = open_reader(node);
  out.limit = most_entry_bytes(encoded_bytes(node));
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) decode_entry_tile(*reader, tile, out);
  return !reader->corrupt();
}

}  // namespace basalt::dict
