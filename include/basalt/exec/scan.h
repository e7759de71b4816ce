// Reading rows with a filter: zones and dictionaries prune first, then the filter runs tile by tile, and a column is
// decoded only for tiles that still have rows.
#pragma once

#include <memory>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt {

struct ScanCounters {
  uint64_t tiles = 0;
  uint64_t tiles_skipped = 0;   // statistics or dictionary
  uint64_t tiles_all_true = 0;
  uint64_t rows_out = 0;
};

// Scans one chunk of a file; one thread at a time. Batches hold at most 2048 rows (two tiles' survivors).
class ChunkScan {
 public:
  // `columns`: top-level column indices to give back, in order. `filter` refers to `filter_columns` by index (may be
  // nullptr). With `row_numbers` a last bigint column holds each row's number in the file.
  ChunkScan(std::shared_ptr<const File> file, uint32_t chunk, std::vector<uint32_t> columns, const Expr* filter,
            std::vector<PipelineColumn> filter_columns, bool row_numbers = false);
  ~ChunkScan();

  // False at the end. `out` is overwritten; its columns follow `columns`.
  bool next(Table& out);
  const ScanCounters& counters() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace basalt
