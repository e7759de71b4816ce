// `galp`: floats as integers. A tile of decimal-like values is stored as d = round(v · 10^e · 10^-f), with one pair
// (e, f) per tile; the integers are a child array of any encoding, so that their frame of reference, deltas or runs are
// another codec's work. Values that do not come back bit by bit are exceptions, kept lane by lane, so that each lane of
// a warp finds its own. Tiles whose values are no decimals keep their bit patterns, whole (RAW) or with the upper bits
// replaced by an index into a small dictionary (RD).
//
// streams: 0 schemes           uint8[tiles]    number of the pair (see pair_of), 254 RD, 255 RAW
//          1 dictionaries      Dictionary[groups of 128 tiles]; empty if no tile is RD
//          2 exception starts  uint16[tiles + 1], or uint32 if there are more than 65535 words: first word of the
//          tile's
//                              block; equal to the next: no exceptions. Empty if the array has none
//          3 exceptions        uint32[]        the blocks, tile by tile
// Parameters: none. Children: 0 integers (int32 for float, int64 for double; as many as values).
//
// Block of n ≥ 1 exceptions with values of `bits` bits (those of the type; 16 of RD, where the value is the upper
// part):
//   word 0      n | w << 11                     w: bits of a stored value, ≤ bits
//   base        1 word, or 2 of 64-bit values   only if w < bits: a value is base + the stored number
//   positions   n ≤ 64: a word, bit l: lane l has some; then n bytes, row | 128 if it is the lane's last; zeros to 4
//               n > 64: 32 words, one per lane, bit r: row r is one
//   values      n numbers of w bits, least significant bit first, zeros to 4 bytes
// Row i of a tile is row i / 32 of lane i % 32; positions and values go by lane, then by row.
#pragma once

#include "basalt/core/host_device.h"
#include "core/packed_tile.h"

namespace basalt::galp {

constexpr uint32_t kSchemes = 0;
constexpr uint32_t kDictionaries = 1;
constexpr uint32_t kExceptionStarts = 2;
constexpr uint32_t kExceptions = 3;
constexpr uint32_t kStreams = 4;

constexpr uint32_t kIntegers = 0;

constexpr uint32_t kRd = 254;
constexpr uint32_t kRaw = 255;

// Tiles that share candidates for (e, f), and a dictionary of RD.
constexpr uint32_t kGroupTiles = 128;
constexpr uint64_t kMaxRows = uint64_t{1} << 30;  // whose blocks have fewer than 2^32 words
constexpr uint32_t kMaxLeftBits = 16;
constexpr uint32_t kMaxEntries = 8;
constexpr uint32_t kMaxListed = 64;           // more exceptions than these have row masks
constexpr uint32_t kMaxShortStarts = 0xFFFF;  // words that uint16 starts can point at
constexpr uint32_t kLastOfLane = 0x80;

// Shared memory of a warp for tests of tiles with exceptions; integers that take more leave theirs to it.
constexpr uint32_t kTestBytes = kLanes * 5;
// The same for tests that take tiles in groups: 64 bytes of each, two words of rows for every lane, and what tiles
// share.
constexpr uint32_t kTileGroup = 16;
constexpr uint32_t kTileGroupBytes = kTileGroup * (64 + kLanes * 8) + 80 + kTestBytes;
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t of_integers) {
  return of_integers > kTestBytes ? of_integers : kTestBytes;
}

BASALT_HD constexpr uint32_t groups_of(uint32_t tiles) { return (tiles + kGroupTiles - 1) / kGroupTiles; }

// (e, f) by number: f ≤ e, all f of e = 0, then those of e = 1 … For float e ≤ 10 and f ≤ 9: 10^10 is no int32.
struct Pair {
  uint32_t e;
  uint32_t f;
};
BASALT_HD constexpr uint32_t pair_number(Pair pair) { return pair.e * (pair.e + 1) / 2 + pair.f; }
BASALT_HD constexpr Pair pair_of(uint32_t number) {
  uint32_t e = 0;
  while ((e + 1) * (e + 2) / 2 <= number) ++e;
  return {e, number - e * (e + 1) / 2};
}
BASALT_HD constexpr uint32_t pairs_of(uint32_t type_bits) { return type_bits == 64 ? 190 : 65; }

