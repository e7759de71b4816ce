// The device encoder, stage by stage. A stage is a function of who calls it (which warp or block of how many), so that
// kernels are one line each and tests run the same stages on the CPU. In this order:
//   fast      choose_tiles
//   balanced  choose_units, prepare_merge, then try_pairs and compact until nothing is left to merge
//   best      choose_units, cost_runs, cut_cheapest, choose_cut, then merging as above
// and for all: place_streams, write_metadata, pack_residuals.
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

// Units `first` and following, one per lane as far as they exist, without models yet. All lanes look at the rows of
// each.
__device__ __forceinline__ Partition units_of_lanes(const EncodeWork& work, uint32_t first, uint32_t* run_ends) {
  Partition own;
  for (uint32_t i = 0; i < work.batch; ++i) {
    const UnitPlace place = place_of_unit(work, first + i);
    if (!place.exists) continue;
    uint32_t ends;
    const Partition p = unit_of(values_of(work, place.chunk), place.unit, &ends);
    if (lane_id() != i) continue;
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

// First and end unit of what pair `pair` of a list makes.
struct PairPlace {
  uint32_t first, second, end;
};
BASALT_HD PairPlace place_of_pair(const uint16_t* list, uint32_t count, uint32_t units, uint32_t phase, uint32_t pair) {
  const uint32_t j = phase + 2 * pair;
  return {list[j], list[j + 1], j + 2 < count ? list[j + 2] : units};
}

// Says how many pairs the phase after `step` has, and queues the long ones. All threads of a block; `list` is whole.
__device__ inline void announce_pairs(const EncodeWork& work, uint32_t chunk, uint32_t next_step, uint32_t count,
                                      uint32_t pairs) {
  const uint16_t* list = work.lists[next_step % 2] + work.at(chunk, 0);
  if (BlockTeam::is_first_thread()) {
    work.states[chunk].count = count;
    work.states[chunk].pairs = pairs;
    if (next_step % 2 == 0) work.states[chunk].round_count = count;
    atomicMax(&work.control->most_pairs[next_step % 3], pairs);
  }
  for (uint32_t pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
    const PairPlace place = place_of_pair(list, count, work.units(chunk), next_step % 2, pair);
    if (place.end - place.first > kLongUnits) {
      work.queue[atomicAdd(&work.control->long_pairs[next_step % 3], 1u)] = {chunk, pair};
    }
  }
}

// A block per chunk: sums up the ends of runs and lists the partitions there are. The control is all zeros before.
__device__ inline void prepare_merge(const EncodeWork& work, uint32_t block, uint32_t blocks) {
  for (uint32_t chunk = block; chunk < work.chunk_count; chunk += blocks) {
    const uint32_t units = work.units(chunk);
    const uint32_t base = work.at(chunk, 0);
    const uint32_t begin = units * BlockTeam::warp() / BlockTeam::warps();
    const uint32_t end = units * (BlockTeam::warp() + 1) / BlockTeam::warps();
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

__device__ __forceinline__ void keep_union(const EncodeWork& work, uint32_t chunk, const PairPlace& place, bool pays,
                                           const Partition& both) {
  Partition& first = work.parts[work.at(chunk, place.first)];
  if (pays) {
    first = both;
    work.absorbed[work.at(chunk, place.second)] = 1;
  } else {
    first.refused_end = place.end;
  }
}

// Short pairs, a lane each. The first pairs of all chunks come first, and warps take equal shares even where that
// leaves lanes without a pair.
__device__ inline void try_pairs(const EncodeWork& work, uint32_t step, uint32_t warp, uint32_t warps) {
  const uint32_t items = work.control->most_pairs[step % 3] * work.chunk_count;
  const uint32_t rounds = (items + warps * kLanes - 1) / (warps * kLanes);
  const uint32_t batch = items == 0 ? 1 : (items + warps * rounds - 1) / (warps * rounds);
  for (uint32_t first = warp * batch; first < items; first += warps * batch) {
    const uint32_t item = first + lane_id();
    const uint32_t chunk = item % work.chunk_count;
    const uint32_t pair = item / work.chunk_count;
    const MergeState& state = work.states[chunk];
    PairPlace place{0, 0, 0};
    bool wanted = lane_id() < batch && pair < state.pairs;
    if (wanted) {
      place = place_of_pair(work.lists[step % 2] + work.at(chunk, 0), state.count, work.units(chunk), step % 2, pair);
      wanted =
          place.end - place.first <= kLongUnits && work.parts[work.at(chunk, place.first)].refused_end != place.end;
    }
    if (!device::any_lane(wanted)) continue;
    Partition both;
    uint64_t limit = 0;
    if (wanted) {
      const Partition& a = work.parts[work.at(chunk, place.first)];
      const Partition& b = work.parts[work.at(chunk, place.second)];
      limit = a.bytes + b.bytes;
      both = joined(a, b, continues(values_of(work, chunk), place.second));
    }
    const bool pays = choose_of_lanes(work, chunk, both, wanted, limit, true);
    if (wanted) keep_union(work, chunk, place, pays, both);
  }
}
// Long ones, a block each.
__device__ inline void try_long_pairs(const EncodeWork& work, uint32_t step, uint32_t block, uint32_t blocks) {
  const uint32_t items = work.control->long_pairs[step % 3];
  for (uint32_t item = block; item < items; item += blocks) {
    const uint32_t chunk = work.queue[item].chunk;
    const PairPlace place = place_of_pair(work.lists[step % 2] + work.at(chunk, 0), work.states[chunk].count,
                                          work.units(chunk), step % 2, work.queue[item].pair);
    const Partition& a = work.parts[work.at(chunk, place.first)];
    const Partition& b = work.parts[work.at(chunk, place.second)];
    if (a.refused_end == place.end) continue;
    const uint64_t limit = a.bytes + b.bytes;
    Partition both = joined(a, b, continues(values_of(work, chunk), place.second));
    const bool pays = choose_of_block(work, chunk, both, limit);
    BlockTeam::sync();  // everybody has read the parts
    if (BlockTeam::is_first_thread()) keep_union(work, chunk, place, pays, both);
  }
}

// A block per chunk, after step `step`: drops what was absorbed from the list.
__device__ inline void compact(const EncodeWork& work, uint32_t step, uint32_t block, uint32_t blocks) {
  if (block == 0 && BlockTeam::is_first_thread()) {
    work.control->most_pairs[(step + 2) % 3] = 0;
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
  return work.control->most_pairs[step % 3] == 0;
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

// --- streams ---

// A block per chunk: numbers the partitions and finds the places of their parameters and residuals.
__device__ inline void place_streams(const EncodeWork& work, uint32_t block, uint32_t blocks) {
  for (uint32_t chunk = block; chunk < work.chunk_count; chunk += blocks) {
    const uint32_t units = work.units(chunk);
    const uint32_t base = work.at(chunk, 0);
    const uint32_t begin = units * BlockTeam::warp() / BlockTeam::warps();
    const uint32_t end = units * (BlockTeam::warp() + 1) / BlockTeam::warps();
    struct Words {
      uint32_t partitions, params, model, runs;
    };
    const auto words_of = [&](uint32_t unit) -> Words {
      if (unit >= end || work.absorbed[base + unit] != 0) return {0, 0, 0, 0};
      const Partition& p = work.parts[base + unit];
      const auto words = static_cast<uint32_t>(stream_words(p));
      const bool runs = p.model == Model::kRuns;
      return {1, p.param_words, runs ? 0 : words, runs ? words : 0};
    };
    Words before{0, 0, 0, 0};
    for (uint32_t unit = begin + lane_id(); unit < end; unit += kLanes) {
      const Words here = words_of(unit);
      before.partitions += here.partitions;
      before.params += here.params;
      before.model += here.model;
      before.runs += here.runs;
    }
    Words total;
    before.partitions = BlockTeam::sum_before(sum<WarpTeam>(before.partitions), &total.partitions);
    before.params = BlockTeam::sum_before(sum<WarpTeam>(before.params), &total.params);
    before.model = BlockTeam::sum_before(sum<WarpTeam>(before.model), &total.model);
    before.runs = BlockTeam::sum_before(sum<WarpTeam>(before.runs), &total.runs);
    for (uint32_t first = begin; first < end; first += kLanes) {
      const uint32_t unit = first + lane_id();
      const Words here = words_of(unit);
      const uint32_t number = before.partitions + device::sum_below(here.partitions);
      const uint32_t params = before.params + device::sum_below(here.params);
      const uint32_t model = before.model + device::sum_below(here.model);
      const uint32_t runs = total.model + before.runs + device::sum_below(here.runs);
      if (unit < end) {
        work.numbers[base + unit] = number;
        work.param_places[base + unit] = params;
        work.word_places[base + unit] = here.runs != 0 ? runs : model;
      }
      before.partitions += sum<WarpTeam>(here.partitions);
      before.params += sum<WarpTeam>(here.params);
      before.model += sum<WarpTeam>(here.model);
      before.runs += sum<WarpTeam>(here.runs);
    }
    if (BlockTeam::is_first_thread()) {
      work.sizes[chunk] = {total.partitions, total.params, total.model, total.model + total.runs};
    }
  }
}

// Everything but residuals; the room of runs becomes zero. Any number of threads.
__device__ inline void write_metadata(const EncodeWork& work, uint32_t chunk, uint32_t thread, uint32_t threads) {
  const EncodedStreams& to = work.streams[chunk];
  const EncodedSizes& sizes = work.sizes[chunk];
  const uint32_t units = work.units(chunk);
  const uint32_t base = work.at(chunk, 0);
  for (uint32_t word = thread; word * kUnitsPerStart < units; word += threads) {
    uint32_t bits = work.numbers[base + word * kUnitsPerStart] << 16;
    for (uint32_t u = 0; u < kUnitsPerStart && word * kUnitsPerStart + u < units; ++u) {
      bits |= (work.absorbed[base + word * kUnitsPerStart + u] == 0 ? 1u : 0u) << u;
    }
    to.starts[word] = bits;
  }
  for (uint32_t unit = thread; unit < units; unit += threads) {
    if (work.absorbed[base + unit] != 0) continue;
    const Partition& p = work.parts[base + unit];
    const uint32_t word = work.word_places[base + unit];
    Record record = record_of(p);
    record.params = work.param_places[base + unit];
    record.place = word / kPieceWords;
    uint32_t* params = to.params + record.params;
    if (p.model == Model::kRuns) {
      record.shift = word % kPieceWords;
      const uint32_t* from = work.runs_params + size_t{base + unit} * kRunsParamsStride;
      for (uint32_t i = 0; i < p.param_words; ++i) params[i] = from[i];
    } else {
      put_params(p, static_cast<uint64_t>(p.base) + work.type.widening, work.type.bytes, params);
    }
    to.records[work.numbers[base + unit]] = pack_record(record);
  }
  for (uint32_t word = sizes.model_words + thread; word < sizes.residual_words; word += threads) to.residuals[word] = 0;
}

// Sets bits of a stream that are zero and that other threads fill as well.
__device__ inline void put_bits(uint32_t* words, uint64_t at, uint32_t width, uint64_t value) {
  uint32_t* to = words + (at >> 5);
  const uint32_t shift = at & 31;
  const uint128_t bits = static_cast<uint128_t>(value & low_bits(width)) << shift;
  for (uint32_t i = 0; i * 32 < shift + width; ++i) {
    const auto word = static_cast<uint32_t>(bits >> (32 * i));
    if (word != 0) atomicOr(to + i, word);
  }
}

// What packs the rows of one tile.
struct TilePacker {
  const EncodeWork& work;
  uint32_t chunk_number;
  Chunk chunk;
  ChunkValues values;
  const uint32_t* run_ends;

  // Residuals of the lane's rows of a unit: exact in their width, whatever lies above.
  __device__ __forceinline__ void residuals(const Record& record, const Predictor& predictor, uint32_t unit,
                                            uint64_t (&out)[kUnitRowsPerLane]) const {
    int64_t v[kUnitRowsPerLane];
    values.read_unit(unit, v);
    Steps steps = steps_from(predictor, (unit - record.first_unit) * kUnitRows + lane_id(), kLanes);
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const bool exists = unit * kUnitRows + k * kLanes + lane_id() < values.rows;
      const uint64_t value = static_cast<uint64_t>(v[k]) + values.type.widening;
      out[k] = exists ? (value - finish(predictor, steps.y, 0)) & low_bits(record.width) : 0;
      step(steps);
    }
  }

  // Four units of one partition: word j of a lane at 32·j + lane.
  __device__ void pack_tile(const Record& record, uint32_t first_unit) const {
    const Predictor predictor = get_predictor(record, chunk.params, values.type.bytes);
    uint32_t* to =
        work.streams[chunk_number].residuals + (chunk.words_of(record, first_unit) - chunk.residuals) + lane_id();
    uint128_t pending = 0;
    uint32_t filled = 0;
#pragma unroll 1
    for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
      uint64_t residual[kUnitRowsPerLane];
      residuals(record, predictor, first_unit + u, residual);
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
        pending |= static_cast<uint128_t>(residual[k]) << filled;
        filled += record.width;
        while (filled >= 32) {
          device::store_once(to, static_cast<uint32_t>(pending));
          to += kLanes;
          pending >>= 32;
          filled -= 32;
        }
      }
    }
  }

  // A unit by itself: the lane's eight values are `width` bytes at byte lane·width.
  __device__ void pack_unit(const Record& record, uint32_t unit) const {
    const Predictor predictor = get_predictor(record, chunk.params, values.type.bytes);
    uint64_t residual[kUnitRowsPerLane];
    residuals(record, predictor, unit, residual);
    auto* to = reinterpret_cast<uint8_t*>(work.streams[chunk_number].residuals +
                                          (chunk.words_of(record, unit) - chunk.residuals)) +
               lane_id() * record.width;
    uint128_t pending = 0;
    uint32_t filled = 0;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      pending |= static_cast<uint128_t>(residual[k]) << filled;
      filled += record.width;
      while (filled >= 8) {
        *to++ = static_cast<uint8_t>(pending);
        pending >>= 8;
        filled -= 8;
      }
    }
  }

  // Runs that end in a unit, and the unit's tile's first run.
  __device__ void pack_runs(const Record& record, uint32_t end_unit, uint32_t unit) const {
    const Runs runs = Runs::of(record, end_unit, chunk.params, chunk.residuals, values.type.bytes);
    uint32_t* words = work.streams[chunk_number].residuals + (runs.words - chunk.residuals);
    const uint64_t ends_at = static_cast<uint64_t>(runs.header.runs) * runs.header.values.width;
    const uint64_t firsts_at = ends_at + static_cast<uint64_t>(runs.header.runs) * runs.header.ends.width;
    const uint32_t before = run_ends[unit] - run_ends[record.first_unit];
    if (lane_id() == 0 && unit % kUnitsPerTile == 0 && unit != record.first_unit) {
      const uint32_t tile = unit / kUnitsPerTile - record.first_unit / kUnitsPerTile;
      put_bits(words, firsts_at + static_cast<uint64_t>(tile - 1) * runs.first_width, runs.first_width, before);
    }
    const uint32_t first_row = unit * kUnitRows;
    const uint32_t end_row = end_unit * kUnitRows < values.rows ? end_unit * kUnitRows : values.rows;
    int64_t v[kUnitRowsPerLane];
    values.read_unit(unit, v);
    const int64_t beyond = first_row + kUnitRows < end_row ? values.at(first_row + kUnitRows) : 0;
    uint32_t run = before;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t row = first_row + k * kLanes + lane_id();
      const uint32_t all = run_ends_at(v, k, beyond, row, end_row);
      if (all >> lane_id() & 1) {
        const uint32_t own = run + device::population(all & lanes_below());
        put_run(runs, words, ends_at, own, v[k], row);
      }
      run += device::population(all);
    }
  }

 private:
  __device__ void put_run(const Runs& runs, uint32_t* words, uint64_t ends_at, uint32_t run, int64_t value,
                          uint32_t row) const {
    const uint32_t value_width = runs.header.values.width;
    const uint64_t residual =
        static_cast<uint64_t>(value) + values.type.widening - finish(runs.values, evaluate(runs.values, run), 0);
    put_bits(words, static_cast<uint64_t>(run) * value_width, value_width, residual);
    const uint32_t end_width = runs.header.ends.width;
    const uint64_t end = row % kTileRows;
    const bool by_tile = runs.header.ends.model == kByTile;
    const uint64_t local = row - runs.first_unit * kUnitRows + 1;
    put_bits(words, ends_at + static_cast<uint64_t>(run) * end_width, end_width,
             by_tile ? end : local - finish(runs.ends, evaluate(runs.ends, run), 0));
  }
};

// A warp per tile.
__device__ inline void pack_residuals(const EncodeWork& work, uint32_t warp, uint32_t warps) {
  const uint32_t tiles = (work.stride + kUnitsPerTile - 1) / kUnitsPerTile;
  for (uint32_t item = warp; item < work.chunk_count * tiles; item += warps) {
    const uint32_t chunk = item / tiles;
    const uint32_t first_unit = item % tiles * kUnitsPerTile;
    const uint32_t units = work.units(chunk);
    if (first_unit >= units) continue;
    const EncodedStreams& to = work.streams[chunk];
    const TilePacker packer{work, chunk,
                            Chunk::of(to.starts, to.records, to.params, to.residuals, work.chunks[chunk].rows),
                            values_of(work, chunk), work.run_ends + work.at(chunk, 0)};
    const bool packed = packer.chunk.is_packed(first_unit);
    for (uint32_t unit = first_unit; unit < first_unit + kUnitsPerTile && unit < units; ++unit) {
      const uint32_t partition = packer.chunk.partition_of(unit);
      const Record record = packer.chunk.record(partition);
      if (record.model == Model::kRuns) {
        packer.pack_runs(record, packer.chunk.end_unit(partition), unit);
      } else if (record.width != 0 && packed) {
        packer.pack_tile(record, first_unit);
        break;
      } else if (record.width != 0) {
        packer.pack_unit(record, unit);
      }
    }
  }
}

}  // namespace basalt::l3
