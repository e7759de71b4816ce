// What the writer knows of one column: the metadata of its chunks so far, the regions that wait for their place in the
// file, the statistics and the dictionary. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/output_file.h"
#include "file/dictionary.h"
#include "file/encode_column.h"
#include "file/statistics.h"

namespace basalt::format_v1 {

// Codecs and encoding trees of a file, numbered in the order of their first use.
class ShapeTable {
 public:
  uint16_t add(const Tree& tree);
  const std::vector<Tree>& shapes() const { return shapes_; }
  const std::vector<std::string>& codecs() const { return codecs_; }
  uint16_t codec_index(const std::string& name) const;

 private:
  std::vector<Tree> shapes_;
  std::vector<std::string> codecs_;
  std::map<std::string, uint16_t> by_text_;
};

struct ChunkRecord {
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;
  uint64_t region_offset = 0;
  uint64_t region_length = 0;
  uint64_t distinct = 0;
  uint16_t shape = 0;
  uint16_t flags = 0;
  uint32_t reserved = 0;
};

// The metadata of encoded arrays, one after the other.
struct ArrayRecords {
  std::vector<NodeRecord> nodes;
  std::vector<uint8_t> params;
  std::vector<StreamRecord> streams;
  std::vector<uint64_t> checksums;

  void append(const EncodedArray& array);
};

class ColumnWriter {
 public:
  explicit ColumnWriter(const Field& field);

  // Takes an encoded chunk, in chunk order.
  void add(EncodedColumn chunk, ShapeTable& shapes);
  // Gives all waiting regions their places.
  void flush(OutputFile& out);
  // Then, when all columns have theirs: of streams that are those of another column.
  void place_shared(const std::vector<ColumnWriter>& columns);
  // At the end: writes what chunks share, where any does.
  void write_entries(const SharedEntries& entries, OutputFile& out);
  // Writes what the file-wide dictionary adds, and its metadata; nullopt if the column has none.
  std::optional<std::vector<uint8_t>> write_dictionary(uint32_t field_id, const ArrayEncoder& encoder, OutputFile& out,
                                                       ShapeTable& shapes);
  std::vector<uint8_t> metadata(uint32_t field_id) const;

  uint64_t waiting_bytes() const { return waiting_bytes_; }
  DictionaryUnion& dictionary() { return dictionary_; }
  const std::vector<uint16_t>& shapes() const { return shapes_; }
  const std::vector<std::string>& encodings() const { return encodings_; }  // the shapes as they are shown
  const std::vector<uint64_t>& shape_chunks() const { return shape_chunks_; }
  Statistics statistics() const { return statistics_.result(); }
  uint64_t plain_bytes() const { return plain_bytes_; }
  uint64_t encoded_bytes() const { return encoded_bytes_; }

 private:
  struct Waiting {
    uint32_t chunk = 0;
    size_t first_stream = 0;
    size_t stream_count = 0;
    size_t small_offset = 0;
    Buffer own;
  };
  ArrayRecords whole_arrays() const;
  void add_widths(const std::vector<uint64_t>& tiles, uint64_t times);

  struct WaitingShared {
    uint32_t chunk = 0;
    SharedStreams streams;  // counted from the column's first
  };
  struct EntriesPlace {
    size_t node = 0;
    size_t stream = 0;
    size_t checksum = 0;
    size_t param = 0;
    Tree tree;
  };

  Physical type_;
  std::vector<ChunkRecord> chunks_;
  ArrayRecords arrays_;
  ZoneBounds zones_;
  std::vector<uint64_t> width_tiles_;
  std::vector<uint16_t> shapes_;
  std::vector<std::string> encodings_;
  std::vector<uint64_t> shape_chunks_;
  ColumnStatistics statistics_;
  DictionaryUnion dictionary_;
  std::vector<EntriesPlace> entries_places_;
  uint64_t plain_bytes_ = 0;
  uint64_t encoded_bytes_ = 0;
  // Small regions wait in one piece: thousands of columns with tiny chunks must not cost an allocation each.
  std::vector<Waiting> waiting_;
  std::vector<WaitingShared> waiting_shared_;
  std::vector<size_t> stream_ends_;  // of the chunks
  std::vector<SharedEntriesPlace> entries_open_;
  ArrayRecords entries_;  // what belongs there
  Buffer small_;
  uint64_t waiting_bytes_ = 0;
};

}  // namespace basalt::format_v1
