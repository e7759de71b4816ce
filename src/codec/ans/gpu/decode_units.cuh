// Decoding whole units, a warp to each: lanes own states, as in the file. The table is made once per block, in shared
// memory.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/ans/gpu/decode_work.h"
#include "codec/ans/layout.h"
#include "core/device/warp.h"

namespace basalt::ans {

// In shared memory, of a block. Made of what a file says: shares were checked to fill the table.
struct NarrowRoom {
  uint32_t slots[1u << kNarrowBits];
};
struct WideRoom {
  uint16_t slots[1u << kWideBits];
  uint32_t symbols[kMostSymbols];
};
// What making it takes beside: where the shares of each group begin, in slots and in words of the table.
struct TableScratch {
  uint32_t first_slot[kMostGroups];
  uint32_t first_word[kMostGroups];
};

__device__ __forceinline__ NarrowTable table_in(const NarrowRoom& room) { return {room.slots}; }
__device__ __forceinline__ WideTable table_in(const WideRoom& room) { return {room.slots, room.symbols}; }

__device__ __forceinline__ void put_symbol(NarrowRoom& room, uint32_t symbol, uint32_t first_slot, uint32_t share,
                                           uint32_t lane) {
  for (uint32_t place = lane; place < share; place += kLanes) {
    room.slots[(first_slot + place) & ((1u << kNarrowBits) - 1)] = narrow_slot(symbol, share, place);
  }
}
__device__ __forceinline__ void put_symbol(WideRoom& room, uint32_t symbol, uint32_t first_slot, uint32_t share,
                                           uint32_t lane) {
  if (lane == 0) room.symbols[symbol] = wide_symbol(first_slot, share);
  for (uint32_t place = lane; place < share; place += kLanes) {
    room.slots[(first_slot + place) & ((1u << kWideBits) - 1)] = static_cast<uint16_t>(symbol);
  }
}

// By all threads of a block.
template <typename Room>
__device__ __forceinline__ void make_table(const DecodeWork& work, Room& room, TableScratch& scratch) {
  const uint32_t groups = groups_of(work.symbols);
  const uint32_t lane = device::lane_id();
  const uint32_t warp = threadIdx.x / kLanes;
  const uint32_t warps = blockDim.x / kLanes;
  const auto* widths = reinterpret_cast<const uint8_t*>(work.table);
  // A group's width decides where the words of the next one lie.
  if (warp == 0) {
    uint32_t before = table_head_words(work.symbols);
    for (uint32_t first = 0; first < groups; first += kLanes) {
      const uint32_t group = first + lane;
      const uint32_t words =
          group < groups ? group_words(symbols_in_group(work.symbols, group), device::load(widths + group)) : 0;
      const uint32_t below = device::sum_below(words);
      if (group < groups) scratch.first_word[group] = before + below;
      before += device::shuffle(below + words, kLanes - 1);
    }
  }
  __syncthreads();
  const auto share_of = [&](uint32_t group) {
    const uint32_t width = device::load(widths + group);
    return lane < symbols_in_group(work.symbols, group)
               ? group_share(work.table + scratch.first_word[group], width, lane)
               : 0;
  };
  for (uint32_t group = warp; group < groups; group += warps) {
    const uint32_t total = device::sum_of_lanes(share_of(group));
    if (lane == 0) scratch.first_slot[group] = total;
  }
  __syncthreads();
  if (warp == 0) {
    uint32_t before = 0;
    for (uint32_t first = 0; first < groups; first += kLanes) {
      const uint32_t group = first + lane;
      const uint32_t slots = group < groups ? scratch.first_slot[group] : 0;
      const uint32_t below = device::sum_below(slots);
      if (group < groups) scratch.first_slot[group] = before + below;
      before += device::shuffle(below + slots, kLanes - 1);
    }
  }
  __syncthreads();
  for (uint32_t group = warp; group < groups; group += warps) {
    const uint32_t share = share_of(group);
    const uint32_t first_slot = scratch.first_slot[group] + device::sum_below(share);
    // Symbol by symbol, all lanes together: most slots belong to few symbols.
    for (uint32_t i = 0; i < symbols_in_group(work.symbols, group); ++i) {
      put_symbol(room, group * kGroup + i, device::shuffle(first_slot, i), device::shuffle(share, i), lane);
    }
  }
  __syncthreads();
}

// Writes the codes of a unit's rows, and zeros up to the end of its last tile; by a warp. False if the unit is damaged:
// codes are then any below `symbols`.
template <typename Code, typename Table>
__device__ __forceinline__ bool decode_unit(const DecodeWork& work, const Table& table, uint32_t unit) {
  const uint32_t lane = device::lane_id();
  const uint32_t* const begin = work.units + device::load(work.starts + unit);
  const uint32_t* const end = work.units + device::load(work.starts + unit + 1);
  const auto* words = reinterpret_cast<const uint16_t*>(begin + kLanes);
  const auto most = static_cast<uint32_t>(2 * (end - begin - kLanes));
  uint32_t state = device::load(begin + lane);
  const uint32_t rows = rows_in_unit(work.rows, work.unit_tiles, unit);
  const uint32_t steps = steps_of(rows);
  const uint32_t tail = device::load(words);
  const uint32_t before_tail = steps - (tail < steps ? tail : steps);
  Code* out = static_cast<Code*>(work.codes) + uint64_t{unit} * work.unit_tiles * kTileRows + lane;

  uint32_t taken = 1;  // words
  const auto step_of = [&](uint32_t step, bool live, bool takes_words) {
    const Step next = table.step(state);
    out[step * kLanes] = live ? static_cast<Code>(next.symbol) : Code{0};
    if (live) state = next.state;
    if (!takes_words) return;
    const bool wants = live && wants_word(state);
    const uint32_t all = device::ballot(wants);
    const uint32_t word = taken + device::population(all & ((1u << lane) - 1));
    if (wants) state = take_word(state, word < most ? device::load(words + word) : 0);
    taken += device::population(all);
  };
  const uint32_t whole = rows / kLanes;
  const uint32_t whole_before = before_tail < whole ? before_tail : whole;
#pragma unroll 4
  for (uint32_t step = 0; step < whole_before; ++step) step_of(step, true, true);
  if (before_tail > whole) step_of(whole, lane < lanes_in_step(rows, whole), true);
  state = without_least(state);
#pragma unroll 1
  for (uint32_t step = before_tail; step < steps; ++step) step_of(step, lane < lanes_in_step(rows, step), false);
  for (uint32_t step = steps; step % kRowsPerLane != 0; ++step) out[step * kLanes] = 0;

  const bool left_over = taken > most || most - taken > 1 || (most - taken == 1 && device::load(words + taken) != 0);
  return !device::any_lane(state != 0 || left_over);
}

// By a whole block: the table, then the units `first`, `first + stride` …, a warp to each.
template <typename Code, typename Room>
__device__ __forceinline__ void decode_units(const DecodeWork& work, Room& room, TableScratch& scratch, uint32_t first,
                                             uint32_t stride) {
  make_table(work, room, scratch);
  const auto units = static_cast<uint32_t>(units_of(work.rows, work.unit_tiles));
  for (uint32_t unit = first + threadIdx.x / kLanes; unit < units; unit += stride) {
    if (!decode_unit<Code>(work, table_in(room), unit)) *work.fault = 1;
  }
}

}  // namespace basalt::ans
