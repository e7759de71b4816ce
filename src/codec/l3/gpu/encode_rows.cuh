// The device encoder's loops over rows: sums of a unit, residuals under a model, runs. Eight lanes go through a unit or
// a short partition, all lanes of a warp through a longer one, and the warps of a block share a long one. All results
// are integers that do not depend on the order, so they are those of the CPU.
#pragma once

#include "codec/l3/gpu/encode_work.h"
#include "core/device/join.h"

namespace basalt::l3 {

using device::join_lanes;
using device::lane_id;

// Who works on one partition together. Every member calls every function, and all get the same answer.
struct WarpTeam {
  __device__ static uint32_t warp() { return 0; }
  __device__ static uint32_t warps() { return 1; }
  template <typename T, typename Join>
  __device__ static T join_all(T value, const Join& join) {
    return join_lanes(value, join);
  }
};
struct BlockTeam {
  __device__ static uint32_t warp() { return threadIdx.x / kLanes; }
  __device__ static uint32_t warps() { return blockDim.x / kLanes; }
  // The warp's part of `count` things.
  struct Share {
    uint32_t begin, end;
  };
  __device__ static Share share(uint32_t count) { return {count * warp() / warps(), count * (warp() + 1) / warps()}; }
  __device__ static bool is_first_thread() { return threadIdx.x == 0; }
  __device__ static void sync() { __syncthreads(); }
  template <typename T, typename Join>
  __device__ static T join_all(T value, const Join& join) {
    T* room = exchange(join_lanes(value, join));
    T all = room[0];
    for (uint32_t w = 1; w < warps(); ++w) all = join(all, room[w]);
    sync();
    return all;
  }
  // Sum over the warps before; `value` is the same in all lanes of a warp.
  __device__ static uint32_t sum_before(uint32_t value, uint32_t* total) {
    const uint32_t* room = exchange(value);
    uint32_t before = 0;
    *total = 0;
    for (uint32_t w = 0; w < warps(); ++w) {
      if (w == warp()) before = *total;
      *total += room[w];
    }
    sync();
    return before;
  }

 private:
  template <typename T>
  __device__ static T* exchange(T value) {
    __shared__ T room[kLanes];
    if (lane_id() == 0) room[warp()] = value;
    sync();
    return room;
  }
};

struct Lowest {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Highest {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

template <typename Team, typename T>
__device__ __forceinline__ T lowest(T value) {
  return Team::join_all(value, Lowest());
}
template <typename Team, typename T>
__device__ __forceinline__ T highest(T value) {
  return Team::join_all(value, Highest());
}
template <typename Team, typename T>
__device__ __forceinline__ T sum(T value) {
  return Team::join_all(value, Sum());
}

// One chunk's values, widened as they are read.
struct ChunkValues {
  const void* data;
  uint32_t rows;
  ValueType type;

  __device__ __forceinline__ int64_t widen(uint64_t bits) const {
    return static_cast<int64_t>((bits ^ type.flip) - type.lowered);
  }
  __device__ __forceinline__ int64_t at(uint32_t row) const {
    switch (type.bytes) {
      case 1: return widen(device::load(static_cast<const uint8_t*>(data) + row));
      case 2: return widen(device::load(static_cast<const uint16_t*>(data) + row));
      case 4: return widen(device::load(static_cast<const uint32_t*>(data) + row));
      default: return widen(device::load(static_cast<const uint64_t*>(data) + row));
    }
  }
  // The lane's rows of a unit.
  __device__ __forceinline__ void read_unit(uint32_t unit, int64_t (&out)[kUnitRowsPerLane]) const {
    read_rows<kLanes>(unit * kUnitRows + lane_id(), out);
  }
  // Eight rows, each kStep behind the one before; those that the chunk does not have are its last.
  template <uint32_t kStep>
  __device__ __forceinline__ void read_rows(uint32_t first, int64_t (&out)[kUnitRowsPerLane]) const {
    switch (type.bytes) {
      case 1: return read_rows_as<uint8_t, kStep>(first, out);
      case 2: return read_rows_as<uint16_t, kStep>(first, out);
      case 4: return read_rows_as<uint32_t, kStep>(first, out);
      default: return read_rows_as<uint64_t, kStep>(first, out);
    }
  }

