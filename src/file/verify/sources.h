// Columns that are encoded by others: that those others are what they are said to be.
#pragma once

#include "basalt/file/reader.h"

namespace basalt::format_v1 {

// Of a chunk: every array that is said to be another column's has that column's places. Throws Error(kCorrupt).
void check_sources(const File& file, uint32_t field, uint32_t chunk);

}  // namespace basalt::format_v1
