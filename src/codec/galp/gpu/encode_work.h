// What the device encoder keeps in device memory while it works on an array, and what it gives out. Plain structs:
// kernels get them by value, and tests fill them without a GPU.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/galp/choose.h"

namespace basalt::galp {

constexpr uint64_t kGroupRows = uint64_t{kGroupTiles} * kTileRows;

// Looking for one pair for the whole array.
struct ArraySearch {
  uint32_t wins[pairs_of(64)];
  uint32_t count;
  uint8_t candidates[kCandidatesAtBest];
  uint64_t raw;
  ArrayFit fits[kCandidatesAtBest];
  ArraySchemes found;
};

// What tiles take, and sums of it over the tiles before: words of exceptions, and 128-byte rows of `packed` if that is
// the child. One number, so that one scan finds both; there are at most 2^26 rows.
BASALT_HD constexpr uint64_t make_sizes(uint32_t words, uint32_t rows) { return uint64_t{words} << 32 | rows; }
BASALT_HD constexpr uint32_t exceptions_of(uint64_t sizes) { return static_cast<uint32_t>(sizes >> 32); }
BASALT_HD constexpr uint32_t packed_rows_of(uint64_t sizes) { return static_cast<uint32_t>(sizes); }

template <typename T>
struct EncodedStreams {
  Dictionary* dictionaries;  // nullptr: no tile is RD
  uint16_t* short_starts;    // one of the two, or neither if there are no exceptions
  uint32_t* long_starts;
  uint32_t* exceptions;
  // Either the integers for any child, or the streams of `packed`, except for references: of integers that are in
  // registers already, whose spans are known, another encoder would read each three times.
  IntOf<T>* integers;
  uint32_t* descriptors;
  uint32_t* packed_words;
};

template <typename T>
struct EncodeWork {
  const T* values;
  uint64_t rows;
  uint32_t tiles;
  uint32_t groups;
  bool fast;
  bool best;

  uint8_t* schemes;           // by tile: the stream
  BitsOf<T>* references;      // by tile: of `packed`
  BitsOf<T>* block_bases;     // by tile: of the values of exceptions
  uint8_t* block_widths;      // by tile
  uint64_t* sizes;            // by tile
  Group* found;               // by group
  uint64_t* starts;           // by tile, and the end: sums of the sizes before; then any_dictionary
  uint64_t* any_dictionary;   // whether a group uses one; zero
  uint32_t* uses_dictionary;  // by group; zeros
  // For one pair for all:
  T* samples;           // by group: kSampleRows
  ArraySearch* search;  // zeros

  // Without arrays yet.
  static EncodeWork of(const T* values, uint64_t rows, Effort effort) {
    EncodeWork work{};
    work.values = values;
    work.rows = rows;
    work.tiles = static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows);
    work.groups = groups_of(work.tiles);
    work.fast = effort == Effort::kFast;
    work.best = effort == Effort::kBest;
    return work;
  }

  BASALT_HD uint32_t rows_of(uint32_t tile) const {
    const uint64_t left = rows - uint64_t{tile} * kTileRows;
    return left < kTileRows ? static_cast<uint32_t>(left) : kTileRows;
  }
  BASALT_HD const T* tile_values(uint32_t tile) const { return values + uint64_t{tile} * kTileRows; }
};

// Gives each array its place in one block of memory, which begins at `base` (nullptr: only counts). Returns the bytes.
// Those that have to be zero come last, from `zeros` on.
template <typename T>
size_t place_arrays(EncodeWork<T>& work, unsigned char* base, size_t& zeros) {
  size_t bytes = 0;
  const auto place = [&]<typename U>(U*& array, size_t count) {
    array = base == nullptr ? nullptr : reinterpret_cast<U*>(base + bytes);
    bytes += (count * sizeof(U) + 15) / 16 * 16;
  };
  place(work.schemes, work.tiles);
  place(work.references, work.tiles);
  place(work.block_bases, work.tiles);
  place(work.block_widths, work.tiles);
  place(work.sizes, work.tiles);
  place(work.found, work.groups);
  place(work.samples, size_t{work.groups} * kSampleRows);
  zeros = bytes;
  place(work.starts, size_t{work.tiles} + 2);
  work.any_dictionary = base == nullptr ? nullptr : work.starts + work.tiles + 1;
  place(work.uses_dictionary, work.groups);
  place(work.search, 1);
  return bytes;
}

}  // namespace basalt::galp
