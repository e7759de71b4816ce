// `tokens`: bytes below `strings` as numbers of words and phrases.
//
// Streams: 0 tile starts  uint64[tiles + 1], which id is the first of each tile, the last entry being their number.
// Parameters: none. Children: 0 ids (uint32, row after row, any number of them); 1 counts (uint32, ids per row);
// 2 entries (bytes, 1…255 each, the most frequent first): what the ids stand for. A row is its ids' entries, one after
// the other; words that have no entry are spelled by entries of one byte.
// An id beyond the entries, an entry of another size and counts that do not add up show only in the values: readers
// report them.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::tokens {

constexpr uint32_t kTileStarts = 0;
constexpr uint32_t kStreams = 1;

constexpr uint32_t kIds = 0;
constexpr uint32_t kCounts = 1;
constexpr uint32_t kEntries = 2;

constexpr uint32_t kLongestEntry = 255;
// So that no damaged tile can ask for more memory than this many ids take.
constexpr uint64_t kMostIdsPerTile = uint64_t{1} << 24;
constexpr uint64_t kMostEntries = uint64_t{1} << 18;

}  // namespace basalt::tokens
