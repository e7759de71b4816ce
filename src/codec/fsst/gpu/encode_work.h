// What the device encoder works on: shared by its kernels and those who launch them.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/fsst/layout.h"

namespace basalt::fsst {

// A table as kernels look symbols up: small enough for shared memory.
struct alignas(16) EncodeTable {
  static constexpr uint32_t kPairSlots = 1024;
  static constexpr uint8_t kNone = kEscape;

  uint64_t values[256];
  uint32_t pairs[kPairSlots];  // two bytes | code << 16 | 1 << 24, behind their slot where that is taken; 0: free
  uint32_t symbols;            // codes below stand for something
  uint8_t lengths[256];
  uint8_t singles[256];   // code of each byte
  uint8_t slots[kSlots];  // code of symbols of three and more bytes

  BASALT_HD static uint32_t pair_slot(uint32_t pair) { return pair * 40503u >> 6 & (kPairSlots - 1); }

  BASALT_HD void clear_lookups(uint32_t from, uint32_t step) {
    for (uint32_t i = from; i < kPairSlots; i += step) pairs[i] = 0;
    for (uint32_t i = from; i < 256; i += step) singles[i] = kNone;
    for (uint32_t i = from; i < kSlots; i += step) slots[i] = kNone;
  }
  // Makes symbol `code` be found. claim(word, entry) sets a word that is 0 and returns what it was before: what several
  // threads do at once is theirs to say.
  template <typename Claim>
  BASALT_HD void enter(uint32_t code, const Symbol& symbol, Claim&& claim) {
    values[code] = symbol.value;
    lengths[code] = static_cast<uint8_t>(symbol.length);
    if (symbol.length == 1) singles[symbol.value] = static_cast<uint8_t>(code);
    if (symbol.length > 2) slots[slot_of(symbol.value)] = static_cast<uint8_t>(code);
    if (symbol.length != 2) return;
    const auto pair = static_cast<uint32_t>(symbol.value);
    uint32_t slot = pair_slot(pair);
    while (claim(pairs + slot, pair | code << 16 | 1u << 24) != 0) slot = (slot + 1) % kPairSlots;
  }
};

// A piece of a long row.
struct EncodePiece {
  uint64_t row;
  uint64_t first;   // byte of the row
  uint32_t length;  // plain bytes
  uint32_t before;  // pieces of the row before this one
};

// Rows that a warp encodes at once.
constexpr uint32_t kGroupRows = 32;
static_assert(kTileRows % kGroupRows == 0);
// Room for a row's codes at most while they wait for their place: rows that need more are parsed again.
BASALT_HD constexpr uint32_t room_of(uint32_t plain_bytes) { return plain_bytes - plain_bytes / 4; }

// Shared memory that a warp collects codes in: enough for rows of 42 bytes on average. What is left is cache, which
// rows need more: with 3072 bytes comments take 6.8 instead of 6.4 ms per 2.1 GB, texts of 49 to 198 bytes 9.4 instead
// of 7.8.
constexpr uint32_t kGroupStageBytes = 1024;

// An array and where its codes go, in device memory.
struct EncodeWork {
  const uint64_t*
      text;  // row i is bytes [offsets[i] - first_byte, offsets[i + 1] - first_byte); a word behind is readable
  const int64_t* offsets;
  int64_t first_byte;
  uint64_t rows;
  const EncodeTable* tables;
  const uint32_t* table_shift;
  uint64_t most_pieces;                     // that the rows could have; 0: none is long
  uint32_t stage_bytes = kGroupStageBytes;  // 64 at least, a multiple of 16
  uint8_t* steps;  // optimal parse: a byte per byte of text, how many of them the best step takes; nullptr: greedy

  // Pieces of long rows are counted per tile, then listed:
  uint32_t* tile_pieces;         // [tiles]
  const uint64_t* piece_starts;  // [tiles + 1], sums of tile_pieces
  EncodePiece* pieces;           // [most_pieces]

  // Counted first:
  uint32_t* code_lengths;  // [rows], zero before
  uint32_t* group_bytes;   // [groups]
  uint32_t* piece_codes;   // [most_pieces], zero before
  uint32_t* escapes;       // [tables], zero before, 1 where there are any
  uint8_t* waiting;        // [waiting_bytes()] codes that are to be placed, on a multiple of 16; nullptr: none are kept
  // Written then:
  const uint64_t* group_places;  // [groups + 1], sums of group_bytes
  const uint64_t* piece_places;  // [most_pieces], sums of piece_codes
  uint8_t* codes;

  // Codes of a group that have room there, beside what TextStage keeps of its last and first sixteen.
  BASALT_HD uint32_t most_staged() const { return stage_bytes - 32; }
  BASALT_HD uint32_t tiles() const { return static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows); }
  BASALT_HD uint64_t groups() const { return (rows + kGroupRows - 1) / kGroupRows; }

  // Where codes of the group that begins with a row wait. Rounding takes less than a byte per row, and 31 per group.
  BASALT_HD uint64_t waiting_place(uint64_t row) const {
    return (static_cast<uint64_t>(offsets[row] - first_byte) * 3 / 4 + 2 * row) / 16 * 16;
  }
  BASALT_HD static uint64_t waiting_bytes(uint64_t rows, uint64_t plain_bytes) {
    return plain_bytes * 3 / 4 + 2 * (rows + kGroupRows) + 16;
  }
};

// A row of n pieces has more than n / 2 times their size.
BASALT_HD constexpr uint64_t most_pieces_of(uint64_t plain_bytes) { return 2 * plain_bytes / kPieceBytes; }

}  // namespace basalt::fsst