 private:
  template <typename T, uint32_t kStep>
  __device__ __forceinline__ void read_rows_as(uint32_t first, int64_t (&out)[kUnitRowsPerLane]) const {
    const T* from = static_cast<const T*>(data);
    const uint32_t last = rows - 1;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t row = first + k * kStep;
      out[k] = widen(device::load(from + (row < last ? row : last)));
    }
  }
};

// Bit l: a run ends with row k of lane l, which is row `row` of the chunk. Every kTogether lanes have rows that follow
// each other, and `beyond` is, in the first of them, the value behind their last row. Rows from `end_row` on do not
// count.
template <uint32_t kTogether>
__device__ __forceinline__ uint32_t run_ends_at(const int64_t (&values)[kUnitRowsPerLane], uint32_t k, int64_t beyond,
                                                uint32_t row, uint32_t end_row) {
  const uint32_t lane = lane_id() % kTogether;
  const int64_t next_row = k + 1 < kUnitRowsPerLane ? values[(k + 1) % kUnitRowsPerLane] : beyond;
  const int64_t next = device::shuffle(lane == 0 ? next_row : values[k], lane_id() - lane + (lane + 1) % kTogether);
  return device::ballot(row < end_row && (row + 1 == end_row || values[k] != next));
}
__device__ __forceinline__ uint32_t lanes_below() { return (1u << lane_id()) - 1; }

// --- groups of lanes ---

// Four units or short partitions at once, each by a group of eight lanes: joining what 32 lanes have seen takes as long
// as the rows of a unit.
constexpr uint32_t kGroupLanes = 8;
constexpr uint32_t kGroups = kLanes / kGroupLanes;
constexpr uint32_t kGroupRows = kGroupLanes * kUnitRowsPerLane;  // that its lanes read at once
__device__ __forceinline__ uint32_t lane_of_group() { return lane_id() % kGroupLanes; }
__device__ __forceinline__ uint32_t group_bits(uint32_t bits) {
  return bits >> (lane_id() - lane_of_group()) & ((1u << kGroupLanes) - 1);
}
template <typename T, typename Join>
__device__ __forceinline__ T join_group(T value, const Join& join) {
#pragma unroll
  for (uint32_t distance = kGroupLanes / 2; distance > 0; distance /= 2) {
    value = join(value, device::shuffle_xor(value, distance));
  }
  return value;
}

// --- units ---

// Σ over the lane's rows of a unit, of which its group has all. Narrow: values less the first fit in 31 bits with sign,
// so that sums of 32 rows fit in 64, and squares of eight.
template <bool kNarrow>
__device__ __forceinline__ Moments moments_of_lane(const ChunkValues& values, uint32_t first_row, uint32_t rows,
                                                   int64_t first) {
  using Number = std::conditional_t<kNarrow, int32_t, int64_t>;
  using Size = std::conditional_t<kNarrow, uint32_t, uint64_t>;
  using Total = std::conditional_t<kNarrow, int64_t, int128_t>;
  using Squares = std::conditional_t<kNarrow, uint64_t, uint128_t>;
  Total s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  uint128_t squares = 0;
#pragma unroll 1
  for (uint32_t at = lane_of_group(); at < rows; at += kGroupRows) {
    int64_t v[kUnitRowsPerLane];
    values.read_rows<kGroupLanes>(first_row + at, v);
    Squares some = 0;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const auto i = static_cast<int32_t>(at + k * kGroupLanes);
      const auto z = static_cast<int64_t>(static_cast<uint64_t>(v[k]) - static_cast<uint64_t>(first));
      if (static_cast<uint32_t>(i) >= rows) continue;
      s0 += z;
      s1 += static_cast<Total>(static_cast<Number>(z)) * i;
      s2 += static_cast<Total>(static_cast<Number>(z)) * (i * i);
      s3 += static_cast<Total>(static_cast<Number>(z)) * (i * i * i);
      const auto size = static_cast<Size>(magnitude(z));
      some += static_cast<Squares>(size) * size;
    }
    squares += some;
  }
  return {rows, s0, s1, s2, s3, squares};
}

// The units of the groups, without models yet; in a group that has none, `exists` is false. *run_ends: rows that differ
// from the next row of the chunk; *list, unless it is nullptr: which ones.
__device__ inline Partition unit_of_group(const ChunkValues& values, uint32_t unit, bool exists, uint32_t* run_ends,
                                          UnitEnds* list) {
  constexpr uint32_t kHalfBits = 30;
  const uint32_t first_row = unit * kUnitRows;
  const uint32_t rows = !exists ? 0 : values.rows - first_row < kUnitRows ? values.rows - first_row : kUnitRows;
  int64_t v[kUnitRowsPerLane] = {};
  if (exists) values.read_rows<kGroupLanes>(first_row + lane_of_group(), v);
  Partition p;
  p.first_unit = unit;
  p.units = 1;
  p.rows = rows;
  p.first = device::shuffle(v[0], lane_id() - lane_of_group());
  p.low = v[0];
  p.high = v[0];
#pragma unroll 1
  for (uint32_t at = 0; at < kUnitRows; at += kGroupRows) {
    int64_t next[kUnitRowsPerLane] = {};
    const uint32_t row = at + lane_of_group();
    if (at + kGroupRows < rows) values.read_rows<kGroupLanes>(first_row + row + kGroupRows, next);
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t i = row + k * kGroupLanes;
      const uint32_t ends = group_bits(run_ends_at<kGroupLanes>(v, k, next[0], i, rows));
      const uint32_t place = p.runs + device::population(ends & ((1u << lane_of_group()) - 1));
      if (list != nullptr && (ends >> lane_of_group() & 1) != 0 && place < kListedEnds) {
        list->rows[place] = static_cast<uint8_t>(i);
      }
      p.runs += device::population(ends);
      if (i < rows) {
        p.low = v[k] < p.low ? v[k] : p.low;
        p.high = v[k] > p.high ? v[k] : p.high;
      }
      v[k] = next[k];
    }
  }
  p.low = join_group(p.low, Lowest());
  p.high = join_group(p.high, Highest());
  const uint32_t border = first_row + rows;
  const bool goes_on = !exists || border >= values.rows || values.at(border - 1) == values.at(border);
  *run_ends = p.runs - (goes_on ? 1 : 0);
  if (exists && list != nullptr && lane_of_group() == 0) list->count = static_cast<uint16_t>(*run_ends);
  const uint32_t span_bits = bits_of(span_of(p));
  p.moments.rows = rows;
  if (span_bits > 0 && span_bits <= kHalfBits) p.moments = moments_of_lane<true>(values, first_row, rows, p.first);
  if (span_bits > kHalfBits && span_bits <= kMaxModelBits) {
    p.moments = moments_of_lane<false>(values, first_row, rows, p.first);
  }
  device::sync_warp();
  p.moments.s0 = join_group(p.moments.s0, Sum());
  p.moments.s1 = join_group(p.moments.s1, Sum());
  p.moments.s2 = join_group(p.moments.s2, Sum());
  p.moments.s3 = join_group(p.moments.s3, Sum());
  p.moments.squares = join_group(p.moments.squares, Sum());
  return p;
}

