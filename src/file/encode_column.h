// Encoding one column of one chunk: fill the slots under NULLs, compute statistics, choose a tree, encode, and lay the
// streams out as they will lie in the file. Runs on worker threads; only the choice of the tree keeps to chunk order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/encoding/chooser.h"
#include "file/related_trees.h"
#include "file/statistics.h"

namespace basalt::format_v1 {

// Encodes one array, with the effort and on the device that the writer was told; WriteOptions::encoder.
using ArrayEncoder = std::function<Node(const Values&, const Tree&)>;

struct NodeRecord {
  uint64_t count = 0;
  uint32_t param_bytes = 0;
  uint32_t stream_count = 0;
};
struct StreamRecord {
  uint64_t offset = 0;  // from the beginning of the region, until the region has its place in the file
  uint64_t length = 0;
};

// Streams of a column's array that are those at the end of another column's array of the same chunk.
struct SharedStreams {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t field = 0;
};

// Where the array that chunks share has its place in the preorder: one node without parameters.
struct SharedEntriesPlace {
  uint32_t node = 0;
  uint32_t stream = 0;
  uint32_t checksum = 0;
};

// An encoded array laid out in one piece of memory: the records of its nodes in preorder and their streams.
struct EncodedArray {
  Tree tree;  // no codec: nothing is stored
  std::vector<NodeRecord> nodes;
  std::vector<uint8_t> params;
  std::vector<StreamRecord> streams;
  std::vector<uint64_t> checksums;
  std::vector<SharedStreams> shared;        // which are not in the region
  std::vector<SharedEntriesPlace> entries;  // whose streams are known at the end of the file
  Buffer region;
};
// Frees the node's streams on the way. `shares_entries`: places of Codec::shared_child() are left open.
EncodedArray lay_out(Node node, bool shares_entries = false);
// Of values of this type; valid as long as the array is.
NodeView view_of(const EncodedArray& array, Physical type);

// A chunk's dictionary, for the union over the file.
struct DictionaryEntries {
  uint64_t count = 0;
  Buffer values;       // fixed width
  StringRows strings;  // bytes
  // Where the entries' subtree begins in the EncodedArray, so that its streams can be shared.
  uint32_t first_node = 0;
  uint32_t first_stream = 0;
  uint32_t first_checksum = 0;
  uint32_t first_param = 0;
};

struct EncodedColumn {
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;
  EncodedArray array;
  std::string encoding;  // the array's tree as it is shown
  ChunkStatistics statistics;
  std::optional<DictionaryEntries> entries;
  std::vector<uint64_t> width_tiles;  // packed tiles by width, trailing zeros left out

  uint64_t memory() const;
};

// Of a column itself, without its children.
uint64_t own_plain_bytes(const Column& column);

class ColumnEncoder {
 public:
  // `forced` may be empty or have `validity` as its root; it is bound to the type here. `effort`, `purpose` and
  // the link are for choosing a tree.
  ColumnEncoder(const Field& field, const Tree* forced, const ArrayEncoder& encoder, Effort effort, Purpose purpose,
                double link_gbs);

  // Proposes trees that name other columns, before the first chunk; the rest as in RelatedTrees.
  void relate(std::vector<Tree> trees, bool forced, bool one_chunk);
  // When all chunks are encoded: what they share; nullptr if it is nothing.
  const SharedEntries* entries() const { return related_ ? related_->entries() : nullptr; }

  // One of the two is called once per chunk, by any thread, in any order that starts earlier chunks first. encode()
  // overwrites the slots under NULLs and may take the column's memory. `sources`: of the columns that were named, those
  // that the chunk can be encoded by.
  EncodedColumn encode(Column& column, uint32_t chunk, const std::vector<SourceColumn>& sources = {});
  void skip(uint32_t chunk);

  // Set by the writer when the column can no longer have a file-wide dictionary: entries need not be collected.
  std::atomic<bool> wants_entries{true};

 private:
  // The right to choose a tree, which goes from chunk to chunk. Whatever happens, the next chunk gets its turn.
  class Turn;
  std::optional<Tree> choose(const Values& values);
  Tree choose_beside(const Values& values, uint32_t others);
  Node encode_smaller(const Values& values, const Tree& own, const std::optional<Tree>& related) const;
  Node encode_values(const Values& values, const Tree& tree) const;

  Physical type_;
  bool is_struct_;
  std::optional<Tree> forced_values_;
  std::optional<Tree> forced_nullable_;
  const ArrayEncoder& encoder_;
  ShapeChooser chooser_;
  Effort effort_;
  Purpose purpose_;
  std::optional<RelatedTrees> related_;
  std::atomic<uint32_t> turn_{0};
};

}  // namespace basalt::format_v1
