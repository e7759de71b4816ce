#include "file/encoded_chunks.h"

#include <algorithm>

#include "file/planned_reads.h"

namespace basalt {

namespace {

constexpr uint64_t kFetchBytes = 2 << 20;

std::shared_ptr<const RemoteSource::Plan> plan_ranges(const File& file, const std::vector<uint32_t>& columns,
                                                      const std::vector<ChunkRange>& ranges) {
  std::vector<uint32_t> fields;
  for (const uint32_t column : columns) fields.push_back(file.schema().fields[column].id);
  std::vector<uint32_t> chunks;
  for (const ChunkRange& range : ranges) chunks.push_back(range.chunk);
  return plan_chunks(file, fields, chunks);
}

}  // namespace

std::vector<ChunkRange> chunks_of(const File& file, uint64_t first_row, uint64_t rows) {
  std::vector<ChunkRange> out;
  for (uint32_t i = 0; i < file.chunks().size(); ++i) {
    const ChunkInfo& chunk = file.chunks()[i];
    const uint64_t begin = std::max(first_row, chunk.first_row);
    const uint64_t end = std::min(first_row + rows, chunk.first_row + chunk.rows);
    if (begin < end) out.push_back({i, begin - chunk.first_row, end - chunk.first_row});
  }
  return out;
}

EncodedChunks::EncodedChunks(const File& file, const std::vector<uint32_t>& columns,
                             const std::vector<ChunkRange>& ranges)
    : file_(file),
      columns_(columns),
      ranges_(ranges),
      plan_(plan_ranges(file, columns, ranges)),
      fetch_of_(columns.size() * ranges.size()),
      chunks_(columns.size() * ranges.size()) {
  // Sources that are far away are told what is read, and join requests themselves.
  const uint64_t most = is_remote(file) ? 0 : kFetchBytes;
  for (size_t c = 0; c < columns.size(); ++c) {
    const ColumnInfo& info = file.column(file.schema().fields[columns[c]].id);
    uint64_t bytes = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const uint64_t more = info.chunks[ranges[i].chunk].region.length;
      if (i == 0 || bytes + more > most) {
        fetches_.emplace_back(c, i);
        bytes = 0;
      }
      bytes += more;
      ++fetches_.back().count;
      fetch_of_[place(c, i)] = &fetches_.back();
    }
  }
}

EncodedChunk EncodedChunks::take(size_t column, size_t range) {
  Fetch& fetch = *fetch_of_[place(column, range)];
  {
    const std::lock_guard lock(fetch.mutex);
    if (!fetch.is_done) run(fetch);
    if (fetch.failed) std::rethrow_exception(fetch.failed);
  }
  return std::move(chunks_[place(column, range)]);
}

void EncodedChunks::run(Fetch& fetch) {
  fetch.is_done = true;
  try {
    const uint32_t field = file_.schema().fields[columns_[fetch.column]].id;
    std::vector<EncodedChunk> chunks =
        file_.read_chunks(field, ranges_[fetch.first].chunk, static_cast<uint32_t>(fetch.count));
    for (size_t i = 0; i < fetch.count; ++i) chunks_[place(fetch.column, fetch.first + i)] = std::move(chunks[i]);
  } catch (...) {
    fetch.failed = std::current_exception();
  }
}

}  // namespace basalt
