// Tile reader of `delta`. The tile's deltas pass through shared memory so that each lane gets 32 neighbouring rows,
// sums them in registers, and only the lanes' totals are exchanged: 128 shared-memory cycles per tile of 4-byte values,
// where a scan by shuffles of each row of 32 takes 190.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/delta/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

// A tile's running sums: 32 neighbouring rows per lane, in shared memory.
template <typename Sum>
struct RunningSums {
  static constexpr uint32_t kPerVector = 16 / sizeof(Sum);
  static constexpr uint32_t kStride = kLanes + kPerVector;
  static constexpr uint32_t kBytes = delta::sums_bytes(sizeof(Sum));
  static_assert(kBytes == kRowsPerLane * kStride * sizeof(Sum));

  struct alignas(16) Vector {
    Sum sums[kPerVector];
  };

  // Deltas become values; row 0 becomes the checkpoint, whatever its delta.
  __device__ __forceinline__ static void make(Sum* sums, Sum checkpoint) {
    const uint32_t lane = lane_id();
    Vector* own = reinterpret_cast<Vector*>(sums + lane * kStride);
    Vector vectors[kRowsPerLane / kPerVector];
    Sum total = 0;
#pragma unroll
    for (uint32_t v = 0; v < kRowsPerLane / kPerVector; ++v) {
      vectors[v] = own[v];
      if (v == 0 && lane == 0) vectors[0].sums[0] = 0;
#pragma unroll
      for (uint32_t i = 0; i < kPerVector; ++i) {
        total += vectors[v].sums[i];
        vectors[v].sums[i] = total;
      }
    }
    const Sum before = static_cast<Sum>(checkpoint + sum_below(total));
#pragma unroll
    for (uint32_t v = 0; v < kRowsPerLane / kPerVector; ++v) {
#pragma unroll
      for (uint32_t i = 0; i < kPerVector; ++i) vectors[v].sums[i] += before;
      own[v] = vectors[v];
    }
    sync_warp();
  }

  // The same in one copy for all columns of a kernel.
  __device__ __noinline__ static void make_shared(Sum* sums, Sum checkpoint) { make(sums, checkpoint); }
};

template <typename T, typename Deltas>
class Delta : public OneForm<Delta<T, Deltas>, T> {
  using Sum = typename SelectType<(sizeof(T) < 4), uint32_t, T>::type;
  using Sums = RunningSums<Sum>;
  static constexpr uint32_t kStride = Sums::kStride;
  static_assert(sizeof(typename Deltas::value_type) == sizeof(T), "deltas are as wide as the values");

 public:
  using value_type = T;
  static constexpr uint32_t kDeltasWord = 1 + delta::kStreams;
  static constexpr uint32_t kDescriptorWords = kDeltasWord + Deltas::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = delta::scratch_bytes(sizeof(T), Deltas::kScratchBytes);
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = true;  // at(k) is one read of the scratch, k may be a run-time number

  // For readers that add up a part of a tile themselves: what is added, of which a tile's first row is not used, and
  // what that row is.
  using Increments = Deltas;
  using Rolled = Delta<T, typename RolledOf<Deltas>::type>;
  __device__ __forceinline__ Deltas& increments() { return deltas_; }
  __device__ __forceinline__ T first_row(uint32_t tile) const { return load(checkpoints_ + tile); }

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    checkpoints_ = stream<T>(descriptor, 1 + delta::kCheckpoints);
    deltas_.bind(descriptor + kDeltasWord);
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    const Sum checkpoint = static_cast<Sum>(load(checkpoints_ + tile));  // waits for memory beside the deltas
    deltas_.seek(tile, deltas_scratch(scratch));
    stage_deltas(scratch);
    Sums::make(sums_, checkpoint);
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    sums_ = static_cast<Sum*>(scratch);
    bad = bad | fill(descriptor, tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(sums_[k * kStride + lane_id()]); }

  __device__ __forceinline__ T row(uint32_t i) {
    T value = load(checkpoints_ + i / kTileRows);
    for (uint32_t j = i / kTileRows * kTileRows + 1; j <= i; ++j) value += static_cast<T>(deltas_.row(j));
    bad = bad || deltas_.bad;
    return value;
  }

 private:
  // One copy for all places of a kernel that open such a tile; says whether its values are bad. The deltas are opened
  // and not sought, so that their reader uses its one copy as well.
  __device__ __noinline__ static bool fill(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    Delta reader;
    const Sum checkpoint = static_cast<Sum>(load(stream<T>(descriptor, 1 + delta::kCheckpoints) + tile));
    reader.deltas_.open(descriptor + kDeltasWord, tile, deltas_scratch(scratch));
    reader.stage_deltas(scratch);
    Sums::make_shared(reader.sums_, checkpoint);
    return reader.bad;
  }

  __device__ __forceinline__ static void* deltas_scratch(void* scratch) {
    return static_cast<unsigned char*>(scratch) + Sums::kBytes;
  }

  // Of the tile that `deltas_` has open.
  __device__ __forceinline__ void stage_deltas(void* scratch) {
    const uint32_t lane = lane_id();
    sums_ = static_cast<Sum*>(scratch);
    sync_warp();  // nobody reads the last tile any more
    deltas_.visit([&](auto&& view) {
      if constexpr (WantsConstants<typename Bare<decltype(view)>::type>::value) {
        for_each_k([&](uint32_t k) { sums_[k * kStride + lane] = view.at(k); });
      } else {
        stage_rows(view, 0, kRowsPerLane - 1, WholeTile{}, sums_, kStride);
      }
    });
    bad = bad || deltas_.bad;
    sync_warp();
  }

  const T* checkpoints_;
  Deltas deltas_;
  Sum* sums_;
};

}  // namespace basalt::device
