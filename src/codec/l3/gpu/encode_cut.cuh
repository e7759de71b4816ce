// The stages of the device encoder that cut chunks into partitions. A stage is a function of who calls it (which warp
// or block of how many), so that kernels are one line each and tests run the same stages on the CPU. In this order:
//   fast      choose_tiles
//   balanced  choose_units, prepare_merge, find_starts, then merge_step and take_merged until nothing is left to merge
//   best      choose_units, cost_runs, cut_cheapest, choose_cut, then merging as above
// encode_streams.cuh has the rest.
#pragma once

#include "codec/l3/gpu/encode_choose.cuh"

namespace basalt::l3 {

// --- choosing ---

// A unit of the batch, one per lane.
struct UnitPlace {
  uint32_t chunk, unit;
  bool exists;
};
__device__ __forceinline__ UnitPlace place_of_unit(const EncodeWork& work, uint32_t item) {
  const uint32_t chunk = item / work.stride < work.chunk_count ? item / work.stride : 0;
  const uint32_t unit = item % work.stride;
  return {chunk, unit, item < work.chunk_count * work.stride && unit < work.units(chunk)};
}

// Units `first` and following, one per lane as far as they exist, without models yet. Each group of lanes looks at
// those of its own lanes.
__device__ __forceinline__ Partition units_of_lanes(const EncodeWork& work, uint32_t first, uint32_t* run_ends) {
  Partition own;
  for (uint32_t i = 0; i < kGroupLanes && i < work.batch; ++i) {
    const uint32_t lane = lane_id() - lane_of_group() + i;
    const UnitPlace place = place_of_unit(work, first + lane);
    uint32_t ends;
    UnitEnds* list = work.max_degree > 1 ? work.unit_ends + first + lane : nullptr;
    const Partition p =
        unit_of_group(values_of(work, place.chunk), place.unit, place.exists && lane < work.batch, &ends, list);
    if (lane_id() != lane) continue;
    own = p;
    *run_ends = ends;
  }
  return own;
}

__device__ inline void choose_units(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  for (uint32_t first = warp * work.batch; first < work.chunk_count * work.stride; first += warps * work.batch) {
    const uint32_t item = first + lane_id();
    const UnitPlace place = place_of_unit(work, item);
    const bool exists = place.exists && lane_id() < work.batch;
    uint32_t run_ends = 0;
    Partition p = units_of_lanes(work, first, &run_ends);
    device::sync_warp();  // lists of ends are whole
    choose_of_lanes(work, place.chunk, p, exists, kNever, true);
    if (!exists) continue;
    work.parts[item] = p;
    work.run_ends[item] = run_ends;
    work.absorbed[item] = 0;
  }
}

// Units whose widths are near become one partition, within tiles.
__device__ inline void choose_tiles(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  for (uint32_t first = warp * work.batch; first < work.chunk_count * work.stride; first += warps * work.batch) {
    const uint32_t item = first + lane_id();
    const UnitPlace place = place_of_unit(work, item);
    const bool exists = place.exists && lane_id() < work.batch;
    uint32_t run_ends;
    Partition p = units_of_lanes(work, first, &run_ends);
    choose_of_lanes(work, place.chunk, p, exists, kNever, true);
    const uint32_t last_width = device::shuffle_up(p.width, 1);
    const uint32_t jump = p.width > last_width ? p.width - last_width : last_width - p.width;
    const bool starts = exists && (place.unit % kFastUnits == 0 || jump >= kBreakpointBits);
    const bool continued = exists && place.unit > 0 && continues(values_of(work, place.chunk), place.unit);
    // Those that start take in the units up to the next that does.
    const uint32_t followers = ~device::ballot(starts) & device::ballot(exists);
    const uint32_t all_continued = device::ballot(continued);
    for (uint32_t step = 1; step < kFastUnits; ++step) {
      const uint32_t lane = (lane_id() + step) % kLanes;
      const Partition next = from_lane(p, lane);
      const uint32_t between = ((1u << step) - 1) << 1;  // the lanes from the next one to this
      const bool takes =
          starts && place.unit % kFastUnits + step < kFastUnits && (followers >> lane_id() & between) == between;
      if (takes) p = joined(p, next, (all_continued >> lane & 1) != 0);
    }
    choose_of_lanes(work, place.chunk, p, starts && p.units > 1, kNever, true);
    if (exists) work.absorbed[item] = starts ? 0 : 1;
    if (starts) work.parts[item] = p;
  }
}

// --- merging ---

// Blocks merge one chunk together. What each of them knows, in shared memory: which partitions there are, and which of
// them it is to try in this step. An even step pairs the partitions with even numbers with the next, an odd one the
// others; a round of two steps that merged nothing was the last.
struct MergeBlock {
  static constexpr uint32_t kMaxUnits = kMaxChunkRows / kUnitRows;
  uint32_t starts[kMaxUnits / 32];  // a bit per unit
  uint16_t before[kMaxUnits / 32];  // partitions before these units
  uint32_t count;                   // partitions
  uint32_t round_count;             // at the beginning of the round
  uint32_t units;
  uint32_t short_pairs, long_pairs;
  uint16_t pairs[kMaxUnits / 2];  // first units: of short pairs from the front, of long ones from the back

