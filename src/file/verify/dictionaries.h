// Dictionaries: of single arrays, whose entries ascend, and of whole files, which hold the entries of all chunks.
#pragma once

#include <cstdint>

#include "basalt/file/reader.h"

namespace basalt::format_v1 {

// Whether the entries of every dictionary in a tree ascend strictly: comparisons of codes lean on it, reading does not.
// Throws Error(kCorrupt), and Error(kOutOfMemory) where a tile's entries exceed the limit.
void check_dictionaries(const NodeView& root, const DecodeLimits& limits);

// The union of what the chunks hold, ascending, each entry in some chunk, and every chunk's entry where its map says. A
// column without a dictionary over the whole file passes. Throws Error(kCorrupt) that names the column.
void check_file_dictionary(const File& file, uint32_t field_id, const DecodeLimits& limits);

}  // namespace basalt::format_v1
