// Tests of strings that are places in long lists: the device decodes a list and tests each entry, and the answers are
// the table that kernels look codes up in (codec/dict/filter_table.h). Short lists the host tests itself.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/codec/string_test.h"
#include "cuda/query/chunk_texts.h"

namespace basalt::cuda {

// Whether a chunk's strings are tested so. Looks at metadata only.
bool tests_entries_on_device(const ColumnInfo& column, uint32_t chunk);

struct EntryTable {
  size_t chunk = 0;  // of a list
  const Automaton* test = nullptr;
  std::byte* at = nullptr;  // on the device: entry_table_bytes() of the chunk
};
uint64_t entry_table_bytes(const ColumnChunkInfo& info);

// Writes tables for chunks that are on the device; decodes lists of about `most_bytes` at a time. Waits for the stream.
// Error(kCorrupt) where values break the rules of their encoding.
void make_entry_tables(const std::vector<TextChunk>& chunks, std::vector<EntryTable> tables, uint64_t most_bytes,
                       Modules& modules, cudaStream_t stream);

}  // namespace basalt::cuda
