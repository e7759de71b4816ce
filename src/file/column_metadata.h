// The metadata of one column, read and checked: for each chunk the places of its streams, parameters, checksums and
// statistics; and the same for file-wide dictionaries.
#pragma once

#include <atomic>
#include <vector>

#include "basalt/file/reader.h"
#include "file/footer.h"

namespace basalt::format_v1 {

// What parsing needs to know of the file around the column.
struct MetadataContext {
  const FooterData& footer;
  const std::vector<const Field*>& fields;
  uint32_t field_id;
};

// Bytes of memory for the zones of all columns of a file, beyond what the columns' own bytes pay for.
constexpr uint64_t kZoneRoom = 64 << 20;

// Takes what it needs of the file's `zone_room`.
ColumnInfo parse_column(const MetadataContext& context, ByteView bytes, std::atomic<uint64_t>& zone_room);

// One encoded array outside of the chunks.
struct ArrayPlace {
  std::vector<NodePlace> nodes;  // preorder
  std::vector<uint64_t> checksums;
};

struct DictionaryInfo {
  uint64_t entries = 0;
  ArrayPlace values;
  std::vector<ArrayPlace> maps;  // per chunk; no nodes: the identity
};
DictionaryInfo parse_dictionary(const MetadataContext& context, ByteView bytes);

// Behind the nodes below the one at `at`, which are in preorder.
size_t subtree_end(const std::vector<NodePlace>& nodes, size_t at);

// Streams are equal or apart; throws Error(kCorrupt) naming the bytes of the first two that overlap partly.
void check_overlaps(std::vector<StreamPlace> places);

}  // namespace basalt::format_v1
