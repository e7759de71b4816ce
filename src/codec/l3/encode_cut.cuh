// The stages of the device encoder that cut chunks into partitions. A stage is a function of who calls it (which warp
// or block of how many), so that kernels are one line each and tests run the same stages on the CPU. In this order:
//   fast      choose_tiles
//   balanced  choose_units, prepare_merge, then try_pairs and compact until nothing is left to merge
//   best      choose_units, cost_runs, cut_cheapest, choose_cut, then merging as above
// encode_streams.cuh has the rest.
#pragma once

#include "codec/l3/encode_choose.cuh"

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

// Partitions that a phase (0: the even ones first, 1: the odd ones) can pair.
BASALT_HD uint32_t pairs_of(uint32_t count, uint32_t phase) { return count < phase + 2 ? 0 : (count - phase) / 2; }

// The lanes that want it put their pairs into a queue.
__device__ __forceinline__ void enqueue(bool wanted, const MergePair& pair, MergePair* queue, uint32_t* count) {
  const uint32_t all = device::ballot(wanted);
  if (all == 0) return;
  uint32_t place = 0;
  if (lane_id() == 0) place = atomicAdd(count, device::population(all));
  place = device::shuffle(place, 0) + device::population(all & lanes_below());
  if (wanted) queue[place] = pair;
}

// Says what the phase after `step` has to do, and queues the unions that have not been tried. All threads of a block;
// the list is whole.
__device__ inline void announce_pairs(const EncodeWork& work, uint32_t chunk, uint32_t next_step, uint32_t count,
                                      uint32_t pairs) {
  const uint32_t base = work.at(chunk, 0);
  const uint16_t* list = work.lists[next_step % 2] + base;
  if (BlockTeam::is_first_thread()) {
    work.states[chunk].count = count;
    if (next_step % 2 == 0) work.states[chunk].round_count = count;
    if (pairs > 0) atomicAdd(&work.control->unmerged[next_step % 3], 1u);
  }
  for (uint32_t first_pair = BlockTeam::warp() * kLanes; first_pair < pairs; first_pair += blockDim.x) {
    const uint32_t j = next_step % 2 + 2 * (first_pair + lane_id());
    const bool exists = first_pair + lane_id() < pairs;
    MergePair pair{chunk, 0, 0, 0};
    if (exists) {
      pair.first = list[j];
      pair.second = list[j + 1];
      pair.end = static_cast<uint16_t>(j + 2 < count ? list[j + 2] : work.units(chunk));
    }
    const bool untried = exists && work.parts[base + pair.first].refused_end != pair.end;
    const bool is_long = pair.end > pair.first + kLongUnits;
    enqueue(untried && !is_long, pair, work.short_queue, &work.control->short_pairs[next_step % 3]);
    enqueue(untried && is_long, pair, work.long_queue, &work.control->long_pairs[next_step % 3]);
  }
}

// A block per chunk: sums up the ends of runs and lists the partitions there are. The control is all zeros before.
__device__ inline void prepare_merge(const EncodeWork& work, uint32_t block, uint32_t blocks) {
  for (uint32_t chunk = block; chunk < work.chunk_count; chunk += blocks) {
    const uint32_t units = work.units(chunk);
    const uint32_t base = work.at(chunk, 0);
    const auto [begin, end] = BlockTeam::share(units);
    uint32_t ends = 0;
    uint32_t alive = 0;
    for (uint32_t unit = begin + lane_id(); unit < end; unit += kLanes) {
      ends += work.run_ends[base + unit];
      alive += work.absorbed[base + unit] == 0 ? 1 : 0;
    }
    uint32_t total;
    ends = BlockTeam::sum_before(sum<WarpTeam>(ends), &total);
    alive = BlockTeam::sum_before(sum<WarpTeam>(alive), &total);
    for (uint32_t first = begin; first < end; first += kLanes) {
      const uint32_t unit = first + lane_id();
      const uint32_t here = unit < end ? work.run_ends[base + unit] : 0;
      const bool starts = unit < end && work.absorbed[base + unit] == 0;
      const uint32_t all = device::ballot(starts);
      const uint32_t below = device::sum_below(here);
      if (unit < end) work.run_ends[base + unit] = ends + below;
      if (starts) {
        work.lists[0][base + alive + device::population(all & lanes_below())] = static_cast<uint16_t>(unit);
      }
      ends += sum<WarpTeam>(here);
      alive += device::population(all);
    }
    BlockTeam::sync();
    announce_pairs(work, chunk, 0, total, pairs_of(total, 0));
    BlockTeam::sync();
  }
}