// --- partitions ---

// The rows of a partition.
struct PartitionRows {
  ChunkValues values;
  const uint32_t* run_ends;   // of the chunk, summed up; a single warp does without
  const UnitEnds* unit_ends;  // of the chunk
  uint32_t first_unit;
  uint32_t units;
  uint32_t rows;
  int64_t first;

  __device__ uint32_t first_row() const { return first_unit * kUnitRows; }
  __device__ uint32_t end_row() const { return first_unit * kUnitRows + rows; }
};

// The units of a partition that fall to the calling warp of a team.
struct UnitRange {
  uint32_t begin, end;
};
template <typename Team>
__device__ __forceinline__ UnitRange share_of(const PartitionRows& rows) {
  return {rows.first_unit + rows.units * Team::warp() / Team::warps(),
          rows.first_unit + rows.units * (Team::warp() + 1) / Team::warps()};
}

// Eight rows of the lane with number `lane` of kLanesTogether that share them. kPlain: all of them exist, and the model
// is narrow; else `rows` exist, from the first lane's first on.
template <bool kPlain, uint32_t kLanesTogether, uint32_t kDegree>
__device__ __forceinline__ void look_at_rows(const int64_t (&v)[kUnitRowsPerLane], uint64_t first, uint32_t lane,
                                             uint32_t rows, uint32_t fraction, Steps& at, Residuals& seen) {
#pragma unroll
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
    const uint64_t z = static_cast<uint64_t>(v[k]) - first;
    const auto r = static_cast<int64_t>((z << (kPlain ? 32 : fraction)) - at.y);
    if (kPlain || lane + k * kLanesTogether < rows) {
      seen.low = r < seen.low ? r : seen.low;
      seen.high = r > seen.high ? r : seen.high;
    }
    at.y += at.d1;
    if constexpr (kDegree > 1) at.d1 += at.d2;
    if constexpr (kDegree > 2) at.d2 += at.d3;
  }
}

