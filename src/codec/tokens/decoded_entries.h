// The texts that ids stand for, decoded.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/entry_limit.h"
#include "codec/tokens/layout.h"

namespace basalt::tokens {

// False if they are damaged, which may make them of any size: nothing is decoded behind the first such tile.
inline bool decode_entries(const NodeView& node, StringRows& out) {
  const auto reader = open_reader(node);
  out.limit = most_entry_bytes(encoded_bytes(node));
  bool sound = true;
  for (uint32_t tile = 0; sound && tile < tile_count(node.count); ++tile) {
    size_t entry = out.size();
    decode_entry_tile(*reader, tile, out);
    sound = !reader->corrupt();
    for (; entry < out.size(); ++entry) {
      const size_t bytes = out.at(entry).size();
      sound = sound && bytes > 0 && bytes <= kLongestEntry;
    }
  }
  return sound;
}

}  // namespace basalt::tokens