__device__ __forceinline__ Partition union_of(const EncodeWork& work, const MergePair& pair, uint64_t* limit) {
  const Partition& a = work.parts[work.at(pair.chunk, pair.first)];
  const Partition& b = work.parts[work.at(pair.chunk, pair.second)];
  *limit = a.bytes + b.bytes;
  return joined(a, b, continues(values_of(work, pair.chunk), pair.second));
}
__device__ __forceinline__ void keep_union(const EncodeWork& work, const MergePair& pair, bool pays,
                                           const Partition& both) {
  Partition& first = work.parts[work.at(pair.chunk, pair.first)];
  if (pays) {
    first = both;
    work.absorbed[work.at(pair.chunk, pair.second)] = 1;
  } else {
    first.refused_end = pair.end;
  }
}

// Short pairs, a lane each. Warps take equal shares even where that leaves lanes without a pair, and from all over the
// queue: neighbours in it are alike, and some take long.
__device__ inline void try_pairs(const EncodeWork& work, uint32_t step, uint32_t warp, uint32_t warps) {
  const uint32_t items = work.control->short_pairs[step % 3];
  const uint32_t share = (items + warps - 1) / warps;
  for (uint32_t first = 0; first < share; first += kLanes) {
    const uint32_t item = (first + lane_id()) * warps + warp;
    const bool wanted = item < items;
    if (!device::any_lane(wanted)) continue;
    MergePair pair{};
    Partition both;
    uint64_t limit = 0;
    if (wanted) {
      pair = work.short_queue[item];
      both = union_of(work, pair, &limit);
    }
    const bool pays = choose_of_lanes(work, pair.chunk, both, wanted, limit, true);
    if (wanted) keep_union(work, pair, pays, both);
  }
}
// Long ones, a block each.
__device__ inline void try_long_pairs(const EncodeWork& work, uint32_t step, uint32_t block, uint32_t blocks) {
  const uint32_t items = work.control->long_pairs[step % 3];
  for (uint32_t item = block; item < items; item += blocks) {
    const MergePair pair = work.long_queue[item];
    uint64_t limit;
    Partition both = union_of(work, pair, &limit);
    const bool pays = choose_of_block(work, pair.chunk, both, limit);
    BlockTeam::sync();  // everybody has read the parts
    if (BlockTeam::is_first_thread()) keep_union(work, pair, pays, both);
  }
}

// A block per chunk, after step `step`: drops what was absorbed from the list.
__device__ inline void compact(const EncodeWork& work, uint32_t step, uint32_t block, uint32_t blocks) {
  if (block == 0 && BlockTeam::is_first_thread()) {
    work.control->unmerged[(step + 2) % 3] = 0;
    work.control->short_pairs[(step + 2) % 3] = 0;
    work.control->long_pairs[(step + 2) % 3] = 0;
  }
  for (uint32_t chunk = block; chunk < work.chunk_count; chunk += blocks) {
    const MergeState state = work.states[chunk];
    const uint32_t base = work.at(chunk, 0);
    const uint16_t* from = work.lists[step % 2] + base;
    uint16_t* to = work.lists[(step + 1) % 2] + base;
    const uint32_t begin = state.count * BlockTeam::warp() / BlockTeam::warps();
    const uint32_t end = state.count * (BlockTeam::warp() + 1) / BlockTeam::warps();
    uint32_t alive = 0;
    for (uint32_t i = begin + lane_id(); i < end; i += kLanes) alive += work.absorbed[base + from[i]] == 0 ? 1 : 0;
    uint32_t count;
    alive = BlockTeam::sum_before(sum<WarpTeam>(alive), &count);
    for (uint32_t first = begin; first < end; first += kLanes) {
      const uint32_t i = first + lane_id();
      const bool stays = i < end && work.absorbed[base + from[i]] == 0;
      const uint32_t all = device::ballot(stays);
      if (stays) to[alive + device::population(all & lanes_below())] = from[i];
      alive += device::population(all);
    }
    BlockTeam::sync();
    // A round of two phases that merged nothing was the last.
    const bool over = step % 2 == 1 && count == state.round_count;
    announce_pairs(work, chunk, step + 1, count, over ? 0 : pairs_of(count, (step + 1) % 2));
    BlockTeam::sync();
  }
}

// Whether merging is over before an even step.
__device__ __forceinline__ bool is_merged(const EncodeWork& work, uint32_t step) {
  return work.control->unmerged[step % 3] == 0;
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
