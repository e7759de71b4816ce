// Choosing models on the device. Arithmetic on partitions is long and rows are many, so a warp does both at full width:
// every lane has a partition of its own and decides about it, and all lanes together go through the rows, of four short
// partitions at a time or of one that is longer. One so long that a warp would take too long for it has a block to
// itself.
#pragma once

#include "codec/l3/gpu/encode_rows.cuh"

namespace basalt::l3 {

__device__ __forceinline__ ChunkValues values_of(const EncodeWork& work, uint32_t chunk) {
  return {work.chunks[chunk].values, work.chunks[chunk].rows, work.type};
}
__device__ __forceinline__ PartitionRows rows_of(const EncodeWork& work, uint32_t chunk, const Partition& p) {
  return {values_of(work, chunk),
          work.run_ends + work.at(chunk, 0),
          work.unit_ends + work.at(chunk, 0),
          p.first_unit,
          p.units,
          static_cast<uint32_t>(p.rows),
          p.first};
}
// Whether a unit begins with the value that ends the one before.
__device__ __forceinline__ bool continues(const ChunkValues& values, uint32_t unit) {
  return values.at(unit * kUnitRows - 1) == values.at(unit * kUnitRows);
}

// --- a lane each ---

__device__ __forceinline__ PartitionRows from_lane(const PartitionRows& rows, uint32_t lane) {
  PartitionRows out = rows;
  out.values.data = reinterpret_cast<const void*>(
      device::shuffle(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(rows.values.data)), lane));
  out.values.rows = device::shuffle(rows.values.rows, lane);
  out.unit_ends = reinterpret_cast<const UnitEnds*>(
      device::shuffle(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(rows.unit_ends)), lane));
  out.first_unit = device::shuffle(rows.first_unit, lane);
  out.units = device::shuffle(rows.units, lane);
  out.rows = device::shuffle(rows.rows, lane);
  out.first = device::shuffle(rows.first, lane);
  return out;
}
__device__ __forceinline__ Trial from_lane(const Trial& trial, uint32_t lane) {
  Trial out{};
  out.degree = device::shuffle(trial.degree, lane);
  out.predictor.c1 = device::shuffle(trial.predictor.c1, lane);
  out.predictor.c2 = device::shuffle(trial.predictor.c2, lane);
  out.predictor.c3 = device::shuffle(trial.predictor.c3, lane);
  out.predictor.fraction = device::shuffle(trial.predictor.fraction, lane);
  out.most = device::shuffle(trial.most, lane);
  return out;
}
// What joined() looks at.
__device__ __forceinline__ Partition from_lane(const Partition& p, uint32_t lane) {
  Partition out;
  out.first_unit = device::shuffle(p.first_unit, lane);
  out.units = device::shuffle(p.units, lane);
  out.rows = device::shuffle(p.rows, lane);
  out.first = device::shuffle(p.first, lane);
  out.low = device::shuffle(p.low, lane);
  out.high = device::shuffle(p.high, lane);
  out.runs = device::shuffle(p.runs, lane);
  out.moments.rows = out.rows;
  out.moments.s0 = device::shuffle(p.moments.s0, lane);
  out.moments.s1 = device::shuffle(p.moments.s1, lane);
  out.moments.s2 = device::shuffle(p.moments.s2, lane);
  out.moments.s3 = device::shuffle(p.moments.s3, lane);
  out.moments.squares = device::shuffle(p.moments.squares, lane);
  return out;
}

// f(lane) for the lanes that want it, one after the other; the lane gets what it returns.
template <typename Result, typename F>
__device__ __forceinline__ void serve_lanes(bool wanted, Result& result, const F& f) {
  for (uint32_t waiting = device::ballot(wanted); waiting != 0; waiting &= waiting - 1) {
    const auto lane = static_cast<uint32_t>(__ffs(static_cast<int>(waiting)) - 1);
    const Result found = f(lane);
    if (lane_id() == lane) result = found;
  }
}

// serve(trial, trying, found) gives the lanes that are trying the residuals of their arrays.
template <typename Serve>
__device__ __forceinline__ void try_models(ModelChoice& choice, bool wanted, const Serve& serve) {
  Trial trial{};
  bool trying = wanted && choice.next(trial);
  while (device::any_lane(trying)) {
    Residuals found;
    serve(trial, trying, found);
    if (!trying) continue;
    choice.take(found);
    trying = choice.next(trial);
  }
}

// Residuals of the lanes' partitions: of long ones by all lanes, one after the other, of short ones four at a time.
__device__ __forceinline__ void find_residuals(const PartitionRows& rows, const Trial& trial, bool wanted,
                                               Residuals& found) {
  serve_lanes(wanted && rows.units > kGroupUnits, found,
              [&](uint32_t lane) { return residuals_of<WarpTeam>(from_lane(rows, lane), from_lane(trial, lane)); });
  for (uint32_t waiting = device::ballot(wanted && rows.units <= kGroupUnits); waiting != 0;) {
    uint32_t left = waiting;
    for (uint32_t i = 0; i < lane_id() / kGroupLanes; ++i) left &= left - 1;
    const uint32_t lane = left == 0 ? 0 : device::lowest_bit(left);
    PartitionRows of_group = from_lane(rows, lane);
    if (left == 0) of_group.rows = 0;
    const Residuals of_lane = residuals_of_group(of_group, from_lane(trial, lane));
    const uint32_t group = device::population(waiting & lanes_below());
    const uint32_t from = group % kGroups * kGroupLanes;
    const Residuals own{device::shuffle(of_lane.low, from), device::shuffle(of_lane.high, from)};
    if ((waiting >> lane_id() & 1) != 0 && group < kGroups) found = own;
    for (uint32_t i = 0; i < kGroups; ++i) waiting &= waiting - 1;
  }
}

