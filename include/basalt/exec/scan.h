// Reading rows with a filter: zones and dictionaries prune first, then the filter runs tile by tile, and a column is
// decoded only for tiles that still have rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "basalt/core/arrow.h"
#include "basalt/core/column.h"
#include "basalt/exec/column_cache.h"
#include "basalt/exec/pipeline.h"

namespace basalt {

struct ScanCounters {
  TileCounts tiles;
  uint64_t rows_out = 0;
};

namespace exec {
class SharedChunk;
}

// A part of a chunk: whole tiles of it. Parts of one chunk that several threads scan share what they read.
struct ChunkPart {
  uint32_t first_tile = 0;
  uint32_t end_tile = ~0u;  // beyond the chunk: to its end
  std::shared_ptr<exec::SharedChunk> shared;
  // Of the chunk's rows only these, counted from its first.
  uint64_t first_row = 0;
  uint64_t end_row = ~uint64_t{0};
};
// At most `wanted` parts of a chunk, in order, each of 64 tiles or more unless the chunk has fewer: smaller ones cost
// more than they gain. One part shares nothing.
std::vector<ChunkPart> split_chunk(const File& file, uint32_t chunk, uint32_t wanted);
// Leaves out what lies outside of rows [first_row, end_row) of the chunk.
ChunkPart clip_part(ChunkPart part, uint64_t first_row, uint64_t end_row);

// Scans one chunk of a file, or a part of it; one thread at a time. Batches hold at most `batch_rows` rows, at least a
// tile's survivors; fewer where strings are so long that these would take more than 16 MiB.
class ChunkScan {
 public:
  // `columns`: top-level column indices to give back, in order. `filter` refers to `filter_columns` by index (may be
  // nullptr). With `row_numbers` a last bigint column holds each row's number in the file. `limits` hold for one row,
  // one nested column, and one tile of strings that a filter reads; cancellation is looked for in every tile.
  ChunkScan(std::shared_ptr<const File> file, uint32_t chunk, std::vector<uint32_t> columns, const Expr* filter,
            std::vector<PipelineColumn> filter_columns, bool row_numbers = false, uint32_t batch_rows = 2048,
            ChunkPart part = {}, DecodeLimits limits = {});
  ~ChunkScan();

  // From now on, top-level strings that are stored as places in a list of at most so many come as these: the column's
  // `values` are numbers of 32 bits, and entries() is the list. Where a filter leaves few rows, only short lists do.
  void give_codes(uint64_t most_entries);
  // Before the first rows: columns that are not nested are found there, and left there for others. The file must be one
  // of this use's.
  void use_cache(ColumnCache::Use* cache);
  // False at the end. `out` is overwritten; its columns follow `columns`.
  bool next(Table& out);
  // Of a column of the last batch; nullptr: it has strings of its own. The same for all batches, until this is gone.
  const StringRows* entries(size_t column) const;
  const ScanCounters& counters() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

struct ScanOptions {
  std::vector<std::string> columns;  // empty = all, in the file's order
  // A predicate that refers to `filter_columns` by index (see basalt/exec/expressions.h for building one).
  bool has_filter = false;
  Expr filter;
  std::vector<PipelineColumn> filter_columns;
  bool row_numbers = false;  // a last bigint column `file_row_number`
  uint32_t threads = 0;      // 0 = all cores
  const CancelToken* cancel = nullptr;
  uint64_t decoded_limit = kDecodedLimit;  // of rows of a chunk that wait to be given out, and as for ChunkScan
  std::function<void(double)> progress;    // share of chunks done, 0..1; called from next()
};

// A stream of tables over whole files, in their order, whatever the threads: chunks are scanned ahead in parallel, as
// many as there are threads. All files must have the columns asked for, with the same types.
class Scan {
 public:
  Scan(std::vector<std::shared_ptr<const File>> files, ScanOptions options = {});
  ~Scan();  // waits for chunks in progress, which stop early
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  const Schema& schema() const;
  // The next rows, at most 65,536; false at the end. Throws Error(kCancelled) after a cancellation.
  bool next(Table& out);
  // Sums over the chunks given so far.
  const ScanCounters& counters() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// The same as an Arrow stream that owns the scan.
void export_scan(std::unique_ptr<Scan> scan, ArrowArrayStream* out);

}  // namespace basalt
