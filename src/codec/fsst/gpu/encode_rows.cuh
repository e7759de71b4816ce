// Text to codes on the device. A thread takes a row, or a piece of a long one, and a warp 32 rows that lie side by
// side: a group. Codes wait in memory of three quarters of the text until all sizes are known, then they move to their
// places. They are collected in shared memory first, where a group's fit, else written by words. Groups whose codes
// need more room, groups with a long row, and pieces are parsed twice.
#pragma once

#include "codec/fsst/gpu/encode_work.h"
#include "codec/fsst/gpu/kernels.cuh"

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
__device__ __forceinline__ EncodeStep short_step(const EncodeTable& table, uint64_t word, uint32_t left) {
  return left >= 2 ? pair_step(table, word) : single_step(table, word);
}
// Length 0: none fits.
__device__ __forceinline__ EncodeStep long_step(const EncodeTable& table, uint64_t word, uint32_t left) {
  const uint32_t code = table.slots[slot_of(word)];
  const uint32_t length = table.lengths[code];  // 0: the slot is free
  const bool fits = length != 0 && length <= left && (word ^ table.values[code]) << (64 - 8 * length) == 0;
  return {code, fits ? length : 0};
}

// What greedy parses take. All look-ups are asked for at once: lanes of a warp need different ones, so that branches
// would wait for each in turn.
__device__ __forceinline__ EncodeStep greedy_step(const EncodeTable& table, uint64_t word, uint32_t left) {
  const auto pair = static_cast<uint32_t>(word & 0xFFFF);
  const uint32_t slot = EncodeTable::pair_slot(pair);
  const uint32_t entry = table.pairs[slot];
  const EncodeStep single = single_step(table, word);
  const EncodeStep longer = long_step(table, word, left);
  if (longer.length != 0) return longer;
  if (left < 2 || entry == 0) return single;
  if ((entry & 0xFFFF) == pair) return {entry >> 16 & 0xFF, 2};
  return pair_step(table, word);
}

