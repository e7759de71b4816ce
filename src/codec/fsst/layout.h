// `fsst`: the bytes of strings as codes of frequent pieces. A table holds up to 255 symbols of 1 to 8 bytes; a row
// becomes one byte per symbol, the symbol's number, and byte 255 says that the next byte stands for itself. Symbols
// never cross the end of a row, nor of a piece of 4096 plain bytes of a longer row, so that every row, and every piece
// of a long one, decodes without its neighbours.
//
// streams: 0 tables        uint32[tables + 1], where in the stream each table begins, the last entry being its size;
// then
//                          the tables, each on a multiple of 4 bytes. Table t serves tiles t · 2^shift and following
//          1 starts        uint64[tiles + 1], where each tile's codes begin, the last entry being the total
//          2 codes         row after row
//          3 piece starts  uint32[tiles + 1], the number of pieces before each tile; empty if no row is long
//          4 pieces        uint16[pieces], code bytes of each piece of the long rows, in order
// Parameters: see Parameters. Children: 0 code lengths (uint32, code bytes per row).
//
// Table: uint8 symbols; uint8 flags (1: no escapes); uint8[8] how many symbols have 1, 2, … 8 bytes; the symbols' bytes
// by code, those of 8 bytes first, those of 1 byte last; zeros up to a multiple of 4.
// No two symbols of three or more bytes of a table begin with the same three bytes.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::fsst {

constexpr uint32_t kTables = 0;
constexpr uint32_t kStarts = 1;
constexpr uint32_t kCodes = 2;
constexpr uint32_t kPieceStarts = 3;
constexpr uint32_t kPieces = 4;
constexpr uint32_t kStreams = 5;

constexpr uint32_t kCodeLengths = 0;

constexpr uint32_t kMaxSymbols = 255;
constexpr uint32_t kMaxSymbolBytes = 8;
constexpr uint32_t kEscape = 255;

constexpr uint32_t kPieceBytes = 4096;  // plain bytes

constexpr uint32_t kSymbolCount = 0;
constexpr uint32_t kTableFlags = 1;
constexpr uint32_t kHistogram = 2;
constexpr uint32_t kTableHeader = kHistogram + kMaxSymbolBytes;
constexpr uint32_t kTableAlignment = 4;
constexpr uint32_t kEscapeFree = 1;

// How rows were cut into symbols; compressing a literal in the same way gives the same codes.
enum class Parse : uint8_t {
  kGreedy = 0,  // the symbol of three or more bytes that fits, else the one of two, else the one of one, else an escape
  kOptimal = 1,  // fewest code bytes; where several symbols lead there, the longest
};

struct Parameters {
  uint8_t parse;
  uint8_t table_shift;  // tiles of a table: 2^table_shift
  uint16_t zeros;
};
constexpr uint32_t kMaxTableShift = 31;

BASALT_HD constexpr uint32_t table_count(uint32_t tiles, uint32_t shift) {
  return tiles == 0 ? 0 : ((tiles - 1) >> shift) + 1;
}
BASALT_HD constexpr bool is_long(uint64_t plain_bytes) { return plain_bytes > kPieceBytes; }
// Entries of the stream `pieces` that a row has.
BASALT_HD constexpr uint64_t pieces_of(uint64_t plain_bytes) {
  return is_long(plain_bytes) ? (plain_bytes + kPieceBytes - 1) / kPieceBytes : 0;
}

// A symbol's bytes, the first one lowest, zeros above its length.
struct Symbol {
  uint64_t value;
  uint32_t length;
};

BASALT_HD constexpr uint64_t lowest_bytes(uint32_t count) {
  return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * count) - 1;
}

// Encoders look symbols of three and more bytes up by their first three, in slots that hold one each: what trainers see
// to. Which slot it is decides which symbols a table can have, never which one a text has.
constexpr uint32_t kSlots = 2048;
BASALT_HD constexpr uint32_t slot_of(uint64_t word) { return static_cast<uint32_t>(word << 8) * 2654435761u >> 21; }

}  // namespace basalt::fsst
