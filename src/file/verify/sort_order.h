// Whether the rows of a file are sorted as its footer says.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/core/threads.h"
#include "basalt/file/reader.h"

namespace basalt::format_v1 {

// `columns`: field ids, most significant first. Chunks are looked at one by one, each with the last row before it, and
// in them column by column: one decoded column per thread is in memory, and `limits` are its own. Throws
// Error(kCorrupt) with the first row that is out of order.
void check_sort_order(const File& file, const std::vector<uint32_t>& columns, ThreadPool& pool,
                      const DecodeLimits& limits);

}  // namespace basalt::format_v1
