// Rows as such inside generated kernels: where a row that passed goes, and what is written there. In the order of the
// table every work item knows how many rows come before its own, and within a tile row 32·k + lane comes before row
// 32·k + lane + 1. For the first rows of an order the order does not matter yet: warps append what may be among them.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/warp.h"
#include "core/float_key.h"
#include "exec/device/work.h"

namespace basalt::device {

// Of a row that is not written.
constexpr uint64_t kNoPlace = ~uint64_t{0};

class RowWriter {
 public:
  __device__ __forceinline__ explicit RowWriter(const RowsTarget& target) : target_(target) {}

  // Whether the filter has been asked before.
  __device__ __forceinline__ bool knows() const { return target_.mode == RowsMode::kWrite && target_.masks != nullptr; }
  // By the whole warp: whether no row of a work item passed.
  __device__ __forceinline__ bool skips(uint32_t work_index) const {
    return knows() && load(target_.counts + work_index) == 0;
  }
  // The lane's rows of it that did; false: nobody knows yet.
  __device__ __forceinline__ bool knows(uint32_t work_index, uint32_t& alive) const {
    if (!knows()) return false;
    alive = load(target_.masks + uint64_t{work_index} * kLanes + lane_id());
    return true;
  }

  // By the whole warp, before the rows of a work item: whether some are to be written.
  __device__ __forceinline__ bool begin(uint32_t work_index, uint32_t alive) {
    if (target_.mode == RowsMode::kAppend) return any_lane(alive != 0);
    if (target_.mode == RowsMode::kCount) {
      const uint32_t rows = sum_of_lanes(population(alive));
      if (lane_id() == 0) target_.counts[work_index] = rows;
      if (target_.masks != nullptr) target_.masks[uint64_t{work_index} * kLanes + lane_id()] = alive;
      return false;
    }
    start_ = load(target_.starts + work_index);
    if (start_ >= target_.end || start_ + kTileRows <= target_.begin) return false;
      // Lane k keeps which lanes have a row 32·k + lane.
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const uint32_t lanes = ballot((alive >> k & 1) != 0);
      if (lane_id() == k) lanes_ = lanes;
    }
    before_ = sum_below(population(lanes_));
    return any_lane(alive != 0);
  }

  // By the whole warp: where the lane's row k goes.
  __device__ __forceinline__ uint64_t place(uint32_t k, bool live) const {
    const uint32_t below = (1u << lane_id()) - 1;
    if (target_.mode == RowsMode::kAppend) {
      const uint32_t lanes = ballot(live);
      if (lanes == 0) return kNoPlace;
      unsigned long long first = 0;
      if (lane_id() == 0) {
        first = atomicAdd(reinterpret_cast<unsigned long long*>(target_.appended),
                          static_cast<unsigned long long>(population(lanes)));
      }
      const uint64_t at = shuffle(first, 0) + population(lanes & below);
      return live && at < target_.capacity ? at : kNoPlace;
    }
    const uint64_t at = start_ + shuffle(before_, k) + population(shuffle(lanes_, k) & below);
    return live && at >= target_.begin && at < target_.end ? at - target_.begin : kNoPlace;
  }

  // A value of a row that has a place, to one of the arrays.
  template <typename T>
  __device__ __forceinline__ void put(uint32_t output, uint64_t place, T value) const {
    auto* to = reinterpret_cast<T*>(load(target_.outputs + output));
    if (to != nullptr) to[place] = value;
  }

 private:
  const RowsTarget& target_;
  uint64_t start_ = 0;   // of the work item
  uint32_t lanes_ = 0;   // of this lane's number as k
  uint32_t before_ = 0;  // rows of the tile before those
};

// --- words of an order: smaller ones come first
// -------------------------------------------------------------------------

// An integer that statistics bound, counted from the end that comes first. One beyond them belongs to statistics that
// lie, or has left the range of its type, which is said elsewhere.
__device__ __forceinline__ uint64_t order_code(uint64_t distance, uint64_t most) {
  return distance > most ? most : distance;
}
__device__ __forceinline__ uint64_t order_code(uint64_t distance, uint64_t most, uint32_t& bad) {
  bad |= distance > most ? 1u : 0u;
  return order_code(distance, most);
}

__device__ __forceinline__ uint64_t order_code_of(double value) {
  const int64_t key = float_key_of_bits(static_cast<uint64_t>(__double_as_longlong(value)));
  return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63);
}

}  // namespace basalt::device
