// Opening and reading .basalt files. Opening reads the footer only; a column's metadata is read when the column is
// first touched, its streams when a chunk is read. Everything is checked before it is used. Thread-safe after open().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "basalt/core/types.h"
#include "basalt/core/value.h"
#include "basalt/file/source.h"

namespace basalt {

// Of a chunk or of a zone (8192 rows) of one column.
struct Statistics {
  uint64_t rows = 0;
  uint64_t null_count = 0;
  // NULL where unknown or where every row is NULL. Strings: at most 64 bytes; max is then rounded up and not exact.
  Value min;
  Value max;
  bool min_exact = true;
  bool max_exact = true;
  bool has_nan = false;  // NaN is not part of min and max
  // Chunks only.
  bool ascending = false;  // never falls, NULLs skipped
  bool descending = false;
  bool strict = false;    // neighbours always differ (with ascending or descending)
  bool constant = false;  // one value, no NULL
  bool dense = false;     // ascending by exactly 1
  uint64_t distinct = 0;  // estimate; 0 = unknown
};

struct ChunkInfo {
  uint64_t first_row = 0;
  uint64_t rows = 0;
};

struct StreamPlace {
  uint64_t offset = 0;  // in the file
  uint64_t length = 0;
};

// One node of a chunk's tree as the metadata describes it, in preorder.
struct NodePlace {
  const Codec* codec = nullptr;  // nullptr: unknown to this build
  std::string_view codec_name;   // the file keeps it
  uint16_t codec_version = 1;
  Physical type = Physical::kU64;
  uint64_t count = 0;
  uint32_t child_count = 0;
  std::vector<std::byte> params;
  std::vector<StreamPlace> streams;
};

// One chunk of one column.
struct ColumnChunkInfo {
  uint64_t rows = 0;  // of this field: elements, for what lies under a list
  uint64_t plain_bytes = 0;
  uint64_t encoded_bytes = 0;  // streams, parameters
  uint64_t shared_bytes = 0;   // of these, streams of other columns, by which it is encoded, and of earlier chunks
  uint32_t shape = 0;          // index into ColumnInfo::shapes
  StreamPlace region;          // one contiguous part of the file that holds all streams the chunk does not share
  std::vector<NodePlace> nodes;
  std::vector<uint64_t> checksums;  // per stream in preorder, per 1 MiB block
  Statistics stats;
  std::vector<Statistics> zones;
  // The same bounds of integers of 64 bits or less, close to each other for those who look at all zones: the smallest
  // values, then the largest ones. Empty where one is not known or there are NULLs.
  std::vector<int64_t> zone_bounds;
};

struct ColumnInfo {
  uint32_t field_id = 0;
  std::string path;  // "a", "a.b": names from the root; long ones are cut, File::path() has them whole
  std::vector<Tree> shapes;
  std::vector<std::string> encodings;  // the shapes as they are shown: other columns by their names
  std::vector<ColumnChunkInfo> chunks;
  uint64_t encoded_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t plain_bytes = 0;
  Statistics stats;  // of the whole column
  // Width of packed tiles → how many tiles, over all packed nodes; generated kernels specialise for the common ones.
  std::vector<uint64_t> width_tiles;  // 65 entries
  // The file-wide sorted dictionary of a dictionary column, if there is one.
  bool has_dictionary = false;
};

// A chunk of a column in memory, encoded, checked and ready to be opened. Movable; `root` points into `bytes`. A struct
// without NULLs stores nothing: its root has no codec.
struct EncodedChunk {
  Buffer bytes;                // the region as it lies in the file
  std::vector<Buffer> shared;  // streams that lie elsewhere
  NodeView root;
};

// What decoding may take. A few bytes of a file can stand for any number of rows: what they would need is compared with
// `bytes` before memory is taken, and Error(kOverLimit) says how much it is at least.
struct DecodeLimits {
  // Of values, 8 for the place of a string or list and 1 for a NULL flag, besides those that they are stored in. ~0:
  // none.
  uint64_t bytes = kDecodedLimit;
  const CancelToken* cancel = nullptr;  // looked at in every tile
};

class File {
 public:
  static std::shared_ptr<File> open(std::shared_ptr<Source> source);
  static std::shared_ptr<File> open(const std::string& path);
  ~File();

