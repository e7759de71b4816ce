// Codes to text on the device. A warp takes a span of codes, 512 at a time: lanes have 16 each, add up what they stand
// for, find their places by a scan, write symbols to shared memory by words, and the warp copies the text out 16 bytes
// per lane. So lanes work alike however long rows are, and need no row's place: rows follow each other in codes and in
// text. A long row is decoded from its pieces, by as many warps as it takes.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/fsst/gpu/decode_work.h"
#include "codec/strings/gpu/kernels.cuh"

namespace basalt::fsst {

using device::lane_id;
using device::load;
using strings::for_each_rows;
using strings::TextStage;
using strings::WordWriter;

constexpr uint32_t kLaneCodes = 16;
constexpr uint32_t kStepCodes = kLaneCodes * kLanes;
// Text of one step, with what was left of the one before.
constexpr uint32_t kStageBytes = kStepCodes * kMaxSymbolBytes + 32;
// Pieces that one warp decodes.
constexpr uint32_t kPiecesOfWarp = 16;

// A table as kernels look symbols up, in shared memory.
struct alignas(16) StagedTable {
  uint64_t values[256];
  uint8_t lengths[256];
};

// Stages a table; every code is one thread's.
__device__ __forceinline__ void stage_table(const unsigned char* table, StagedTable& to, uint32_t thread,
                                            uint32_t threads) {
  for (uint32_t code = thread; code < 256; code += threads) {
    uint32_t in_class = code;
    uint32_t at = kTableHeader;
    uint32_t length = kMaxSymbolBytes;
    for (; length > 0; --length) {
      const uint32_t symbols = load(table + kHistogram + length - 1);
      if (in_class < symbols) break;
      in_class -= symbols;
      at += symbols * length;
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < length; ++i) {
      value |= static_cast<uint64_t>(load(table + at + in_class * length + i)) << 8 * i;
    }
    to.values[code] = value;
    to.lengths[code] = static_cast<uint8_t>(length);  // 0 of codes beyond the table
  }
}

// A lane's codes of one step: bytes [first, end) of 16.
struct LaneCodes {
  uint64_t low = 0;
  uint64_t high = 0;
  uint32_t first = 0;
  uint32_t end = 0;

