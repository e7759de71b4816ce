// What host and generated kernels agree on: the items of the work list, the kernel's parameters and the partial records
// that blocks leave behind.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

template <typename A, typename B>
struct SameType {
  static constexpr bool value = false;
};
template <typename A>
struct SameType<A, A> {
  static constexpr bool value = true;
};

// A work item: the tile within its chunk, whether statistics say that all its rows pass, the chunk's slot in the batch.
constexpr uint32_t kWorkTileBits = 10;
constexpr uint32_t kWorkAllPass = 1u << kWorkTileBits;
constexpr uint32_t kWorkSlotShift = kWorkTileBits + 1;
constexpr uint32_t kMaxSlots = 1u << (32 - kWorkSlotShift);
static_assert(kMaxChunkRows / kTileRows <= 1u << kWorkTileBits);

BASALT_HD uint32_t make_work(uint32_t slot, uint32_t tile, bool all_pass) {
  return slot << kWorkSlotShift | (all_pass ? kWorkAllPass : 0) | tile;
}
BASALT_HD uint32_t work_tile(uint32_t item) { return item & (kWorkAllPass - 1); }
BASALT_HD uint32_t work_slot(uint32_t item) { return item >> kWorkSlotShift; }
BASALT_HD bool work_all_pass(uint32_t item) { return (item & kWorkAllPass) != 0; }

// A literal of the statement as raw bits: integers sign-extended to 128, floats in their own width.
struct Literal {
  uint64_t low;
  uint64_t high;
};

// A hash table of keys (key_tables.cuh) with a power of two of slots.
struct KeyTable {
  uint64_t* slots;
  uint64_t mask;       // slots, less one
  uint64_t hash_mask;  // what counts of a key's hash: all of it, but in tests
  uint32_t* full;      // set when a key found no place
};
// How far a key may lie from its place in a hash table before that counts as full.
constexpr uint32_t kMostProbes = 256;
constexpr uint32_t kMaxDistinct = 8;
// Room for groups that end within a tile (run_groups.cuh), beside the table of the others.
struct RunsTarget {
  uint64_t* keys;
  uint64_t* states;
  uint64_t capacity;  // groups, a multiple of windows, less than 2^32; behind them lies a window that nobody reads
  uint32_t window;    // groups that a warp takes room for at a time, a warp's lanes at least
  uint64_t* taken;    // how much is given away, with what did not fit
  uint32_t* full;     // set when something did not
};
// What a kernel does with the rows that pass, where these themselves are wanted.
enum class RowsMode : uint32_t {
  kCount,   // counts them, work item by work item
  kWrite,   // writes them in the order of the table
  kAppend,  // writes those that may be among the first of an order, as they come
};
struct RowsTarget {
  RowsMode mode;
  uint32_t* counts;  // kCount: by work item
  // A word for each lane of each work item, the rows that passed: kCount leaves them, kWrite does not ask the filter
  // again and keeps kCount's record. nullptr: it does.
  uint32_t* masks;
  const uint64_t* starts;  // kWrite: how many rows come before each work item
  uint64_t begin;          // kWrite: rows [begin, end) are kept, the first of them at place 0
  uint64_t end;
  uint64_t* appended;       // kAppend: how many there are, with those that did not fit
  uint64_t capacity;        // kAppend: how many fit
  uint64_t threshold;       // of an order with a limit: the largest first word of a row that may be among the first
  const uint64_t* outputs;  // addresses of arrays, as RowsPlan lists them; 0: not wanted
};

// Everything a generated kernel is given; `literals` is as long as the kernel has literals.
constexpr uint32_t kMaxLiterals = 128;
struct Parameters {
  const uint32_t* work;
  const uint64_t* slots;  // per chunk of the batch: its rows, then each column's words
  uint64_t* partials;     // one record per block
  double* tile_sums;      // per float sum, per work item
  uint32_t work_count;
  // Of groups: their states, of keys that are no numbers of slots the table of them, and what DISTINCT has seen.
  uint64_t* groups;
  uint64_t group_slots;
  KeyTable group_keys;
  // Hash tables that do not hold all groups at once: only keys of one partition of the hashes are taken.
  uint32_t partition;
  uint32_t partition_mask;  // partitions, a power of two, less one
  RunsTarget runs;
  KeyTable distinct[kMaxDistinct];
  RowsTarget rows;
  Literal literals[kMaxLiterals];
};

// A block's record: live rows, flags, tiles whose filter was answered by bounds and by models, tiles whose strings were
// tested; then four words per aggregate: rows that took part; a sum's 192 bits, or the bits of a minimum or maximum.
constexpr uint32_t kRecordHead = 5;
constexpr uint32_t kRecordRows = 0;
constexpr uint32_t kRecordFlags = 1;
constexpr uint32_t kRecordTiles = 2;  // by bounds, by models
constexpr uint32_t kRecordTexts = 4;
constexpr uint32_t kRecordAggregate = 4;
constexpr uint64_t kFlagOverflow = 1;
constexpr uint64_t kFlagBad = 2;

}  // namespace basalt::device
