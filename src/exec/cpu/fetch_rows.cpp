#include "exec/cpu/fetch_rows.h"

#include <algorithm>
#include <set>

#include "basalt/core/error.h"
#include "exec/cpu/column_builder.h"
#include "exec/cpu/run_stage.h"
#include "exec/evaluate.h"

namespace basalt::exec {

namespace {

// Calls body(file, chunk, first row's number) for each chunk.
template <typename Body>
void for_each_chunk(const FileList& files, const Body& body) {
  uint64_t next = 0;
  for (const auto& file : files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
      body(*file, chunk, next);
      next += uint64_t{tile_count(file->chunks()[chunk].rows)} * kTileRows;
    }
  }
}

// Numbers [begin, end) of a sorted list, which lie in one chunk.
struct RowsOfChunk {
  const File* file;
  uint32_t chunk;
  uint64_t first;
  size_t begin;
  size_t end;
};

std::vector<RowsOfChunk> by_chunk(const FileList& files, const std::vector<uint64_t>& sorted) {
  std::vector<RowsOfChunk> out;
  size_t at = 0;
  for_each_chunk(files, [&](const File& file, uint32_t chunk, uint64_t first) {
    const size_t begin = at;
    while (at < sorted.size() && sorted[at] < first + file.chunks()[chunk].rows) ++at;
    if (at > begin) out.push_back({&file, chunk, first, begin, at});
  });
  return out;
}

// The column's values at these numbers, tile by tile.
Column read_rows(const PipelineColumn& wanted, const RowsOfChunk& rows, const std::vector<uint64_t>& sorted,
                 const DecodeLimits& limits) {
  Field field;
  field.type = wanted.type;
  ColumnBuilder out(field);
  const EncodedChunk encoded = rows.file->read_chunk(wanted.field_id, rows.chunk);
  for (size_t at = rows.begin; at < rows.end;) {
    const uint64_t begin = sorted[at];
    const uint64_t tile_end = begin / kTileRows * kTileRows + kTileRows;
    size_t last = at + 1;
    while (last < rows.end && sorted[last] < tile_end) ++last;
    const Column values =
        decode_rows(encoded.root, wanted.type, begin - rows.first, sorted[last - 1] - rows.first + 1, limits);
    for (; at < last; ++at) out.add_row(values, sorted[at] - begin);
  }
  return out.take();
}

}  // namespace

std::vector<uint64_t> first_rows_of(const FileList& files) {
  std::vector<uint64_t> out{0};
  for_each_chunk(files, [&](const File& file, uint32_t chunk, uint64_t first) {
    out.back() = first;
    out.push_back(first + uint64_t{tile_count(file.chunks()[chunk].rows)} * kTileRows);
  });
  return out;
}

std::vector<uint64_t> row_numbers(const FileList& files, uint64_t offset, uint64_t limit) {
  std::vector<uint64_t> out;
  uint64_t before = 0;
  for_each_chunk(files, [&](const File& file, uint32_t chunk, uint64_t first) {
    const uint64_t rows = file.chunks()[chunk].rows;
    for (uint64_t row = offset > before ? offset - before : 0; row < rows && out.size() < limit; ++row) {
      out.push_back(first + row);
    }
    before += rows;
  });
  return out;
}

Table fetch_rows(const Pipeline& pipeline, const std::vector<uint64_t>& numbers, ThreadPool& threads,
                 const RunOptions& options) {
  std::set<uint32_t> used;
  for (const Expr& row : pipeline.rows) {
    for (const uint32_t column : columns_of(row)) used.insert(column);
  }
  const std::vector<uint32_t> columns(used.begin(), used.end());
  std::vector<uint64_t> sorted = numbers;
  std::ranges::sort(sorted);
  Table table;
  table.rows = numbers.size();
  table.columns.resize(pipeline.columns.size());
  DecodeLimits limits;
  limits.bytes = options.decoded_limit;
  limits.cancel = options.cancel;
  const std::vector<RowsOfChunk> chunks = by_chunk(pipeline.files, sorted);
  std::vector<Column> parts(columns.size() * chunks.size());
  threads.parallel_for(parts.size(), [&](uint64_t i) {
    parts[i] = read_rows(pipeline.columns[columns[i / chunks.size()]], chunks[i % chunks.size()], sorted, limits);
  });
  threads.parallel_for(columns.size(), [&](uint64_t i) {
    Field field;
    field.type = pipeline.columns[columns[i]].type;
    ColumnBuilder in_order(field);
    for (const uint64_t number : numbers) {
      const auto place = static_cast<size_t>(std::ranges::lower_bound(sorted, number) - sorted.begin());
      const auto chunk = std::ranges::upper_bound(chunks, place, {}, &RowsOfChunk::begin) - 1;
      in_order.add_row(parts[i * chunks.size() + static_cast<size_t>(chunk - chunks.begin())], place - chunk->begin);
    }
    table.columns[columns[i]] = in_order.take();
  });
  Pipeline stage = pipeline;
  stage.files.clear();
  stage.has_filter = false;
  stage.order.clear();
  stage.limit = kAllRows;
  stage.offset = 0;
  RunReport beside;
  return run_stage(stage, {{&table}, {}}, options, beside);
}

}  // namespace basalt::exec