  __device__ __forceinline__ uint32_t at(uint32_t i) const {
    return static_cast<uint32_t>((i < 8 ? low >> 8 * i : high >> 8 * (i - 8)) & 0xFF);
  }
  __device__ __forceinline__ bool has(uint32_t i) const { return i >= first && i < end; }
  // How many of the last codes look like escapes.
  __device__ __forceinline__ uint32_t trailing_escapes() const {
    uint32_t run = 0;
#pragma unroll
    for (uint32_t i = 0; i < kLaneCodes; ++i) {
      if (has(i)) run = at(i) == kEscape ? run + 1 : 0;
    }
    return run;
  }
};

// Codes [first, end) of the stream, of which this lane has those from `begin` on. Streams begin on multiples of 16 and
// can be read up to one.
__device__ __forceinline__ LaneCodes load_codes(const unsigned char* codes, uint64_t begin, uint64_t first,
                                                uint64_t end) {
  LaneCodes own;
  if (begin >= end) return own;
  own.first = begin < first ? static_cast<uint32_t>(first - begin) : 0;
  own.end = end - begin < kLaneCodes ? static_cast<uint32_t>(end - begin) : kLaneCodes;
  const auto both = load(reinterpret_cast<const uint128_t*>(codes + begin));
  own.low = static_cast<uint64_t>(both);
  own.high = static_cast<uint64_t>(both >> 64);
  return own;
}

// Calls f(symbol, length) for what the lane's codes stand for; `literal`: the first one is the byte of an escape that
// another lane has.
template <bool kEscapes, typename F>
__device__ __forceinline__ void for_each_symbol(const LaneCodes& codes, const StagedTable& table, bool literal, F&& f) {
#pragma unroll
  for (uint32_t i = 0; i < kLaneCodes; ++i) {
    if (!codes.has(i)) continue;
    const uint32_t code = codes.at(i);
    if (kEscapes && literal) {
      literal = false;
      f(uint64_t{code}, 1u);
    } else if (kEscapes && code == kEscape) {
      literal = true;
    } else {
      f(table.values[code], uint32_t{table.lengths[code]});
    }
  }
}

// Whether each lane's first code is the byte of an escape. `open`: the codes before these end in an escape; becomes
// that of these codes. An escape is open after an odd run of bytes that look like one: a run's first is never a byte of
// another, and 16 of them pass on what came before.
__device__ __forceinline__ bool find_literal(const LaneCodes& codes, bool& open) {
  const uint32_t run = codes.trailing_escapes();
  const bool odd = (run & 1) != 0;
  const uint32_t decide = ~device::ballot(run == kLaneCodes) & ((1u << lane_id()) - 1);
  const uint32_t odd_lanes = device::ballot(odd);
  const bool literal = decide == 0 ? open : (odd_lanes >> device::highest_bit(decide) & 1) != 0;
  const bool stays_open = run == codes.end - codes.first ? literal != odd : odd;
  const uint32_t with_codes = device::ballot(codes.first < codes.end);
  open = device::shuffle(static_cast<uint32_t>(stays_open), device::highest_bit(with_codes)) != 0;
  return literal;
}

template <bool kEscapes>
__device__ __forceinline__ bool decode_span_with(const StagedTable& table, const unsigned char* codes, uint64_t first,
                                                 uint64_t end, unsigned char* stage, unsigned char* out,
                                                 uint64_t plain) {
  TextStage text(stage, out);
  bool open = false;
#pragma unroll 1
  for (uint64_t step = first / kLaneCodes * kLaneCodes; step < end; step += kStepCodes) {
    const LaneCodes own = load_codes(codes, step + lane_id() * kLaneCodes, first, end);
    const bool literal = kEscapes && find_literal(own, open);
    uint32_t bytes = 0;
    for_each_symbol<kEscapes>(own, table, literal, [&](uint64_t, uint32_t length) { bytes += length; });
    const uint32_t before = device::sum_below(bytes);
    const uint32_t all = device::sum_of_lanes(bytes);
    if (all > plain) return false;
    plain -= all;
    WordWriter writer(stage, text.filled() + before);
    for_each_symbol<kEscapes>(own, table, literal,
                              [&](uint64_t symbol, uint32_t length) { writer.put(symbol, length); });
    writer.finish();
    text.push(all);
  }
  text.finish();
  return plain == 0 && !open;
}

// Decodes codes [first, end) to exactly `plain` bytes at `out`; by the whole warp. False if they give any other number:
// then `out` holds anything, and nothing behind it was written. `stage`: kStageBytes, on a multiple of 16.
__device__ __forceinline__ bool decode_span(const StagedTable& table, bool escape_free, const unsigned char* codes,
                                            uint64_t first, uint64_t end, unsigned char* stage, unsigned char* out,
                                            uint64_t plain) {
  if (first >= end) return first == end && plain == 0;
  return escape_free ? decode_span_with<false>(table, codes, first, end, stage, out, plain)
                     : decode_span_with<true>(table, codes, first, end, stage, out, plain);
}

__device__ __forceinline__ const unsigned char* table_of(const DecodeWork& work, uint32_t table) {
  return work.tables + load(reinterpret_cast<const uint32_t*>(work.tables) + table);
}
__device__ __forceinline__ bool is_escape_free(const DecodeWork& work, uint32_t table) {
  return load(table_of(work, table) + kTableFlags) == kEscapeFree;
}

// Where a tile's codes and text lie.
struct TileSpan {
  uint64_t codes;
  uint64_t codes_end;
  uint64_t text;
  uint64_t text_end;
  bool escape_free;

