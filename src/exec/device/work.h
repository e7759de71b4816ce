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

// A type without reference and const.
template <typename A>
struct Bare {
  using type = A;
};
template <typename A>
struct Bare<const A> {
  using type = A;
};
template <typename A>
struct Bare<A&> {
  using type = typename Bare<A>::type;
};
template <typename A>
struct Bare<A&&> {
  using type = typename Bare<A>::type;
};

// A work item: neighbouring tiles of one chunk, for one warp. Several at a time, so that what tiles share (pointers,
// literals looked up in a dictionary) is fetched once, and their entries by one lane each.
constexpr uint32_t kItemTiles = 8;
constexpr uint32_t kItemAllPass = 1u << 31;
struct alignas(16) WorkItem {
  uint32_t slot;     // of the chunk in the batch
  uint32_t tile;     // the first, within its chunk
  uint32_t tiles;    // how many, 1 … kItemTiles; kItemAllPass: statistics say that all rows pass the filter
  uint32_t ordinal;  // of the first tile among all tiles of the launch
};

// A literal of the statement as raw bits: integers sign-extended to 128, floats in their own width.
struct Literal {
  uint64_t low;
  uint64_t high;
};

// Everything a generated kernel is given; `literals` is as long as the kernel has literals.
constexpr uint32_t kMaxLiterals = 128;
struct Parameters {
  const WorkItem* work;
  const uint64_t* slots;  // per chunk of the batch: its rows, then each column's words
  uint64_t* partials;     // one record per block
  double* tile_sums;      // per float sum, per tile
  uint32_t work_count;    // items
  uint32_t tile_count;    // of all items together
  Literal literals[kMaxLiterals];
};

// A block's record: live rows and flags, then four words per aggregate: rows that took part; a sum's 192 bits, or the
// bits of a minimum or maximum.
constexpr uint32_t kRecordHead = 2;
constexpr uint32_t kRecordAggregate = 4;
constexpr uint64_t kFlagOverflow = 1;
constexpr uint64_t kFlagBad = 2;

}  // namespace basalt::device
