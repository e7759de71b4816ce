// Rows on their way into a chunk. Decides where chunks end: at the row limit, on a multiple of 8192 rows once the plain
// bytes reach their budget, or at any row where even 8192 rows would be far too many bytes. The borders depend on the
// rows alone, not on how they were cut into tables. Rows are not copied here: a chunk is a list of slices of the tables
// that came in, which the threads that encode put together column by column.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/core/host_device.h"

namespace basalt::format_v1 {

// A table whose columns are freed one by one, when nobody needs them any more.
using SharedColumns = std::vector<std::shared_ptr<const Column>>;
SharedColumns share_columns(Table table);

struct ColumnSlice {
  std::shared_ptr<const Column> column;
  uint64_t begin = 0;
  uint64_t end = 0;
};
using ColumnSlices = std::vector<ColumnSlice>;

uint64_t plain_bytes_of(const ColumnSlices& slices);
// Appends rows [begin, end) of all slices to `target`, as gather() does, and keeps them.
void append_rows_of(const ColumnSlices& slices, uint64_t begin, uint64_t end, Column& target);
// Appends the slices' rows to `target`, an empty column of their shape, and lets go of them one by one.
void gather(ColumnSlices& slices, Column& target);

class RowBuffer {
 public:
  RowBuffer(size_t columns, uint64_t chunk_rows, uint64_t chunk_bytes);

  // Takes rows [begin, …) of a table with `rows` rows and gives back how many; when full() the caller takes the chunk
  // first.
  uint64_t take(const SharedColumns& table, uint64_t rows, uint64_t begin);
  bool full() const { return full_; }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }
  // The rows gathered so far, per column; the buffer is empty afterwards.
  std::vector<ColumnSlices> release();

 private:
  uint64_t chunk_rows_;
  uint64_t chunk_bytes_;
  uint64_t most_bytes_;
  std::vector<ColumnSlices> columns_;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace basalt::format_v1
