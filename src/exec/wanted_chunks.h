// Chunks of columns by the rows that are wanted of them, and how many of them are worked on together: what a backend
// plans with that fetches values by the numbers of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/cpu/fetch_rows.h"

namespace basalt::exec {

// A chunk of a column of a file.
struct ChunkToLoad {
  std::shared_ptr<const File> file;
  uint32_t field_id = 0;
  uint32_t chunk = 0;

  // Error(kCorrupt) where the column has other chunks than its table.
  const ColumnChunkInfo& info() const;
  std::string name() const;  // for errors
};

// Of wanted rows in the order of their numbers, those of a chunk: [begin, begin + count).
struct WantedChunk {
  ChunkToLoad at;
  size_t column = 0;       // of the fields that were asked for
  uint64_t first_row = 0;  // the number of the chunk's first one
  uint64_t begin = 0;
  uint64_t count = 0;
};

// Chunks that have wanted rows, column after column. `firsts`: first_rows_of() the files; `below`: how many wanted rows
// have a number below each of these.
std::vector<WantedChunk> wanted_chunks(const FileList& files, const std::vector<uint32_t>& fields,
                                       const std::vector<uint64_t>& firsts, const std::vector<uint64_t>& below);

// Memory that decoding the strings of a chunk takes: beside the text some for each row, for places, hashes and a table
// twice as large.
uint64_t bytes_to_decode(const ColumnChunkInfo& info);

// Items of these sizes in batches of at most `most` bytes, or of one item: where each batch ends.
std::vector<size_t> batch_ends(const std::vector<uint64_t>& bytes, uint64_t most);

}  // namespace basalt::exec
