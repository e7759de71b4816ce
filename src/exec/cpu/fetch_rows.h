// A few rows by their numbers, read from the files and evaluated on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

using FileList = std::vector<std::shared_ptr<const File>>;

// Rows are numbered over all chunks of all files in order; those of a chunk begin on a multiple of a tile's rows.
// first_rows_of: the numbers of each chunk's first row, and one behind the last.
std::vector<uint64_t> first_rows_of(const FileList& files);
// Numbers of at most `limit` rows behind the first `offset`.
std::vector<uint64_t> row_numbers(const FileList& files, uint64_t offset, uint64_t limit);

// What a sink of rows says of the rows with these numbers, in their order; neither its filter nor its order counts.
Table fetch_rows(const Pipeline& pipeline, const std::vector<uint64_t>& numbers, ThreadPool& threads,
                 const RunOptions& options);

}  // namespace basalt::exec
