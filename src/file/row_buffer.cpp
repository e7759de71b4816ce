// Gathering rows into chunks.
#include "file/row_buffer.h"

#include <algorithm>
#include <utility>

namespace basalt::format_v1 {

namespace {

uint64_t bytes_between(const Column& column, uint64_t begin, uint64_t end) {
  uint64_t total = column.validity.empty() ? 0 : (end - begin) / 8;
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

uint64_t bytes_between(const Table& table, uint64_t begin, uint64_t end) {
  uint64_t total = 0;
  for (const Column& column : table.columns) total += bytes_between(column, begin, end);
  return total;
}

}  // namespace

RowBuffer::RowBuffer(const Schema& schema, uint64_t chunk_rows, uint64_t chunk_bytes)
    : schema_(schema), chunk_rows_(chunk_rows), chunk_bytes_(chunk_bytes), most_bytes_(2 * chunk_bytes) {
  release();
}

uint64_t RowBuffer::take(const Table& table, uint64_t begin) {
  uint64_t count = std::min({table.rows - begin, chunk_rows_ - rows_, kZoneRows - rows_ % kZoneRows});
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
  if (count > 0) {
    for (size_t i = 0; i < columns_.size(); ++i) append_rows(columns_[i], table.columns[i], begin, begin + count);
  }
  rows_ += count;
  bytes_ += more;
  full_ = full_ || rows_ == chunk_rows_ || (rows_ % kZoneRows == 0 && bytes_ >= chunk_bytes_);
  return count;
}

namespace {

// The next chunk will be about as large as the last one: memory that grows step by step costs half as much again.
void reserve_like(Column& column, const Column& last) {
  column.values.reserve(last.values.size());
  column.bytes.reserve(last.bytes.size());
  column.offsets.reserve(last.offsets.size());
  for (size_t i = 0; i < column.children.size(); ++i) reserve_like(column.children[i], last.children[i]);
}

}  // namespace

std::vector<Column> RowBuffer::release() {
  std::vector<Column> out = std::move(columns_);
  columns_.clear();
  for (size_t i = 0; i < schema_.fields.size(); ++i) {
    columns_.push_back(make_column(schema_.fields[i]));
    if (i < out.size()) reserve_like(columns_[i], out[i]);
  }
  rows_ = 0;
  bytes_ = 0;
  full_ = false;
  return out;
}

}  // namespace basalt::format_v1