// The step of so many bytes.
__device__ __forceinline__ EncodeStep given_step(const EncodeTable& table, uint64_t word, uint32_t left,
                                                 uint32_t length) {
  if (length > 2) return long_step(table, word, left);
  return length == 2 ? pair_step(table, word) : single_step(table, word);
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

// The next bytes of a part, by words of four bytes, whose shifts are one instruction each. Nothing is kept in
// registers: that costs more than to load again from the cache.
class TextReader {
 public:
  __device__ __forceinline__ explicit TextReader(const Part& part)
      : from_(reinterpret_cast<const uint32_t*>(part.text) + part.first / 4),
        at_(static_cast<uint32_t>(part.first % 4)) {}
  // Eight bytes; what is behind the part's end is anything.
  __device__ __forceinline__ uint64_t word() const {
    const uint32_t* from = from_ + at_ / 4;
    const uint32_t a = load(from), b = load(from + 1), c = load(from + 2);
    const uint32_t shift = at_ * 8;
    return device::funnel_right(a, b, shift) | static_cast<uint64_t>(device::funnel_right(b, c, shift)) << 32;
  }
  __device__ __forceinline__ void advance(uint32_t bytes) { at_ += bytes; }

 private:
  const uint32_t* from_;
  uint32_t at_;
};

// Calls emit(step, first byte) for every step. `steps` as in EncodeWork, of the part's first byte.
template <typename Emit>
__device__ __forceinline__ void for_each_step(const EncodeTable& table, const Part& part, const uint8_t* steps,
                                              Emit&& emit) {
  if (part.length == 0) return;
  TextReader text(part);
  for (auto left = static_cast<uint32_t>(part.length);;) {
    const uint64_t word = text.word();
    const EncodeStep step = steps == nullptr ? greedy_step(table, word, left) : given_step(table, word, left, *steps);
    emit(step, static_cast<uint32_t>(word & 0xFF));
    left -= step.length;
    if (left == 0) return;
    if (steps != nullptr) steps += step.length;
    text.advance(step.length);
  }
}

// Finds the steps with fewest code bytes, from the end. Costs of the eight places behind are kept modulo 256: eight
// bytes take between one and sixteen, so that no two of them are far apart.
__device__ __forceinline__ void find_best_steps(const EncodeTable& table, const Part& part, uint8_t* steps) {
  uint64_t costs = 0;  // byte k - 1: of what follows k bytes later
  uint64_t word = 0;
  for (uint64_t at = part.length; at-- > 0;) {
    word = word << 8 | part.byte(at);
    const auto left = static_cast<uint32_t>(part.length - at);
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

// How many bytes the codes of a part are; notes escapes. Calls keep(bytes before, byte of codes) for each of them.
template <typename Keep>
__device__ __forceinline__ uint32_t count_part(const EncodeWork& work, const EncodeTable& table, const Part& part,
                                               uint32_t table_number, Keep&& keep) {
  if (work.steps != nullptr) find_best_steps(table, part, steps_of(work, part));
  uint32_t bytes = 0;
  bool escapes = false;
  for_each_step(table, part, steps_of(work, part), [&](const EncodeStep& step, uint32_t byte) {
    keep(bytes++, step.code);
    if (step.code != kEscape) return;
    keep(bytes++, byte);
    escapes = true;
  });
  if (escapes) work.escapes[table_number] = 1;
  return bytes;
}

// Groups share what there is of shared memory as long as each row has room for one of so many of its bytes.
constexpr uint32_t kMostBytesPerRoom = 3;

// A warp's rows, one per lane; long ones are not its affair.
struct RowGroup {
  uint64_t row;
  bool exists;
  Part part;
  uint32_t room;      // for codes until they are placed; where there is none for some row of the group, 0
  uint32_t before;    // of the lanes below
  uint32_t all_room;  // of the group
  bool staged;        // codes fit into shared memory

  __device__ __forceinline__ RowGroup(const EncodeWork& work, uint64_t first) : row(first + lane_id()) {
    part = row < work.rows ? row_part(work, row) : Part{work.text, 0, 0};
    const bool is_piecewise = is_long(part.length);
    exists = row < work.rows && !is_piecewise;
    if (is_piecewise) part.length = 0;
    const auto length = static_cast<uint32_t>(part.length);
    room = room_of(length);
    all_room = device::sum_of_lanes(room);
    staged = all_room <= work.most_staged();
    if (!staged) {
      // Less room than three quarters is enough for text that is worth compressing.
      const uint32_t all = device::sum_of_lanes(length);
      staged = all / kMostBytesPerRoom <= work.most_staged();
      if (staged) room = length * work.most_staged() / all;
      all_room = device::sum_of_lanes(room);
    }
    if (device::any_lane(is_piecewise) || work.waiting == nullptr) {
      room = all_room = 0;
      staged = true;
    }
    before = device::sum_below(room);
  }
  // Whether the codes have been kept, of which this lane's row has so many bytes.
  __device__ __forceinline__ bool is_kept(uint32_t bytes) const { return !device::any_lane(bytes > room); }
};

// Sizes of the rows from `first` on, and their codes where there is room for them; by the whole warp.
__device__ __forceinline__ void count_rows(const EncodeWork& work, const EncodeTable& table, uint64_t first,
                                           unsigned char* stage) {
  const RowGroup group(work, first);
  const uint32_t number = table_of_row(work, first);
  uint32_t bytes = 0;
  if (group.staged) {
    bytes = count_part(work, table, group.part, number, [&](uint32_t at, uint32_t byte) {
      if (at < group.room) stage[group.before + at] = static_cast<uint8_t>(byte);
    });
  } else {
    WordWriter writer(work.waiting + work.waiting_place(first) + group.before / 8 * 8, group.before % 8);
    bytes = count_part(work, table, group.part, number, [&](uint32_t at, uint32_t byte) {
      if (at < group.room) writer.put(byte, 1);
    });
    writer.finish();
  }
  if (group.exists) work.code_lengths[group.row] = bytes;
  const uint32_t all = device::sum_of_lanes(bytes);
  if (lane_id() == 0) work.group_bytes[first / kGroupRows] = all;
  if (!group.staged || group.all_room == 0 || !group.is_kept(bytes)) return;
  device::sync_warp();
  const auto* from = reinterpret_cast<const device::SixteenBytes*>(stage);
  auto* to = reinterpret_cast<device::SixteenBytes*>(work.waiting + work.waiting_place(first));
  for (uint32_t i = lane_id(); i * 16 < group.all_room; i += kLanes) to[i] = from[i];
}
__device__ __forceinline__ void count_piece(const EncodeWork& work, uint64_t i) {
  const EncodePiece piece = work.pieces[i];
  const uint32_t table = table_of_row(work, piece.row);
  const uint32_t bytes =
      count_part(work, work.tables[table], piece_part(work, piece), table, [](uint32_t, uint32_t) {});
  work.piece_codes[i] = bytes;
  atomicAdd(work.code_lengths + piece.row, bytes);
  atomicAdd(work.group_bytes + piece.row / kGroupRows, bytes);
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

// The same for codes that have been kept.
__device__ __forceinline__ void copy_codes(const Part& kept, unsigned char* to, uint32_t at) {
  WordWriter writer(to, at);
  const auto bytes = static_cast<uint32_t>(kept.length);
  for (uint32_t i = 0; i < bytes; i += 8) writer.put(kept.word(i), bytes - i < 8 ? bytes - i : 8);
  writer.finish();
}

// A group whose sizes are known; beyond the last row it is empty, and kept.
struct CountedGroup : RowGroup {
  uint32_t bytes;  // of this lane's codes
  bool kept;       // else its rows are parsed again

  __device__ __forceinline__ CountedGroup(const EncodeWork& work, uint64_t first) : RowGroup(work, first) {
    bytes = row < work.rows ? load(work.code_lengths + row) : 0;
    kept = is_kept(bytes);
  }
};

// Rows from `first` on to their places, by the whole warp. The table is asked for those that are not kept.
__device__ __forceinline__ void write_rows(const EncodeWork& work, const EncodeTable& table, uint64_t first,
                                           const CountedGroup& group, unsigned char* stage) {
  const uint32_t bytes = group.bytes;
  const uint64_t place = load(work.group_places + first / kGroupRows);
  const uint32_t before = device::sum_below(bytes);
  const uint32_t all = device::sum_of_lanes(bytes);
  const Part kept{reinterpret_cast<const uint64_t*>(work.waiting), work.waiting_place(first) + group.before, bytes};
  if (all > work.most_staged() || device::any_lane(group.row < work.rows && !group.exists)) {
    if (group.kept) {
      const auto at = static_cast<uint32_t>(reinterpret_cast<uint64_t>(work.codes + place + before) % 8);
      copy_codes(kept, work.codes + place + before - at, at);
    } else if (group.exists) {
      write_part_out(work, table, group.part, place + before);
    }
    return;
  }
  TextStage out(stage, work.codes + place);
  if (group.kept) {
    copy_codes(kept, stage, out.filled() + before);
  } else {
    write_part(table, group.part, steps_of(work, group.part), stage, out.filled() + before);
  }
  out.push(all);
  out.finish();
}
__device__ __forceinline__ void write_piece(const EncodeWork& work, uint64_t i) {
  const EncodePiece piece = work.pieces[i];
  uint64_t place = load(work.group_places + piece.row / kGroupRows);
  for (uint64_t row = piece.row / kGroupRows * kGroupRows; row < piece.row; ++row)
    place += load(work.code_lengths + row);
  const uint64_t in_row = load(work.piece_places + i) - load(work.piece_places + i - piece.before);
  write_part_out(work, work.tables[table_of_row(work, piece.row)], piece_part(work, piece), place + in_row);
}

}  // namespace basalt::fsst