  // The first unit behind `unit` at which a partition starts, or the end.
  __device__ __forceinline__ uint32_t next_start(uint32_t unit) const {
    uint32_t word = (unit + 1) / 32;
    if (word * 32 >= units) return units;
    uint32_t bits = starts[word] & ~0u << (unit + 1) % 32;
    while (bits == 0) {
      if (++word * 32 >= units) return units;
      bits = starts[word];
    }
    return word * 32 + device::lowest_bit(bits);
  }
};
struct MergePair {
  uint32_t first, second, end;  // units
};
__device__ __forceinline__ MergePair pair_at(const MergeBlock& block, uint32_t first) {
  const uint32_t second = block.next_start(first);
  return {first, second, block.next_start(second)};
}
// Which of the blocks of a chunk the calling one is.
struct MergeMember {
  uint32_t number, count;
};

// One block of a chunk, before the others may begin: sums up the ends of runs; nothing is merged yet.
__device__ inline void prepare_merge(const EncodeWork& work, uint32_t chunk) {
  const uint32_t base = work.at(chunk, 0);
  const auto [begin, end] = BlockTeam::share(work.units(chunk));
  uint32_t ends = 0;
  for (uint32_t unit = begin + lane_id(); unit < end; unit += kLanes) ends += work.run_ends[base + unit];
  uint32_t total;
  ends = BlockTeam::sum_before(sum<WarpTeam>(ends), &total);
  for (uint32_t first = begin; first < end; first += kLanes) {
    const uint32_t unit = first + lane_id();
    const uint32_t here = unit < end ? work.run_ends[base + unit] : 0;
    const uint32_t below = device::sum_below(here);
    if (unit < end) work.run_ends[base + unit] = ends + below;
    ends += sum<WarpTeam>(here);
  }
  for (uint32_t i = threadIdx.x; i < 3 * work.mask_words(); i += blockDim.x) work.merged_in(chunk, 0)[i] = 0;
}

// Every block, once: which partitions there are.
__device__ inline void find_starts(const EncodeWork& work, uint32_t chunk, MergeBlock& block) {
  if (BlockTeam::is_first_thread()) {
    block.units = work.units(chunk);
    block.round_count = 0;
  }
  for (uint32_t word = BlockTeam::warp(); word < work.mask_words(); word += BlockTeam::warps()) {
    const uint32_t unit = word * 32 + lane_id();
    const uint32_t bits = device::ballot(unit < work.units(chunk) && work.absorbed[work.at(chunk, unit)] == 0);
    if (lane_id() == 0) block.starts[word] = bits;
  }
  BlockTeam::sync();
}

// The pairs of a step that fall to the block and have not been refused before.
__device__ inline void list_pairs(const EncodeWork& work, uint32_t chunk, uint32_t step, const MergeMember& member,
                                  MergeBlock& block) {
  const uint32_t words = work.mask_words();
  if (BlockTeam::warp() == 0) {
    uint32_t count = 0;
    for (uint32_t first = 0; first < words; first += kLanes) {
      const uint32_t word = first + lane_id();
      const uint32_t here = word < words ? device::population(block.starts[word]) : 0;
      const uint32_t below = device::sum_below(here);
      if (word < words) block.before[word] = static_cast<uint16_t>(count + below);
      count += sum<WarpTeam>(here);
    }
    block.count = count;
    block.short_pairs = 0;
    block.long_pairs = 0;
  }
  BlockTeam::sync();
  // Half a word per thread.
  for (uint32_t half = threadIdx.x; half < 2 * words; half += blockDim.x) {
    const uint32_t word = block.starts[half / 2];
    uint32_t bits = half % 2 == 0 ? word & 0xFFFF : word & 0xFFFF0000;
    uint32_t number = block.before[half / 2] + (half % 2 == 0 ? 0 : device::population(word & 0xFFFF));
    for (; bits != 0; bits &= bits - 1, ++number) {
      if (number % 2 != step % 2 || number + 1 >= block.count || number / 2 % member.count != member.number) continue;
      const MergePair pair = pair_at(block, half / 2 * 32 + device::lowest_bit(bits));
      if (work.parts[work.at(chunk, pair.first)].refused_end == pair.end) continue;
      const bool is_long = pair.end - pair.first > kLongUnits;
      const uint32_t place = atomicAdd(is_long ? &block.long_pairs : &block.short_pairs, 1u);
      block.pairs[is_long ? MergeBlock::kMaxUnits / 2 - 1 - place : place] = static_cast<uint16_t>(pair.first);
    }
  }
  BlockTeam::sync();
}

__device__ __forceinline__ Partition union_of(const EncodeWork& work, uint32_t chunk, const MergePair& pair,
                                              uint64_t* limit) {
  const Partition& a = work.parts[work.at(chunk, pair.first)];
  const Partition& b = work.parts[work.at(chunk, pair.second)];
  *limit = a.bytes + b.bytes;
  return joined(a, b, continues(values_of(work, chunk), pair.second));
}
__device__ __forceinline__ void keep_union(const EncodeWork& work, uint32_t chunk, uint32_t step, const MergePair& pair,
                                           bool pays, const Partition& both) {
  Partition& first = work.parts[work.at(chunk, pair.first)];
  if (pays) {
    first = both;
    work.absorbed[work.at(chunk, pair.second)] = 1;
    atomicOr(work.merged_in(chunk, step) + pair.second / 32, 1u << pair.second % 32);
  } else {
    first.refused_end = pair.end;
  }
}

// What the block has listed. Short pairs take a lane each; warps take equal shares even where that leaves lanes without
// a pair, and from all over the list: neighbours in it are alike, and some take long. Long ones take all warps.
__device__ inline void try_pairs(const EncodeWork& work, uint32_t chunk, uint32_t step, const MergeBlock& block) {
  const uint32_t share = (block.short_pairs + BlockTeam::warps() - 1) / BlockTeam::warps();
  for (uint32_t first = 0; first < share; first += kLanes) {
    const uint32_t item = (first + lane_id()) * BlockTeam::warps() + BlockTeam::warp();
    const bool wanted = item < block.short_pairs;
    if (!device::any_lane(wanted)) continue;
    MergePair pair{};
    Partition both;
    uint64_t limit = 0;
    if (wanted) {
      pair = pair_at(block, block.pairs[item]);
      both = union_of(work, chunk, pair, &limit);
    }
    const bool pays = choose_of_lanes(work, chunk, both, wanted, limit, true);
    if (wanted) keep_union(work, chunk, step, pair, pays, both);
  }
  BlockTeam::sync();
  for (uint32_t item = 0; item < block.long_pairs; ++item) {
    const MergePair pair = pair_at(block, block.pairs[MergeBlock::kMaxUnits / 2 - 1 - item]);
    uint64_t limit;
    Partition both = union_of(work, chunk, pair, &limit);
    const bool pays = choose_of_block(work, chunk, both, limit);
    BlockTeam::sync();  // everybody has read the parts
    if (BlockTeam::is_first_thread()) keep_union(work, chunk, step, pair, pays, both);
  }
}

// After all blocks have come to the end of the step: takes in what they merged.
__device__ inline void take_merged(const EncodeWork& work, uint32_t chunk, uint32_t step, MergeBlock& block) {
  const uint32_t* merged = work.merged_in(chunk, step);
  for (uint32_t word = threadIdx.x; word < work.mask_words(); word += blockDim.x) block.starts[word] &= ~merged[word];
  BlockTeam::sync();
}

// A step of one block; false: merging was over before. A block may be a step ahead of others that still read what was
// merged in the last one, so it may clear only what the next one will write.
__device__ inline bool merge_step(const EncodeWork& work, uint32_t chunk, uint32_t step, const MergeMember& member,
                                  MergeBlock& block) {
  list_pairs(work, chunk, step, member, block);
  if (step % 2 == 0) {
    if (block.count < 2 || block.count == block.round_count) return false;
    BlockTeam::sync();
    if (BlockTeam::is_first_thread()) block.round_count = block.count;
  }
  if (member.number == 0) {
    uint32_t* next = work.merged_in(chunk, step + 1);
    for (uint32_t word = threadIdx.x; word < work.mask_words(); word += blockDim.x) next[word] = 0;
  }
  try_pairs(work, chunk, step, block);
  return true;
}

// --- the cheapest cut ---

// A warp per first unit, a lane per length: what each run of up to 32 units costs. Runs that cost more than their units
// by themselves are in no cheapest cut.
__device__ inline void cost_runs(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  static_assert(kMaxPolyUnits == kLanes);
  for (uint32_t item = warp; item < work.chunk_count * work.stride; item += warps) {
    const uint32_t chunk = item / work.stride;
    const uint32_t start = item % work.stride;
    const uint32_t units = work.units(chunk);
    if (start >= units) continue;
    const Partition* parts = work.parts + work.at(chunk, 0);
    const uint32_t unit = start + lane_id();
    const bool exists = unit < units;
    const uint64_t bytes = exists ? parts[unit].bytes : 0;
    const uint64_t by_units = bytes + device::sum_below(bytes);
    const uint32_t continued = device::ballot(exists && lane_id() > 0 && continues(values_of(work, chunk), unit));
    Partition run = parts[start];
    Partition own = run;
    for (uint32_t i = 1; i < kMaxPolyUnits && start + i < units; ++i) {
      run = joined(run, parts[start + i], (continued >> i & 1) != 0);
      if (lane_id() == i) own = run;
    }
    const bool pays = choose_of_lanes(work, chunk, own, exists && lane_id() > 0, by_units + 1, false);
    work.costs[size_t{item} * kMaxPolyUnits + lane_id()] =
        lane_id() == 0 || pays ? static_cast<uint32_t>(own.bytes) : kNoCost;
  }
}

// One warp per chunk and block: lane l knows the cheapest cut of the units up to start + 1 + l. Of equal cuts the one
// whose last partition is longest is kept, as on the CPU.
__device__ inline void cut_cheapest(const EncodeWork& work, uint32_t chunk) {
  __shared__ uint8_t lengths[kMaxChunkRows / kUnitRows + 1];
  const uint32_t units = work.units(chunk);
  const uint32_t base = work.at(chunk, 0);
  const uint32_t* costs = work.costs + size_t{base} * kMaxPolyUnits;
  uint32_t so_far = 0;
  uint32_t cheapest = kNoCost;
  uint32_t length = 0;  // of its last partition
  uint32_t next_cost = units > 0 && lane_id() < units ? costs[lane_id()] : kNoCost;
  for (uint32_t start = 0; start < units; ++start) {
    const uint32_t cost = next_cost;
    const uint32_t end = start + 1 + lane_id();
    next_cost = end + 1 <= units ? costs[(start + 1) * kMaxPolyUnits + lane_id()] : kNoCost;
    if (end <= units && cost != kNoCost && so_far + cost < cheapest) {
      cheapest = so_far + cost;
      length = lane_id() + 1;
    }
    if (lane_id() == 0) lengths[end] = static_cast<uint8_t>(length);
    so_far = device::shuffle(cheapest, 0);
    length = device::shuffle(length, (lane_id() + 1) % kLanes);
    cheapest = device::shuffle(cheapest, (lane_id() + 1) % kLanes);
    if (lane_id() + 1 == kLanes) cheapest = kNoCost;
  }
  for (uint32_t unit = lane_id(); unit < units; unit += kLanes) work.absorbed[base + unit] = 1;
  device::sync_warp();
  if (lane_id() == 0) {
    for (uint32_t end = units; end > 0; end -= lengths[end]) work.absorbed[base + end - lengths[end]] = 0;
  }
  device::sync_warp();
}

// A lane per unit: where a partition starts, its units are joined and its model found again.
__device__ inline void choose_cut(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  for (uint32_t first = warp * work.batch; first < work.chunk_count * work.stride; first += warps * work.batch) {
    const uint32_t item = first + lane_id();
    const UnitPlace place = place_of_unit(work, item);
    const bool starts = place.exists && lane_id() < work.batch && work.absorbed[item] == 0;
    Partition run;
    if (starts) run = work.parts[item];
    const uint32_t units = starts ? work.units(place.chunk) : 0;
    for (uint32_t unit = place.unit + 1; unit < units && work.absorbed[work.at(place.chunk, unit)] != 0; ++unit) {
      run = joined(run, work.parts[work.at(place.chunk, unit)], continues(values_of(work, place.chunk), unit));
    }
    const bool grown = starts && run.units > 1;
    choose_of_lanes(work, place.chunk, run, grown, kNever, true);
    if (grown) work.parts[item] = run;
  }
}

}  // namespace basalt::l3
