// Rows on their way into a chunk. Decides where chunks end: at the row limit, on a multiple of 8192 rows once the plain
// bytes reach their budget, or at any row where even 8192 rows would be far too many bytes. The borders depend on the
// rows alone, not on how they were cut into tables.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/core/host_device.h"

namespace basalt::format_v1 {

class RowBuffer {
 public:
  RowBuffer(const Schema& schema, uint64_t chunk_rows, uint64_t chunk_bytes);

  // Takes rows of the table from `begin` on and gives back how many; when full() the caller takes the chunk first.
  uint64_t take(const Table& table, uint64_t begin);
  bool full() const { return full_; }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }
  // The rows gathered so far; the buffer is empty afterwards.
  std::vector<Column> release();

 private:
  const Schema& schema_;
  uint64_t chunk_rows_;
  uint64_t chunk_bytes_;
  uint64_t most_bytes_;
  std::vector<Column> columns_;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace basalt::format_v1