template <uint32_t kDegree, typename Team>
__device__ __forceinline__ Residuals residuals_of_degree(const PartitionRows& rows, const Trial& trial) {
  const UnitRange share = share_of<Team>(rows);
  const uint64_t i = static_cast<uint64_t>(share.begin - rows.first_unit) * kUnitRows + lane_id();
  Steps at{};
  if constexpr (kDegree == 1) {
    at = {trial.predictor.c1 * i, trial.predictor.c1 * kLanes, 0, 0};
  } else {
    at = steps_from(trial.predictor, i, kLanes);
  }
  const auto first = static_cast<uint64_t>(rows.first);
  const uint32_t fraction = trial.predictor.fraction;
  Residuals seen;
  // The next unit's rows are on their way while this one's are looked at.
  int64_t v[kUnitRowsPerLane] = {};
  if (share.begin < share.end) rows.values.read_unit(share.begin, v);
#pragma unroll 1
  for (uint32_t unit = share.begin; unit < share.end; ++unit) {
    int64_t next[kUnitRowsPerLane] = {};
    if (unit + 1 < share.end) rows.values.read_unit(unit + 1, next);
    const uint32_t left = rows.end_row() - unit * kUnitRows;
    if (left < kUnitRows || fraction != 32) {
      look_at_rows<false, kLanes, kDegree>(v, first, lane_id(), left, fraction, at, seen);
    } else {
      look_at_rows<true, kLanes, kDegree>(v, first, lane_id(), left, fraction, at, seen);
    }
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) v[k] = next[k];
    // What one lane has seen is enough to give up; whether all together have is found below.
    if (device::any_lane(seen.span() > trial.most)) break;
  }
  return {lowest<Team>(seen.low), highest<Team>(seen.high)};
}

template <typename Team>
__device__ __forceinline__ Residuals residuals_of(const PartitionRows& rows, const Trial& trial) {
  switch (trial.degree) {
    case 1: return residuals_of_degree<1, Team>(rows, trial);
    case 2: return residuals_of_degree<2, Team>(rows, trial);
    default: return residuals_of_degree<3, Team>(rows, trial);
  }
}

// The same for the short partitions of groups; those that have nothing to do have no rows.
constexpr uint32_t kGroupUnits = 8;  // of the longest
__device__ __forceinline__ Residuals residuals_of_group(const PartitionRows& rows, const Trial& trial) {
  const auto first = static_cast<uint64_t>(rows.first);
  const uint32_t fraction = trial.predictor.fraction;
  Steps at = steps_from(trial.predictor, lane_of_group(), kGroupLanes);
  Residuals seen;
  uint32_t done = 0;
  bool looking = rows.rows > 0;
  int64_t v[kUnitRowsPerLane] = {};
  if (looking) rows.values.read_rows<kGroupLanes>(rows.first_row() + lane_of_group(), v);
#pragma unroll 1
  while (device::any_lane(looking)) {
    // The next rows are on their way while these are looked at.
    const uint32_t left = rows.rows - done;
    const bool more = looking && left > kGroupRows;
    int64_t next[kUnitRowsPerLane] = {};
    if (more) rows.values.read_rows<kGroupLanes>(rows.first_row() + done + kGroupRows + lane_of_group(), next);
    Residuals here = seen;
    if (device::any_lane(looking && (left < kGroupRows || fraction != 32))) {
      look_at_rows<false, kGroupLanes, 3>(v, first, lane_of_group(), left, fraction, at, here);
    } else {
      look_at_rows<true, kGroupLanes, 3>(v, first, lane_of_group(), left, fraction, at, here);
    }
    if (looking) seen = here;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) v[k] = next[k];
    done += kGroupRows;
    const uint32_t lost = group_bits(device::ballot(seen.span() > trial.most));
    looking = more && lost == 0;
  }
  return {join_group(seen.low, Lowest()), join_group(seen.high, Highest())};
}

