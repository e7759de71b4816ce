// `ans`: symbols at their entropy. Values lie less than 4096 above their smallest, the reference; what is left is a
// symbol, and rANS (range asymmetric numeral systems) spends log2(1 / share) bits on it. Shares are counted over the
// whole array, out of 2^12, or 2^14 where there are more than 256 symbols.
//
// A unit of 8 or 64 tiles decodes alone. It has 32 states: state l takes rows l, 32 + l, 64 + l, … of the unit, one in
// each step. States are below 2^32; one that falls below 2^16 takes the unit's next word of 16 bits, in the order of
// lanes, so that a warp reads what its lanes want together. The last steps of a unit, its tail, take no words: they use
// up what is in the states.
//
// Parameters: Parameters.
// streams: 0 table   uint8[groups], the bits of the shares of 32 symbols each, filled up to a multiple of 4 bytes; then
//                    for each group its shares in so many bits, least significant first, filled up to a uint32
//          1 starts  uint32[units + 1]  where each unit begins in the last stream, in words of 32 bits
//          2 units   of each: uint32[32] states, uint16 steps of the tail, uint16[] words, filled up to 4 bytes
// An array without rows has no streams' bytes. Children: none.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::ans {

constexpr uint32_t kTable = 0;
constexpr uint32_t kStarts = 1;
constexpr uint32_t kUnits = 2;
constexpr uint32_t kStreams = 3;

struct Parameters {
  uint64_t reference;  // as a number of the values' width, the rest zero
  uint32_t symbols;    // the largest one that occurs, plus one; 0 without rows
  uint32_t unit_tiles;
};
constexpr uint32_t kParameterBytes = 16;
constexpr uint32_t kParameterWords = kParameterBytes / 8;
static_assert(sizeof(Parameters) == kParameterBytes);

constexpr uint32_t kMostSymbols = 4096;
constexpr uint32_t kShortUnit = kTilesPerZone;     // tiles: what statistics cover
constexpr uint32_t kLongUnit = 8 * kTilesPerZone;  // tiles: fewer states beside few words
constexpr uint32_t kLongestUnitSteps = kLongUnit * kRowsPerLane;

// --- shares ---

// Up to this many symbols, a slot of the table is one word, see narrow_slot().
constexpr uint32_t kNarrowSymbols = 256;
constexpr uint32_t kNarrowBits = 12;
constexpr uint32_t kWideBits = 14;
BASALT_HD constexpr bool is_narrow(uint32_t symbols) { return symbols <= kNarrowSymbols; }
BASALT_HD constexpr uint32_t share_bits(uint32_t symbols) { return is_narrow(symbols) ? kNarrowBits : kWideBits; }

constexpr uint32_t kGroup = 32;  // symbols whose shares are stored in equally many bits
BASALT_HD constexpr uint32_t groups_of(uint32_t symbols) { return (symbols + kGroup - 1) / kGroup; }
constexpr uint32_t kMostGroups = kMostSymbols / kGroup;
// Words of the table before the first group's.
BASALT_HD constexpr uint32_t table_head_words(uint32_t symbols) { return (groups_of(symbols) + 3) / 4; }
BASALT_HD constexpr uint32_t symbols_in_group(uint32_t symbols, uint32_t group) {
  const uint32_t left = symbols - group * kGroup;
  return left < kGroup ? left : kGroup;
}
BASALT_HD constexpr uint32_t group_words(uint32_t symbols_in_group, uint32_t width) {
  return (symbols_in_group * width + 31) / 32;
}
// Share `i` of a group; reads words that belong to it only. Widths go up to kWideBits + 1.
BASALT_HD uint32_t group_share(const uint32_t* words, uint32_t width, uint32_t i) {
  if (width == 0) return 0;
  const uint32_t bit = i * width;
  const uint32_t shift = bit & 31;
  uint32_t share = words[bit >> 5] >> shift;
  if (shift + width > 32) share |= words[(bit >> 5) + 1] << (32 - shift);
  return share & ((1u << width) - 1);
}

