// The footer of a .basalt file, read and checked: schema, chunk directory, codecs, encoding trees, and where each
// column's own metadata lies. Every number in it has been compared with the file before it gets here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/file/reader.h"
#include "basalt/file/source.h"

namespace basalt::format_v1 {

struct CodecEntry {
  std::string name;
  uint16_t version = 1;
  const Codec* codec = nullptr;  // nullptr: this build does not have it
};

struct ShapeEntry {
  struct NodeEntry {
    uint16_t codec = 0;
    uint16_t child_count = 0;
  };
  std::vector<NodeEntry> nodes;  // preorder; each has as many below it as it says
};

struct Block {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t checksum = 0;
};

struct ColumnEntry {
  std::vector<uint16_t> shapes;  // into FooterData::shapes
  Block metadata;
  std::optional<Block> dictionary;
  Statistics stats;
};

struct FooterData {
  uint32_t version = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t rows = 0;
  Schema schema;
  std::vector<CodecEntry> codecs;
  std::vector<ShapeEntry> shapes;
  std::vector<ChunkInfo> chunks;
  std::vector<ColumnEntry> columns;  // one per flattened field
  std::vector<uint32_t> parents;     // of each flattened field; itself for top-level fields
  std::vector<uint32_t> sort_columns;
  std::string created_by;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Names from the root, "a.b". Made when asked for: a long name over many members would multiply.
std::string path_of(const FooterData& footer, const std::vector<const Field*>& fields, uint32_t field_id);

// The same for messages and listings: of a long path only the end, and of a long name only its beginning.
std::string shown_path_of(const FooterData& footer, const std::vector<const Field*>& fields, uint32_t field_id);

// Reads the tail of the file and everything the footer needs, in at most two reads.
FooterData read_footer(const Source& source);

// Reads a metadata block and compares its checksum; errors name the place.
Buffer read_block(const Source& source, const Block& block, const std::string& what);

// The flags and encoded bounds of a zone or column turned into statistics. Throws Error(kCorrupt) on a wrong length.
void set_bounds(Statistics& stats, Physical type, uint8_t flags, ByteView min, ByteView max);

}  // namespace basalt::format_v1
