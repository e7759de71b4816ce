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

// The column's values at ascending numbers, tile by tile.
Column read_rows(const Pipeline& pipeline, uint32_t column, const std::vector<uint64_t>& numbers,
                 const DecodeLimits& limits) {
  const PipelineColumn& wanted = pipeline.columns[column];
  Field field;
  field.type = wanted.type;
  ColumnBuilder out(field);
  size_t at = 0;
  for_each_chunk(pipeline.files, [&](const File& file, uint32_t chunk, uint64_t first) {
    const uint64_t end = first + file.chunks()[chunk].rows;
    if (at == numbers.size() || numbers[at] >= end) return;
    const EncodedChunk encoded = file.read_chunk(wanted.field_id, chunk);
    while (at < numbers.size() && numbers[at] < end) {
      const uint64_t tile_end = numbers[at] / kTileRows * kTileRows + kTileRows;
      const size_t last = static_cast<size_t>(
          std::lower_bound(numbers.begin() + static_cast<ptrdiff_t>(at), numbers.end(), std::min(tile_end, end)) -
          numbers.begin());
      const uint64_t begin = numbers[at];
      const Column rows = decode_rows(encoded.root, wanted.type, begin - first, numbers[last - 1] - first + 1, limits);
      for (; at < last; ++at) out.add_row(rows, numbers[at] - begin);
    }
  });
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
  threads.parallel_for(columns.size(), [&](uint64_t i) {
    const Column ascending = read_rows(pipeline, columns[i], sorted, limits);
    Field field;
    field.type = ascending.type;
    ColumnBuilder in_order(field);
    for (const uint64_t number : numbers) {
      in_order.add_row(ascending, static_cast<uint64_t>(std::ranges::lower_bound(sorted, number) - sorted.begin()));
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