  __device__ __forceinline__ TileSpan(const DecodeWork& work, uint32_t tile)
      : codes(load(work.starts + tile)),
        codes_end(load(work.starts + tile + 1)),
        text(load(work.text_starts + tile)),
        text_end(load(work.text_starts + tile + 1)),
        escape_free(is_escape_free(work, tile >> work.table_shift)) {}
};

// The text of a tile's rows that are not long, one run of them after the other.
template <typename Lengths, typename CodeLengths>
__device__ __noinline__ bool decode_between_long(const DecodeWork& work, const StagedTable& table, uint32_t tile,
                                                 unsigned char* stage) {
  const TileSpan span(work, tile);
  const uint32_t rows = device::rows_of_tile(work.rows, tile);
  Lengths lengths;
  lengths.open(work.lengths, tile, nullptr);
  CodeLengths code_lengths;
  code_lengths.open(work.code_lengths, tile, nullptr);
  bool fits = true;
  uint64_t run_codes = span.codes;  // rows since the last long one begin here
  uint64_t run_text = 0;
  uint64_t codes = span.codes;
  uint64_t pieces = load(work.piece_starts + tile);
  const auto decode_run = [&](uint64_t codes_end, uint64_t text_end) {
    fits = fits && codes_end <= span.codes_end &&
           decode_span(table, span.escape_free, work.codes, run_codes, codes_end, stage,
                       work.text + span.text + run_text, text_end - run_text);
  };
  const uint64_t text = for_each_rows(lengths, rows, [&](uint32_t k, uint64_t length, uint64_t place) {
    const uint64_t own = k * kLanes + lane_id() < rows ? code_lengths.at(k) : 0;
    const uint64_t before = codes + device::sum_below(own);
    for (uint32_t waits = device::ballot(is_long(length)); waits != 0; waits &= waits - 1) {
      const auto owner = static_cast<uint32_t>(__ffs(static_cast<int>(waits)) - 1);
      const uint64_t long_codes = device::shuffle(before, owner);
      const uint64_t long_text = device::shuffle(place, owner);
      decode_run(long_codes, long_text);
      run_codes = long_codes + device::shuffle(own, owner);
      const uint64_t long_length = device::shuffle(length, owner);
      run_text = long_text + long_length;
      pieces += pieces_of(long_length);
    }
    codes = device::shuffle(before + own, kLanes - 1);
  });
  decode_run(codes, text);
  // Pieces are decoded by other warps, as many as there are: none may be missing.
  return fits && codes == span.codes_end && pieces == load(work.piece_starts + tile + 1);
}

// Rows' places, and the text of all rows that are not long; by the whole warp. False if something does not fit.
template <typename Lengths, typename CodeLengths>
__device__ __forceinline__ bool decode_tile(const DecodeWork& work, const StagedTable& table, uint32_t tile,
                                            unsigned char* stage) {
  const TileSpan span(work, tile);
  if (!strings::place_rows<Lengths>(work, tile)) return false;
  if (work.piece_starts != nullptr && load(work.piece_starts + tile) != load(work.piece_starts + tile + 1)) {
    return decode_between_long<Lengths, CodeLengths>(work, table, tile, stage);
  }
  return decode_span(table, span.escape_free, work.codes, span.codes, span.codes_end, stage, work.text + span.text,
                     span.text_end - span.text);
}

// A long row that a piece belongs to; all lanes have the same.
struct LongRow {
  uint64_t text = 0;
  uint64_t length = 0;
  uint64_t codes = 0;
  uint64_t codes_end = 0;
  uint64_t first_piece = 0;
  bool found = false;
};

template <typename Lengths, typename CodeLengths>
__device__ __forceinline__ LongRow find_long_row(const DecodeWork& work, uint32_t tile, uint64_t piece) {
  Lengths lengths;
  lengths.open(work.lengths, tile, nullptr);
  CodeLengths code_lengths;
  code_lengths.open(work.code_lengths, tile, nullptr);
  const uint32_t rows = device::rows_of_tile(work.rows, tile);
  LongRow out;
  uint64_t codes = load(work.starts + tile);
  uint64_t pieces = load(work.piece_starts + tile);
  for_each_rows(lengths, rows, [&](uint32_t k, uint64_t length, uint64_t place) {
    const uint64_t own_codes = k * kLanes + lane_id() < rows ? code_lengths.at(k) : 0;
    const uint64_t codes_before = codes + device::sum_below(own_codes);
    const uint64_t own_pieces = pieces_of(length);
    const uint64_t pieces_before = pieces + device::sum_below(own_pieces);
    const uint32_t here = device::ballot(piece >= pieces_before && piece - pieces_before < own_pieces);
    if (here != 0) {
      const auto owner = static_cast<uint32_t>(__ffs(static_cast<int>(here)) - 1);
      out.text = load(work.text_starts + tile) + device::shuffle(place, owner);
      out.length = device::shuffle(length, owner);
      out.codes = device::shuffle(codes_before, owner);
      out.codes_end = out.codes + device::shuffle(own_codes, owner);
      out.first_piece = device::shuffle(pieces_before, owner);
      out.found = out.codes_end <= load(work.starts + tile + 1);
    }
    codes = device::shuffle(codes_before + own_codes, kLanes - 1);
    pieces = device::shuffle(pieces_before + own_pieces, kLanes - 1);
  });
  return out;
}

__device__ __forceinline__ uint64_t sum_pieces(const uint16_t* pieces, uint64_t first, uint64_t end) {
  uint64_t sum = 0;
  for (uint64_t i = first + lane_id(); i < end; i += kLanes) sum += load(pieces + i);
  for (uint32_t distance = 1; distance < kLanes; distance *= 2) sum += device::shuffle_xor(sum, distance);
  return sum;
}

// The tile that a piece lies in.
__device__ __forceinline__ uint32_t tile_of_piece(const DecodeWork& work, uint64_t piece) {
  uint32_t low = 0;
  uint32_t high = work.tiles() - 1;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (load(work.piece_starts + middle + 1) > piece) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Pieces [first, first + kPiecesOfWarp) of long rows, by one warp with a table of its own. False if something does not
// fit.
template <typename Lengths, typename CodeLengths>
__device__ __forceinline__ bool decode_pieces(const DecodeWork& work, uint64_t first, StagedTable& table,
                                              unsigned char* stage) {
  const uint64_t all = load(work.piece_starts + work.tiles());
  const uint64_t end = first + kPiecesOfWarp < all ? first + kPiecesOfWarp : all;
  uint32_t staged = ~0u;
#pragma unroll 1
  for (uint64_t piece = first; piece < end;) {
    const uint32_t tile = tile_of_piece(work, piece);
    if (tile >> work.table_shift != staged) {
      staged = tile >> work.table_shift;
      device::sync_warp();
      stage_table(table_of(work, staged), table, lane_id(), kLanes);
      device::sync_warp();
    }
    const LongRow row = find_long_row<Lengths, CodeLengths>(work, tile, piece);
    if (!row.found) return false;
    const uint64_t row_end = row.first_piece + pieces_of(row.length);
    const uint64_t run_end = row_end < end ? row_end : end;
    const uint64_t codes = row.codes + sum_pieces(work.pieces, row.first_piece, piece);
    const uint64_t codes_end = codes + sum_pieces(work.pieces, piece, run_end);
    const uint64_t begin = (piece - row.first_piece) * kPieceBytes;
    const uint64_t text_end = run_end == row_end ? row.length : (run_end - row.first_piece) * kPieceBytes;
    if (run_end == row_end ? codes_end != row.codes_end : codes_end > row.codes_end) return false;
    if (!decode_span(table, is_escape_free(work, staged), work.codes, codes, codes_end, stage,
                     work.text + row.text + begin, text_end - begin)) {
      return false;
    }
    piece = run_end;
  }
  return true;
}

}  // namespace basalt::fsst
