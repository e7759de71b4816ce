// How encoded chunks that lie on a device are known: by everything that describes their arrays, so that two chunks with
// one key have the same bytes, read the same way. A file that was rewritten, or another one under the same name, is
// never mistaken for the old one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "basalt/file/reader.h"
#include "file/column_metadata.h"

namespace basalt::exec {

struct ChunkKey {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ChunkKey&) const = default;
};
struct ChunkKeyHash {
  size_t operator()(const ChunkKey& key) const { return static_cast<size_t>(key.low); }
};

using format_v1::subtree_end;

ChunkKey key_of(const File& file, uint32_t field_id, uint32_t chunk);

// What a dictionary of strings holds: chunks for which it is equal have the same entries. Nothing for other encodings.
std::optional<ChunkKey> dictionary_key(const ColumnChunkInfo& info);

}  // namespace basalt::exec