// --- runs ---

// f(ends, run, value, end) for every row of a unit: whether a run ends with the row, its number, its value, and where
// it ends, counted from the partition's first row. `run`: ends before the unit.
template <typename F>
__device__ __forceinline__ void each_run_of_unit(const PartitionRows& rows, uint32_t unit, uint32_t run, F& f) {
  int64_t v[kUnitRowsPerLane];
  rows.values.read_unit(unit, v);
  const uint32_t border = (unit + 1) * kUnitRows;
  const int64_t beyond = border < rows.end_row() ? rows.values.at(border) : 0;
#pragma unroll
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
    const uint32_t row = unit * kUnitRows + k * kLanes + lane_id();
    const uint32_t all = run_ends_at<kLanes>(v, k, beyond, row, rows.end_row());
    f((all >> lane_id() & 1) != 0, run + device::population(all & lanes_below()), v[k], row - rows.first_row() + 1);
    run += device::population(all);
  }
}

// The same for the runs of the calling warp's share, an end per lane, by the units' lists of ends: rows between ends
// are not looked at, and it does not matter in which units the ends are. Ends after 32 units in which stop() became
// true in some lane.
template <typename Team, typename F, typename Stop>
__device__ __forceinline__ void each_run(const PartitionRows& rows, F&& f, const Stop& stop) {
  const UnitRange share = share_of<Team>(rows);
  uint32_t run = share.begin == rows.first_unit ? 0 : rows.run_ends[share.begin] - rows.run_ends[rows.first_unit];
#pragma unroll 1
  for (uint32_t first = share.begin; first < share.end; first += kLanes) {
    const uint32_t unit = first + lane_id();
    const bool exists = unit < share.end;
    const UnitEnds& list = rows.unit_ends[exists ? unit : first];
    const uint32_t listed = exists ? list.count : 0;
    const bool many = listed > kListedEnds;
    // The partition ends a run wherever it ends, though the next row may have the same value.
    const uint32_t last_row = rows.end_row() - 1;
    const bool closes = exists && last_row - unit * kUnitRows < kUnitRows;
    const bool cut = closes && !many && (listed == 0 || list.rows[listed - 1] != last_row - unit * kUnitRows);
    const uint32_t count = listed + (cut ? 1 : 0);
    const uint32_t before = run + device::sum_below(count);
    const uint32_t by_list = many ? 0 : count;
    const uint32_t place = device::sum_below(by_list);  // of the unit's ends among those of all lists
    const uint32_t listed_ends = device::shuffle(place + by_list, kLanes - 1);
    const uint32_t units = share.end - first < kLanes ? share.end - first : kLanes;
    // Values of two runs are asked for before the first is used.
    constexpr uint32_t kTogether = 2;
#pragma unroll 1
    for (uint32_t first_end = 0; first_end < listed_ends; first_end += kTogether * kLanes) {
      uint32_t runs[kTogether];
      uint32_t ends[kTogether];
      int64_t values[kTogether];
#pragma unroll
      for (uint32_t i = 0; i < kTogether; ++i) {
        const uint32_t end = first_end + i * kLanes + lane_id();
        // The last unit whose ends begin no later has it.
        uint32_t owner = 0;
        for (uint32_t half = kLanes / 2; half > 0; half /= 2) {
          if (half >= units) continue;
          const uint32_t middle = device::shuffle(place, owner + half);
          if (middle <= end) owner += half;
        }
        const uint32_t j = end - device::shuffle(place, owner);
        runs[i] = device::shuffle(before, owner) + j;
        const uint32_t in_unit = device::shuffle(listed, owner);
        ends[i] = end < listed_ends && j < in_unit ? (first + owner) * kUnitRows + rows.unit_ends[first + owner].rows[j]
                                                   : last_row;
        values[i] = rows.values.at(ends[i]);
      }
#pragma unroll
      for (uint32_t i = 0; i < kTogether; ++i) {
        f(first_end + i * kLanes + lane_id() < listed_ends, runs[i], values[i], ends[i] - rows.first_row() + 1);
      }
    }
    for (uint32_t waiting = device::ballot(many); waiting != 0; waiting &= waiting - 1) {
      const uint32_t lane = device::lowest_bit(waiting);
      each_run_of_unit(rows, first + lane, device::shuffle(before, lane), f);
    }
    run = device::shuffle(before + count, kLanes - 1);
    if (device::any_lane(stop())) break;
  }
}