// --- on the device ---

// In place of the streams, one: the symbols of whole tiles, in one byte each or in two.
constexpr uint32_t kDeviceCodes = 0;
constexpr uint32_t kDeviceStreams = 1;
BASALT_HD constexpr uint32_t code_bytes(uint32_t symbols) { return is_narrow(symbols) ? 1 : 2; }

// --- states ---

constexpr uint32_t kWordBits = 16;
constexpr uint32_t kLeastState = 1u << kWordBits;

BASALT_HD bool wants_word(uint32_t state) { return state < kLeastState; }
BASALT_HD uint32_t take_word(uint32_t state, uint32_t word) { return state << kWordBits | word; }
// Before the tail's first step.
BASALT_HD uint32_t without_least(uint32_t state) { return state - kLeastState; }

struct Step {
  uint32_t symbol;
  uint32_t state;
};

// What decoding looks up. A symbol owns the slots from the sum of the shares before it on, as many as its share.
// Up to 256 symbols: one word per slot, symbol | share − 1 << 8 | place among the symbol's slots << 20.
BASALT_HD uint32_t narrow_slot(uint32_t symbol, uint32_t share, uint32_t place) {
  return symbol | (share - 1) << 8 | place << 20;
}
struct NarrowTable {
  const uint32_t* slots;  // 2^12
  BASALT_HD Step step(uint32_t state) const {
    const uint32_t slot = slots[state & ((1u << kNarrowBits) - 1)];
    return {slot & 0xFF, ((slot >> 8 & 0xFFF) + 1) * (state >> kNarrowBits) + (slot >> 20)};
  }
};
// More symbols: slots name symbols, and these have a word of their own, first slot | share << 16.
BASALT_HD uint32_t wide_symbol(uint32_t first_slot, uint32_t share) { return first_slot | share << 16; }
struct WideTable {
  const uint16_t* slots;    // 2^14
  const uint32_t* symbols;  // 4096
  BASALT_HD Step step(uint32_t state) const {
    const uint32_t place = state & ((1u << kWideBits) - 1);
    const uint32_t symbol = slots[place];
    const uint32_t entry = symbols[symbol];
    return {symbol, (entry >> 16) * (state >> kWideBits) + place - (entry & 0xFFFF)};
  }
};
constexpr uint32_t kNarrowTableBytes = 4u << kNarrowBits;
constexpr uint32_t kWideTableBytes = (2u << kWideBits) + 4 * kMostSymbols;

// --- units ---

BASALT_HD constexpr uint64_t units_of(uint64_t rows, uint32_t unit_tiles) {
  const uint64_t unit_rows = uint64_t{unit_tiles} * kTileRows;
  return rows / unit_rows + (rows % unit_rows != 0 ? 1 : 0);
}
BASALT_HD constexpr uint32_t rows_in_unit(uint64_t rows, uint32_t unit_tiles, uint64_t unit) {
  const uint64_t unit_rows = uint64_t{unit_tiles} * kTileRows;
  const uint64_t left = rows - unit * unit_rows;
  return static_cast<uint32_t>(left < unit_rows ? left : unit_rows);
}
BASALT_HD constexpr uint32_t steps_of(uint32_t rows) { return (rows + kLanes - 1) / kLanes; }
BASALT_HD constexpr uint32_t lanes_in_step(uint32_t rows, uint32_t step) {
  const uint32_t left = rows - step * kLanes;
  return left < kLanes ? left : kLanes;
}
// Of a unit, in words of 32 bits: its states, and the tail with the first of its words.
constexpr uint32_t kLeastUnitWords = kLanes + 1;
// With so many words of 16 bits.
BASALT_HD constexpr uint32_t words_of_unit(uint32_t words) { return kLeastUnitWords + words / 2; }

}  // namespace basalt::ans