static __device__ __noinline__ void choose_runs_of_lanes(const EncodeWork& work, uint32_t chunk, Partition& p,
                                                         bool wanted, bool keep) {
  const PartitionRows rows = rows_of(work, chunk, p);
  RunMoments moments;
  serve_lanes(wanted, moments, [&](uint32_t lane) {
    return run_moments<WarpTeam>(from_lane(rows, lane), device::shuffle(p.runs, lane));
  });
  RunsChoice found = arrays_of_runs(p, moments);
  ModelChoice values(found.value_model, 1, work.type.bytes, kLeastSpread,
                     wanted ? found.value_limit(p, work.type.bytes) : 0);
  try_models(values, wanted, [&](const Trial& trial, bool trying, Residuals& residuals) {
    serve_lanes(trying, residuals, [&](uint32_t lane) {
      return run_residuals<WarpTeam, false>(from_lane(rows, lane), device::shuffle(found.value_model.first, lane),
                                            from_lane(trial, lane));
    });
  });
  const bool hopeful = wanted && found.value_model.param_words > 0;
  ModelChoice ends(found.end_model, 3, sizeof(uint32_t), kLeastSpread,
                   hopeful ? found.end_limit(p, work.type.bytes) : 0);
  try_models(ends, hopeful, [&](const Trial& trial, bool trying, Residuals& residuals) {
    serve_lanes(trying, residuals, [&](uint32_t lane) {
      return run_residuals<WarpTeam, true>(from_lane(rows, lane), device::shuffle(found.end_model.first, lane),
                                           from_lane(trial, lane));
    });
  });
  if (!hopeful) return;
  found.settle(p, work.type.bytes);
  if (take_runs(p, found, work.type.bytes) && keep) {
    put_runs_params(found, work.type.widening, work.type.bytes,
                    work.runs_params + size_t{work.at(chunk, p.first_unit)} * kRunsParamsStride);
  }
}

// Gives the partitions of the lanes that want it their cheapest models (beyond lines: runs, too), if they take fewer
// than `limit` bytes; says whether they do. `keep`: runs will be written as they were found.
static __device__ __noinline__ bool choose_of_lanes(const EncodeWork& work, uint32_t chunk, Partition& p, bool wanted,
                                                    uint64_t limit, bool keep) {
  Partition idle;  // of lanes that only help
  Partition& own = wanted ? p : idle;
  const PartitionRows rows = rows_of(work, chunk, own);
  ModelChoice choice(own, work.max_degree, work.type.bytes, work.spread, limit);
  try_models(choice, wanted,
             [&](const Trial& trial, bool trying, Residuals& found) { find_residuals(rows, trial, trying, found); });
  const bool runs = wanted && work.max_degree > 1 && may_pay_as_runs(own, work.type.bytes);
  if (device::any_lane(runs)) choose_runs_of_lanes(work, chunk, own, runs, keep);
  return wanted && own.bytes < limit;
}

// --- a block together ---

// The same for one partition, with the same arguments in all threads.
static __device__ __noinline__ bool choose_of_block(const EncodeWork& work, uint32_t chunk, Partition& p,
                                                    uint64_t limit) {
  const PartitionRows rows = rows_of(work, chunk, p);
  Trial trial;
  ModelChoice choice(p, work.max_degree, work.type.bytes, work.spread, limit);
  while (choice.next(trial)) choice.take(residuals_of<BlockTeam>(rows, trial));
  if (work.max_degree > 1 && may_pay_as_runs(p, work.type.bytes)) {
    RunsChoice found = arrays_of_runs(p, run_moments<BlockTeam>(rows, p.runs));
    ModelChoice values(found.value_model, 1, work.type.bytes, kLeastSpread, found.value_limit(p, work.type.bytes));
    while (values.next(trial)) {
      values.take(run_residuals<BlockTeam, false>(rows, found.value_model.first, trial));
    }
    if (found.value_model.param_words == 0) return p.bytes < limit;
    ModelChoice ends(found.end_model, 3, sizeof(uint32_t), kLeastSpread, found.end_limit(p, work.type.bytes));
    while (ends.next(trial)) ends.take(run_residuals<BlockTeam, true>(rows, found.end_model.first, trial));
    found.settle(p, work.type.bytes);
    if (take_runs(p, found, work.type.bytes) && BlockTeam::is_first_thread()) {
      put_runs_params(found, work.type.widening, work.type.bytes,
                      work.runs_params + size_t{work.at(chunk, p.first_unit)} * kRunsParamsStride);
    }
  }
  return p.bytes < limit;
}

}  // namespace basalt::l3
