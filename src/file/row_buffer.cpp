// Cutting rows into chunks and putting their columns together.
#include "file/row_buffer.h"

#include <algorithm>
#include <utility>

#include "basalt/codec/codec.h"

namespace basalt::format_v1 {

namespace {

// Bitmaps of NULLs are left out: which tables have one depends on how rows were cut into tables.
uint64_t bytes_between(const Column& column, uint64_t begin, uint64_t end) {
  uint64_t total = 0;
  switch (column.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary:
    case TypeKind::kList: {
      const int64_t* offsets = column.offsets.as<int64_t>();
      total += (end - begin) * 4;
      if (column.type.kind == TypeKind::kList) {
        return total + bytes_between(column.children[0], static_cast<uint64_t>(offsets[begin]),
                                     static_cast<uint64_t>(offsets[end]));
      }
      return total + static_cast<uint64_t>(offsets[end] - offsets[begin]);
    }
    case TypeKind::kStruct:
      for (const Column& child : column.children) total += bytes_between(child, begin, end);
      return total;
    default: return total + (end - begin) * width_of(physical_of(column.type));
  }
}

uint64_t bytes_between(const SharedColumns& table, uint64_t begin, uint64_t end) {
  uint64_t total = 0;
  for (const auto& column : table) total += bytes_between(*column, begin, end);
  return total;
}

}  // namespace

SharedColumns share_columns(Table table) {
  SharedColumns columns;
  columns.reserve(table.columns.size());
  for (Column& column : table.columns) columns.push_back(std::make_shared<const Column>(std::move(column)));
  return columns;
}

uint64_t plain_bytes_of(const ColumnSlices& slices) {
  uint64_t total = 0;
  for (const ColumnSlice& slice : slices) total += bytes_between(*slice.column, slice.begin, slice.end);
  return total;
}

void append_rows_of(const ColumnSlices& slices, uint64_t begin, uint64_t end, Column& target) {
  uint64_t first = 0;  // of the slice
  for (const ColumnSlice& slice : slices) {
    const uint64_t rows = slice.end - slice.begin;
    const uint64_t from = std::clamp(begin, first, first + rows) - first;
    const uint64_t to = std::clamp(end, first, first + rows) - first;
    if (from < to) append_rows(target, *slice.column, slice.begin + from, slice.begin + to);
    first += rows;
  }
}

void gather(ColumnSlices& slices, Column& target) {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  for (const ColumnSlice& slice : slices) {
    rows += slice.end - slice.begin;
    if (slice.column->bytes.empty()) continue;
    const int64_t* offsets = slice.column->offsets.as<int64_t>();
    bytes += static_cast<uint64_t>(offsets[slice.end] - offsets[slice.begin]);
  }
  // Memory that grows step by step would be copied once more.
  if (!target.offsets.empty()) target.offsets.reserve((rows + 1) * sizeof(int64_t));
  target.bytes.reserve(bytes);
  if (target.children.empty()) target.values.reserve(rows * width_of(physical_of(target.type)));
  for (ColumnSlice& slice : slices) {
    append_rows(target, *slice.column, slice.begin, slice.end);
    slice.column.reset();
  }
  slices.clear();
}

RowBuffer::RowBuffer(size_t columns, uint64_t chunk_rows, uint64_t chunk_bytes)
    : chunk_rows_(chunk_rows),
      chunk_bytes_(chunk_bytes),
      most_bytes_(std::max(chunk_bytes, std::min(2 * chunk_bytes, kDecodedLimit))),
      columns_(columns) {}

uint64_t RowBuffer::take(const SharedColumns& table, uint64_t rows, uint64_t begin) {
  uint64_t count = std::min({rows - begin, chunk_rows_ - rows_, kZoneRows - rows_ % kZoneRows});
  uint64_t more = bytes_between(table, begin, begin + count);
  if (bytes_ + more > most_bytes_) {
    // The largest number of rows that stays below the limit; a chunk has at least one row.
    uint64_t low = 0;
    uint64_t high = count;
    while (low + 1 < high) {
      const uint64_t middle = (low + high) / 2;
      (bytes_ + bytes_between(table, begin, begin + middle) > most_bytes_ ? high : low) = middle;
    }
    count = low == 0 && rows_ == 0 ? 1 : low;
    more = bytes_between(table, begin, begin + count);
    full_ = true;
  }
  for (size_t i = 0; i < columns_.size() && count > 0; ++i) {
    ColumnSlices& slices = columns_[i];
    if (!slices.empty() && slices.back().column == table[i] && slices.back().end == begin) {
      slices.back().end += count;
    } else {
      slices.push_back({table[i], begin, begin + count});
    }
  }
  rows_ += count;
  bytes_ += more;
  full_ = full_ || rows_ == chunk_rows_ || (rows_ % kZoneRows == 0 && bytes_ >= chunk_bytes_);
  return count;
}

std::vector<ColumnSlices> RowBuffer::release() {
  std::vector<ColumnSlices> out(columns_.size());
  std::swap(out, columns_);
  rows_ = 0;
  bytes_ = 0;
  full_ = false;
  return out;
}

}  // namespace basalt::format_v1