  const std::string& name() const;
  // Of what the places in it count from; bytes() is how long the file is, which may be less (docs/format.md, Small
  // files).
  const Source& source() const;
  uint64_t bytes() const;
  const Schema& schema() const;
  uint64_t rows() const;
  const std::vector<ChunkInfo>& chunks() const;
  const std::vector<const Field*>& fields() const;  // flattened; index = field id
  uint32_t format_version() const;
  const std::string& created_by() const;
  const std::vector<std::string>& sort_columns() const;
  const std::vector<std::pair<std::string, std::string>>& metadata() const;  // the writer's own keys and values

  // Of a whole column, from the footer: costs no read.
  const Statistics& statistics(uint32_t field_id) const;
  // The parent of a flattened field; the field itself for top-level columns.
  uint32_t parent(uint32_t field_id) const;
  std::string path(uint32_t field_id) const;

  // Index of a top-level column; throws Error(kInvalidArgument) that lists near names.
  uint32_t find_column(const std::string& name) const;

  // Metadata of a column (a flattened field); read on first use.
  const ColumnInfo& column(uint32_t field_id) const;

  // Reads, checks checksums, validates. Errors name file, column, chunk and byte.
  EncodedChunk read_chunk(uint32_t field_id, uint32_t chunk) const;
  // Chunks [first, first + count), fetched with as few requests as their places allow.
  std::vector<EncodedChunk> read_chunks(uint32_t field_id, uint32_t first, uint32_t count) const;
  // The region of a chunk as raw bytes into caller's memory (pinned staging, say), without validation; and its parts.
  // `verify_chunk` checks the checksums and builds the validated view over such bytes.
  NodeView verify_chunk(uint32_t field_id, uint32_t chunk, ByteView region, std::vector<Buffer>& shared) const;

  // Dictionary columns: the file-wide sorted entries, and the map from a chunk's codes to them (identity if empty).
  EncodedChunk read_dictionary(uint32_t field_id) const;
  std::vector<uint32_t> read_code_map(uint32_t field_id, uint32_t chunk) const;

  // Whole columns of a chunk, decoded, children included. `column` is a top-level field index.
  Column decode_column(uint32_t column, uint32_t chunk, const DecodeLimits& limits = {}) const;

  struct State;

 private:
  explicit File(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Rows [begin, end) of an encoded array as a column of `type`; validity handled. A list gets its offsets, counted from
// `begin`, and a struct its NULLs: their children are columns of their own. Throws Error(kCorrupt) where values break
// the rules of their encoding.
Column decode_rows(const NodeView& root, const DataType& type, uint64_t begin, uint64_t end,
                   const DecodeLimits& limits = {});
// What all rows of an encoded array take when decoded, by the same count; found from lengths alone, which are added up
// only until they exceed the limit.
uint64_t decoded_bytes(const NodeView& root, const DataType& type, const DecodeLimits& limits);

struct ReadOptions {
  std::vector<std::string> columns;  // empty = all
  uint64_t first_row = 0;
  uint64_t rows = ~uint64_t{0};
  uint32_t threads = 0;
  DecodeLimits limits = {};  // for the columns of a chunk together
};
Table read_table(const File& file, const ReadOptions& options = {});
// What its columns are.
Schema read_schema(const File& file, const ReadOptions& options = {});
// The same rows in parts, one for each chunk that has some: take(number, rows) from the thread that decoded the last of
// them, in any order, of several at the same time. If a call throws, so does this, when the others have ended. Nothing
// is put together, so memory is taken once.
void read_parts(const File& file, const ReadOptions& options,
                const std::function<void(size_t part, Table&& rows)>& take);

}  // namespace basalt