// Upper parts of bit patterns. The integer of RD is index << right_bits | lower part.
struct Dictionary {
  uint16_t left_bits;  // 1..16; all zero where no tile of the group is RD
  uint16_t size;       // 1..8
  uint16_t entries[kMaxEntries];
};

BASALT_HD uint32_t exception_start(const void* starts, bool is_short, uint32_t tile) {
  return is_short ? static_cast<const uint16_t*>(starts)[tile] : static_cast<const uint32_t*>(starts)[tile];
}

BASALT_HD constexpr uint32_t base_words(uint32_t bits) { return bits == 64 ? 2 : 1; }
BASALT_HD constexpr uint32_t position_words(uint32_t count) {
  return count <= kMaxListed ? 1 + (count + 3) / 4 : kLanes;
}
// Words of a block; `bits` of the values' type, `width` as they are stored.
BASALT_HD constexpr uint32_t block_words(uint32_t count, uint32_t width, uint32_t bits) {
  return count == 0 ? 0 : 1 + (width < bits ? base_words(bits) : 0) + position_words(count) + (count * width + 31) / 32;
}

BASALT_HD constexpr uint32_t block_header(uint32_t count, uint32_t width) { return count | width << 11; }
BASALT_HD constexpr uint32_t header_count(uint32_t header) { return header & 0x7FF; }
BASALT_HD constexpr uint32_t header_width(uint32_t header) { return header >> 11; }
// Whether a block of so many words can begin with this header: only then do its parts lie inside of it.
BASALT_HD constexpr bool header_fits(uint32_t header, uint32_t words, uint32_t bits) {
  const uint32_t count = header_count(header);
  const uint32_t width = header_width(header);
  return count > 0 && count <= kTileRows && width <= bits && block_words(count, width, bits) == words;
}

// A block's parts.
struct Exceptions {
  uint32_t count = 0;
  uint32_t width = 0;
  uint64_t base = 0;
  const uint32_t* positions = nullptr;
  const uint32_t* values = nullptr;

  BASALT_HD static Exceptions of(const uint32_t* block, uint32_t bits) {
    Exceptions out;
    out.count = header_count(block[0]);
    out.width = header_width(block[0]) & 0x7F;
    ++block;
    if (out.width < bits) {
      out.base = block[0];
      if (base_words(bits) == 2) out.base |= static_cast<uint64_t>(block[1]) << 32;
      block += base_words(bits);
    }
    out.positions = block;
    out.values = block + position_words(out.count);
    return out;
  }
  BASALT_HD bool listed() const { return count <= kMaxListed; }
  // Listed: row and end mark of exception i.
  BASALT_HD uint32_t listed_row(uint32_t i) const { return positions[1 + i / 4] >> i % 4 * 8 & 0xFF; }
  BASALT_HD uint64_t value(uint32_t i) const {
    if (width == 0) return base;
    const uint32_t bit = i * width;
    const uint32_t* at = values + bit / 32;
    const uint32_t shift = bit % 32;
    uint64_t stored = at[0] >> shift;
    if (32 - shift < width) stored |= static_cast<uint64_t>(at[1]) << (32 - shift);
    if (64 - shift < width) stored |= static_cast<uint64_t>(at[2]) << (64 - shift);
    return base + (stored & low_bits(width));
  }
};

BASALT_HD uint32_t set_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popc(bits));
#else
  return static_cast<uint32_t>(__builtin_popcount(bits));
#endif
}

// The number of the exception at a row of the tile, or block.count if it is none.
BASALT_HD uint32_t find_exception(const Exceptions& block, uint32_t row) {
  const uint32_t lane = row % kLanes;
  const uint32_t in_lane = row / kLanes;
  if (!block.listed()) {
    if ((block.positions[lane] >> in_lane & 1) == 0) return block.count;
    uint32_t before = set_bits(block.positions[lane] & ((1u << in_lane) - 1));
    for (uint32_t i = 0; i < lane; ++i) before += set_bits(block.positions[i]);
    return before;
  }
  const uint32_t lanes = block.positions[0];
  if ((lanes >> lane & 1) == 0) return block.count;
  uint32_t skip = set_bits(lanes & ((1u << lane) - 1));
  for (uint32_t i = 0; i < block.count; ++i) {
    const uint32_t entry = block.listed_row(i);
    if (skip == 0 && entry % kRowsPerLane == in_lane) return i;
    if ((entry & kLastOfLane) != 0 && skip-- == 0) break;
  }
  return block.count;
}

}  // namespace basalt::galp
