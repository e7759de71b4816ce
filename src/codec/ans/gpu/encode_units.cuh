// Counting symbols, and encoding whole units, a warp to each: lanes own states, as in the file.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/ans/gpu/encode_work.h"
#include "codec/ans/layout.h"
#include "core/device/warp.h"

namespace basalt::ans {

template <typename T>
__device__ __forceinline__ uint32_t symbol_of(T value, T reference) {
  return static_cast<uint32_t>(static_cast<T>(value - reference));
}

// In shared memory, of a block. Where symbols are few, lanes of a warp would wait for each other at the same counter:
// each has its own then.
struct CountRoom {
  uint32_t counters[kNarrowSymbols * kLanes];
};
static_assert(kNarrowSymbols * kLanes >= kMostSymbols);

// Adds the symbols of rows `first`, `first + stride` … to `counts`; by all threads of a block, with the first row of
// each.
template <typename T>
__device__ __forceinline__ void count_symbols(const EncodeWork<T>& work, CountRoom& room, uint64_t first,
                                              uint64_t stride, uint32_t* counts) {
  const uint32_t copies = is_narrow(work.symbols) ? kLanes : 1;
  const uint32_t own = device::lane_id() & (copies - 1);
  for (uint32_t i = threadIdx.x; i < work.symbols * copies; i += blockDim.x) room.counters[i] = 0;
  __syncthreads();
  for (uint64_t row = first; row < work.rows; row += stride) {
    const uint32_t symbol = symbol_of(device::load(work.values + row), work.reference);
    atomicAdd(&room.counters[symbol * copies + own], 1u);
  }
  __syncthreads();
  for (uint32_t symbol = threadIdx.x; symbol < work.symbols; symbol += blockDim.x) {
    uint32_t sum = 0;
    // Each thread begins elsewhere, so that those of a warp use different banks.
    for (uint32_t i = 0; i < copies; ++i) sum += room.counters[symbol * copies + ((i + symbol) & (copies - 1))];
    if (sum > 0) atomicAdd(&counts[symbol], sum);
  }
}

// The code of each symbol, in shared memory.
struct CodeRoom {
  uint32_t codes[kMostSymbols];
};

__device__ __forceinline__ uint64_t push_symbol(uint32_t state, uint32_t code, uint32_t bits) {
  const uint32_t share = code >> 16;
  const uint32_t above = state / share;
  return (static_cast<uint64_t>(above) << bits) + (state - above * share) + (code & 0xFFFF);
}

// By a warp, from the unit's last row to its first.
template <typename T>
__device__ __forceinline__ void encode_unit(const EncodeWork<T>& work, const CodeRoom& room, uint32_t unit) {
  constexpr uint64_t kMost = UINT32_MAX - kLeastState;
  const uint32_t lane = device::lane_id();
  const uint32_t bits = share_bits(work.symbols);
  const uint32_t rows = rows_in_unit(work.rows, work.unit_tiles, unit);
  const uint32_t steps = steps_of(rows);
  const uint64_t first_row = uint64_t{unit} * work.unit_rows();
  const T* const values = work.values + first_row + lane;
  const auto is_live = [&](uint32_t step) { return lane < lanes_in_step(rows, step); };
  const auto code_of = [&](uint32_t step) {
    return room.codes[symbol_of(device::load(values + step * kLanes), work.reference)];
  };

  // As many steps as all states have room for, from nothing at all.
  uint32_t state = 0;
  uint32_t tail = 0;
#pragma unroll 1
  for (; tail < steps; ++tail) {
    const uint32_t step = steps - 1 - tail;
    const uint64_t next = is_live(step) ? push_symbol(state, code_of(step), bits) : state;
    if (device::any_lane(next > kMost)) break;
    state = static_cast<uint32_t>(next);
  }
  state += kLeastState;
  uint16_t* const end = work.words + first_row + work.unit_rows();
  uint32_t count = 0;
  const auto put_step = [&](uint32_t step, bool live) {
    const uint32_t code = live ? code_of(step) : 0;
    const bool gives = live && state >= static_cast<uint64_t>(code >> 16) << (32 - bits);
    const uint32_t all = device::ballot(gives);
    count += device::population(all);
    if (gives) {
      end[static_cast<int32_t>(device::population(all & ((1u << lane) - 1))) - static_cast<int32_t>(count)] =
          static_cast<uint16_t>(state);
      state >>= kWordBits;
    }
    if (live) state = static_cast<uint32_t>(push_symbol(state, code, bits));
  };
  uint32_t step = steps - tail;
  if (step > rows / kLanes) {
    --step;
    put_step(step, is_live(step));
  }
#pragma unroll 4
  while (step-- > 0) put_step(step, true);
  work.states[unit * kLanes + lane] = state;
  if (lane != 0) return;
  work.tails[unit] = tail;
  work.counts[unit] = count;
  work.unit_words[unit] = words_of_unit(count);
}

// By a whole block: the codes, then the units `first`, `first + stride` …, a warp to each.
template <typename T>
__device__ __forceinline__ void encode_units(const EncodeWork<T>& work, CodeRoom& room, uint32_t first,
                                             uint32_t stride) {
  for (uint32_t i = threadIdx.x; i < work.symbols; i += blockDim.x) room.codes[i] = device::load(work.codes + i);
  __syncthreads();
  const auto units = static_cast<uint32_t>(units_of(work.rows, work.unit_tiles));
  for (uint32_t unit = first + threadIdx.x / kLanes; unit < units; unit += stride) encode_unit(work, room, unit);
}

// Puts a unit where it lies in the stream; by a warp.
template <typename T>
__device__ __forceinline__ void place_unit(const EncodeWork<T>& work, const uint32_t* starts, uint32_t unit,
                                           uint32_t* units) {
  const uint32_t lane = device::lane_id();
  const uint32_t count = device::load(work.counts + unit);
  uint32_t* const begin = units + device::load(starts + unit);
  begin[lane] = device::load(work.states + unit * kLanes + lane);
  auto* const words = reinterpret_cast<uint16_t*>(begin + kLanes);
  if (lane == 0) {
    words[0] = static_cast<uint16_t>(device::load(work.tails + unit));
    if (count % 2 == 0) words[1 + count] = 0;
  }
  const uint16_t* const from = work.words + (uint64_t{unit} + 1) * work.unit_rows() - count;
  for (uint32_t i = lane; i < count; i += kLanes) words[1 + i] = device::load(from + i);
}

}  // namespace basalt::ans