// Residuals of the array of the runs' values, or of their ends, whose first entry is `first`.
template <typename Team, bool kEnds>
__device__ __forceinline__ Residuals run_residuals(const PartitionRows& rows, int64_t first, const Trial& trial) {
  int64_t low = 0;
  int64_t high = 0;
  each_run<Team>(
      rows,
      [&](bool ends, uint32_t run, int64_t value, uint32_t end) {
        if (!ends) return;
        const uint64_t z = (kEnds ? end : static_cast<uint64_t>(value)) - static_cast<uint64_t>(first);
        const uint64_t y = trial.degree == 1 ? trial.predictor.c1 * run : evaluate(trial.predictor, run);
        const auto r = static_cast<int64_t>((z << trial.predictor.fraction) - y);
        low = r < low ? r : low;
        high = r > high ? r : high;
      },
      [&] { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low) > trial.most; });
  return {lowest<Team>(low), highest<Team>(high)};
}

// Of the values less the partition's first, and of the ends less the first one.
struct RunMoments {
  Moments values, ends;
  uint32_t first_end = 0;
};
template <typename Team>
__device__ __forceinline__ RunMoments run_moments(const PartitionRows& rows, uint32_t runs) {
  const bool curved = runs <= kMaxPolyRows;
  const auto first = static_cast<uint64_t>(rows.first);
  int128_t v0 = 0, v1 = 0, e3 = 0;
  uint128_t v_squares = 0;
  int64_t e0 = 0, e1 = 0, e2 = 0, e_squares = 0;
  uint32_t first_end = 0;
  const auto add_run = [&](bool ends, uint32_t run, int64_t value, uint32_t end) {
    if (!ends) return;
    const auto z = static_cast<int64_t>(static_cast<uint64_t>(value) - first);
    const auto size = static_cast<uint128_t>(magnitude(z));
    v0 += z;
    v1 += static_cast<int128_t>(z) * run;
    v_squares += size * size;
    const auto i = static_cast<int64_t>(run);
    const auto e = static_cast<int64_t>(end);
    e0 += e;
    e1 += i * e;
    e_squares += e * e;
    if (curved) {
      e2 += i * i * e;
      e3 += i * i * i * e;
    }
    if (run == 0) first_end = end;
  };
  each_run<Team>(rows, add_run, [] { return false; });
  RunMoments m;
  m.values = {runs, sum<Team>(v0), sum<Team>(v1), 0, 0, sum<Team>(v_squares)};
  m.first_end = sum<Team>(first_end);
  // Ends counted from 0 so far.
  const uint64_t n = runs;
  const auto d = static_cast<int128_t>(m.first_end);
  const auto p1 = static_cast<int128_t>(n * (n - 1) / 2);
  const int128_t s0 = sum<Team>(e0);
  m.ends.rows = runs;
  m.ends.squares = static_cast<uint128_t>(sum<Team>(e_squares) - 2 * d * s0 + d * d * static_cast<int128_t>(n));
  m.ends.s0 = s0 - d * static_cast<int128_t>(n);
  m.ends.s1 = sum<Team>(e1) - d * p1;
  if (curved) {
    m.ends.s2 = sum<Team>(e2) - d * static_cast<int128_t>(n * (n - 1) * (2 * n - 1) / 6);
    m.ends.s3 = sum<Team>(e3) - d * p1 * p1;
  }
  return m;
}

// The arrays of a partition's runs, without models yet.
__device__ __forceinline__ RunsChoice arrays_of_runs(const Partition& p, const RunMoments& moments) {
  RunsChoice found;
  found.runs = p.runs;
  Partition& values = found.value_model;
  values.units = units_of(p.runs);
  values.rows = p.runs;
  values.first = p.first;
  values.low = p.low;
  values.high = p.high;
  values.moments = moments.values;
  Partition& ends = found.end_model;
  ends.units = values.units;
  ends.rows = p.runs;
  ends.first = ends.low = moments.first_end;
  ends.high = static_cast<int64_t>(p.rows);
  ends.moments = moments.ends;
  return found;
}

}  // namespace basalt::l3
