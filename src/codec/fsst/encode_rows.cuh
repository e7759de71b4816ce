// Text to codes on the device. Rows are parsed twice, once to know their places and once to write them: no memory
// beyond the codes themselves is needed for greedy parses. A thread takes a row, or a piece of a long one; a warp's
// rows lie side by side and leave through shared memory.
#pragma once

#include "codec/fsst/encode_work.h"
#include "codec/fsst/kernels.cuh"

namespace basalt::fsst {

// A step of a parse; as Matcher's on the CPU.
struct EncodeStep {
  uint32_t code;
  uint32_t length;
  __device__ __forceinline__ uint32_t code_bytes() const { return code == kEscape ? 2 : 1; }
};

__device__ __forceinline__ EncodeStep single_step(const EncodeTable& table, uint64_t word) {
  return {table.singles[word & 0xFF], 1};
}
__device__ __forceinline__ EncodeStep pair_step(const EncodeTable& table, uint64_t word) {
  const auto pair = static_cast<uint32_t>(word & 0xFFFF);
  for (uint32_t slot = EncodeTable::pair_slot(pair);; slot = (slot + 1) % EncodeTable::kPairSlots) {
    const uint32_t entry = table.pairs[slot];
    if (entry == 0) return single_step(table, word);
    if ((entry & 0xFFFF) == pair) return {entry >> 16 & 0xFF, 2};
  }
}
__device__ __forceinline__ EncodeStep short_step(const EncodeTable& table, uint64_t word, uint64_t left) {
  return left >= 2 ? pair_step(table, word) : single_step(table, word);
}
// Length 0: none fits.
__device__ __forceinline__ EncodeStep long_step(const EncodeTable& table, uint64_t word, uint64_t left) {
  const uint32_t code = table.slots[slot_of(word)];
  if (code == EncodeTable::kNone) return {0, 0};
  const uint32_t length = table.lengths[code];
  const bool fits = length <= left && (word & lowest_bytes(length)) == table.values[code];
  return {code, fits ? length : 0};
}

// `length` bytes of the text, from byte `first` on.
struct Part {
  const uint64_t* text;
  uint64_t first;
  uint64_t length;

  // Up to eight bytes from `at` on, zeros behind the end.
  __device__ __forceinline__ uint64_t word(uint64_t at) const {
    const uint64_t* from = text + (first + at) / 8;
    const auto shift = static_cast<uint32_t>((first + at) % 8 * 8);
    uint64_t bits = load(from) >> shift;
    if (shift != 0) bits |= load(from + 1) << (64 - shift);
    const uint64_t left = length - at;
    return left >= 8 ? bits : bits & lowest_bytes(static_cast<uint32_t>(left));
  }
  __device__ __forceinline__ uint64_t byte(uint64_t at) const {
    return load(reinterpret_cast<const unsigned char*>(text) + first + at);
  }
};

// Calls emit(step, first byte) for every step. `steps` as in EncodeWork, of the part's first byte.
template <typename Emit>
__device__ __forceinline__ void for_each_step(const EncodeTable& table, const Part& part, const uint8_t* steps,
                                              Emit&& emit) {
  for (uint64_t at = 0; at < part.length;) {
    const uint64_t word = part.word(at);
    const uint64_t left = part.length - at;
    EncodeStep step{0, 0};
    if (steps == nullptr || steps[at] > 2) step = long_step(table, word, left);
    if (step.length == 0) {
      step = steps == nullptr || steps[at] == 2 ? short_step(table, word, left) : single_step(table, word);
    }
    emit(step, static_cast<uint32_t>(word & 0xFF));
    at += step.length;
  }
}

// Finds the steps with fewest code bytes, from the end. Costs of the eight places behind are kept modulo 256: eight
// bytes take between one and sixteen, so that no two of them are far apart.
__device__ __forceinline__ void find_best_steps(const EncodeTable& table, const Part& part, uint8_t* steps) {
  uint64_t costs = 0;  // byte k - 1: of what follows k bytes later
  uint64_t word = 0;
  for (uint64_t at = part.length; at-- > 0;) {
    word = word << 8 | part.byte(at);
    const uint64_t left = part.length - at;
    const auto through = [&](const EncodeStep& step) {
      return static_cast<uint32_t>((costs >> 8 * (step.length - 1) & 0xFF) + step.code_bytes());
    };
    EncodeStep best = single_step(table, word);
    uint32_t cost = through(best);
    // Where two are equal the longer one is taken.
    const auto offer = [&](const EncodeStep& step) {
      const uint32_t other = through(step);
      if (static_cast<int8_t>(other - cost) > 0) return;
      best = step;
      cost = other;
    };
    offer(short_step(table, word, left));
    const EncodeStep longer = long_step(table, word, left);
    if (longer.length != 0) offer(longer);
    steps[at] = static_cast<uint8_t>(best.length);
    costs = costs << 8 | (cost & 0xFF);
  }
}

__device__ __forceinline__ Part row_part(const EncodeWork& work, uint64_t row) {
  const int64_t first = load(work.offsets + row);
  return {work.text, static_cast<uint64_t>(first - work.first_byte),
          static_cast<uint64_t>(load(work.offsets + row + 1) - first)};
}
__device__ __forceinline__ Part piece_part(const EncodeWork& work, const EncodePiece& piece) {
  const Part row = row_part(work, piece.row);
  return {row.text, row.first + piece.first, piece.length};
}
// Pieces of the rows of a tile, by a warp: their number, or with List where they are written.
template <bool kList>
__device__ __forceinline__ void find_tile_pieces(const EncodeWork& work, uint32_t tile) {
  uint64_t before = kList ? work.piece_starts[tile] : 0;
  if (kList && work.piece_starts[tile + 1] == before) return;
  uint32_t sum = 0;
  for (uint32_t group = 0; group < kTileRows; group += kLanes) {
    const uint64_t row = uint64_t{tile} * kTileRows + group + lane_id();
    const uint64_t length = row < work.rows ? row_part(work, row).length : 0;
    const auto count = static_cast<uint32_t>(pieces_of(length));
    if (kList) {
      EncodePiece* to = work.pieces + before + device::sum_below(count);
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t first = uint64_t{i} * kPieceBytes;
        const uint64_t left = length - first;
        to[i] = {row, first, static_cast<uint32_t>(left < kPieceBytes ? left : kPieceBytes), i};
      }
      before += device::sum_of_lanes(count);
    } else {
      sum += count;
    }
  }
  if (kList) return;
  sum = device::sum_of_lanes(sum);
  if (lane_id() == 0) work.tile_pieces[tile] = sum;
}
__device__ __forceinline__ bool is_piece(const EncodeWork& work, uint64_t i) {
  return i < work.most_pieces && i < work.piece_starts[work.tiles()];
}

