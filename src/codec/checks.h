// Small helpers of the codecs' validate() functions: each throws Error(kCorrupt) with a sentence.
#pragma once

#include <string>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"

namespace basalt {

[[noreturn]] inline void fail_corrupt(const NodeView& node, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, std::string(node.codec->name()) + ": " + what);
}

inline void check_stream_count(const NodeView& node, size_t expected) {
  if (node.streams.size() == expected) return;
  fail_corrupt(node, std::to_string(node.streams.size()) + " streams instead of " + std::to_string(expected));
}

inline void check_stream_bytes(const NodeView& node, size_t stream, uint64_t expected) {
  if (node.streams[stream].size() == expected) return;
  fail_corrupt(node, "stream " + std::to_string(stream) + " has " + std::to_string(node.streams[stream].size()) +
                         " bytes instead of " + std::to_string(expected));
}

inline void check_params(const NodeView& node, size_t expected) {
  if (node.params.size() == expected) return;
  fail_corrupt(node, std::to_string(node.params.size()) + " parameter bytes instead of " + std::to_string(expected));
}

inline void check_child_count(const NodeView& node, size_t child, uint64_t expected) {
  if (node.children[child].count == expected) return;
  fail_corrupt(node, "child " + std::to_string(child) + " has " + std::to_string(node.children[child].count) +
                         " values instead of " + std::to_string(expected));
}

template <typename T>
const T* stream_as(const NodeView& node, size_t stream) {
  return reinterpret_cast<const T*>(node.streams[stream].data());
}

// Whether no value can reach `end`, whatever the streams hold: of arrays that the device decodes beforehand, where it
// finds damage by itself, nobody need look at the values.
inline bool stays_below(const NodeView& node, const Reader& reader, uint64_t end) {
  if (!node.codec->has_device_form()) return false;
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
    const std::optional<ValueBounds> bounds = reader.bounds(tile);
    if (!bounds || bounds->low < 0 || bounds->high >= static_cast<int128_t>(end)) return false;
  }
  return true;
}

// Tiles of any number of rows that a file may name.
inline uint64_t whole_tiles(uint64_t rows) { return rows / kTileRows + (rows % kTileRows != 0 ? 1 : 0); }

// That a stream of tiles + 1 starts ascends from 0, by `most` at a time; gives the last.
template <typename T>
uint64_t check_starts(const NodeView& node, size_t stream, uint64_t tiles, uint64_t most = UINT64_MAX) {
  if (tiles >= node.streams[stream].size()) fail_corrupt(node, "fewer tile starts than tiles");
  check_stream_bytes(node, stream, (tiles + 1) * sizeof(T));
  const T* starts = stream_as<T>(node, stream);
  uint64_t last = 0;
  for (uint64_t tile = 0; tile <= tiles; ++tile) {
    if (starts[tile] < last || (tile == 0 && starts[0] != 0)) fail_corrupt(node, "tile starts do not ascend from 0");
    if (starts[tile] - last > most) fail_corrupt(node, "a tile has too much");
    last = starts[tile];
  }
  return last;
}

}  // namespace basalt