__device__ __forceinline__ uint32_t table_of_row(const EncodeWork& work, uint64_t row) {
  return static_cast<uint32_t>(row / kTileRows) >> load(work.table_shift);
}
__device__ __forceinline__ uint8_t* steps_of(const EncodeWork& work, const Part& part) {
  return work.steps == nullptr ? nullptr : work.steps + part.first;
}

// Code bytes of a part; notes whether there are escapes.
__device__ __forceinline__ uint32_t count_part(const EncodeWork& work, const EncodeTable& table, const Part& part,
                                               uint32_t table_number) {
  if (work.steps != nullptr) find_best_steps(table, part, steps_of(work, part));
  uint32_t bytes = 0;
  bool escapes = false;
  for_each_step(table, part, steps_of(work, part), [&](const EncodeStep& step, uint32_t) {
    bytes += step.code_bytes();
    escapes = escapes || step.code == kEscape;
  });
  if (escapes) work.escapes[table_number] = 1;
  return bytes;
}

__device__ __forceinline__ void count_row(const EncodeWork& work, const EncodeTable& table, uint64_t row) {
  const Part part = row_part(work, row);
  if (!is_long(part.length)) work.code_lengths[row] = count_part(work, table, part, table_of_row(work, row));
}
__device__ __forceinline__ void count_piece(const EncodeWork& work, uint64_t i) {
  const EncodePiece piece = work.pieces[i];
  const uint32_t table = table_of_row(work, piece.row);
  const uint32_t bytes = count_part(work, work.tables[table], piece_part(work, piece), table);
  work.piece_codes[i] = bytes;
  atomicAdd(work.code_lengths + piece.row, bytes);
}

// Codes of a part to `to`, whose first `at` bytes are others'; `to` is on a multiple of 8.
__device__ __forceinline__ void write_part(const EncodeTable& table, const Part& part, const uint8_t* steps,
                                           unsigned char* to, uint32_t at) {
  WordWriter writer(to, at);
  for_each_step(table, part, steps, [&](const EncodeStep& step, uint32_t byte) {
    writer.put(step.code == kEscape ? kEscape | byte << 8 : step.code, step.code_bytes());
  });
  writer.finish();
}
__device__ __forceinline__ void write_part_out(const EncodeWork& work, const EncodeTable& table, const Part& part,
                                               uint64_t place) {
  const auto at = static_cast<uint32_t>(reinterpret_cast<uint64_t>(work.codes + place) % 8);
  write_part(table, part, steps_of(work, part), work.codes + place - at, at);
}

// Rows from `first` on, one per lane; by the whole warp.
__device__ __forceinline__ void write_rows(const EncodeWork& work, const EncodeTable& table, uint64_t first,
                                           unsigned char* stage) {
  const uint64_t row = first + lane_id();
  const bool exists = row < work.rows;
  const Part part = exists ? row_part(work, row) : Part{work.text, 0, 0};
  const uint32_t bytes = exists ? work.code_lengths[row] : 0;
  const uint32_t all = device::sum_of_lanes(is_long(part.length) ? 0 : bytes);
  if (device::any_lane(is_long(part.length)) || all > kStageBytes - 32) {
    if (exists && !is_long(part.length)) write_part_out(work, table, part, load(work.row_places + row));
    return;
  }
  TextStage out(stage, work.codes + load(work.row_places + first));
  const uint32_t before = device::sum_below(bytes);
  write_part(table, part, steps_of(work, part), stage, out.filled() + before);
  out.push(all);
  out.finish();
}
__device__ __forceinline__ void write_piece(const EncodeWork& work, uint64_t i) {
  const EncodePiece piece = work.pieces[i];
  const uint64_t in_row = load(work.piece_places + i) - load(work.piece_places + i - piece.before);
  write_part_out(work, work.tables[table_of_row(work, piece.row)], piece_part(work, piece),
                 load(work.row_places + piece.row) + in_row);
}

}  // namespace basalt::fsst
