// Groups inside generated kernels: where their states lie and how rows are added to them. A state is a few words that
// begin as zeros; each kind of word has one operation, so that states of lanes, blocks and launches come together in
// any order:
//   kAdd      a sum that fits 64 bits, a count
//   kAddLow   the lower half of a sum of 128 bits; the upper one is the next word
//   kMost     the largest value; of minima the complement is kept
//   kMark     flags
// Word 0 counts the rows of the group. Rungs, by how many groups there can be: every lane has states of its own, every
// block has, all share one array, or an array with a hash table of keys.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/warp.h"
#include "core/float_key.h"
#include "exec/device/work.h"
#include "exec/fixed_sum.h"

namespace basalt::device {

enum class StateWord : uint8_t { kAdd, kAddLow, kAddHigh, kMost, kMark };

// The kinds of a state's words.
template <StateWord... kKinds>
struct StateWords {
  __device__ __forceinline__ static StateWord of(uint32_t word) {
    constexpr StateWord kinds[] = {kKinds...};
    return kinds[word];
  }
};

// Integers in an order that makes zero the smallest.
__device__ __forceinline__ uint64_t most_bits(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
}
__device__ __forceinline__ uint64_t least_bits(int64_t value) { return ~most_bits(value); }

// --- words that several threads change
// ---------------------------------------------------------------------------------

__device__ __forceinline__ void atomic_add(uint64_t* word, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
}
// Whoever carries over says so to the upper half: the sum is right once all have added.
__device__ __forceinline__ void atomic_add_wide(uint64_t* low, uint128_t value) {
  const auto part = static_cast<unsigned long long>(value);
  const auto before = atomicAdd(reinterpret_cast<unsigned long long*>(low), part);
  const uint64_t high = static_cast<uint64_t>(value >> 64) + (before + part < part ? 1 : 0);
  if (high != 0) atomic_add(low + 1, high);
}
__device__ __forceinline__ void atomic_most(uint64_t* word, uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void atomic_mark(uint64_t* word, uint64_t value) {
  if (value != 0) atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
}

// Adds a word of one state to the same word of another; of wide sums both halves, when the lower one comes.
template <typename Word>
__device__ __forceinline__ void merge_word(StateWord kind, uint64_t* into, const Word& word, uint32_t index) {
  switch (kind) {
    case StateWord::kAdd: atomic_add(into + index, word(index)); break;
    case StateWord::kAddLow:
      atomic_add_wide(into + index, static_cast<uint128_t>(word(index + 1)) << 64 | word(index));
      break;
    case StateWord::kAddHigh: break;
    case StateWord::kMost: atomic_most(into + index, word(index)); break;
    case StateWord::kMark: atomic_mark(into + index, word(index)); break;
  }
}

// A group's state that several threads change, in shared or global memory.
class SharedState {
 public:
  __device__ __forceinline__ explicit SharedState(uint64_t* words) : words_(words) {}
  __device__ __forceinline__ void add(uint32_t word, int64_t value) {
    atomic_add(words_ + word, static_cast<uint64_t>(value));
  }
  __device__ __forceinline__ void add_wide(uint32_t word, int128_t value) {
    atomic_add_wide(words_ + word, static_cast<uint128_t>(value));
  }
  __device__ __forceinline__ void most(uint32_t word, uint64_t value) { atomic_most(words_ + word, value); }
  __device__ __forceinline__ void mark(uint32_t word, uint64_t value) { atomic_mark(words_ + word, value); }

 private:
  uint64_t* words_;
};

// --- one state per lane
// ------------------------------------------------------------------------------------------------

// A lane's words lie 32 words apart, so that lanes meet in no bank of shared memory whatever their groups are.
class LaneState {
 public:
  __device__ __forceinline__ explicit LaneState(uint64_t* words) : words_(words) {}
  __device__ __forceinline__ void add(uint32_t word, int64_t value) {
    words_[word * kLanes] += static_cast<uint64_t>(value);
  }
  __device__ __forceinline__ void add_wide(uint32_t word, int128_t value) {
    uint64_t& low = words_[word * kLanes];
    const uint64_t part = static_cast<uint64_t>(value);
    low += part;
    words_[(word + 1) * kLanes] += static_cast<uint64_t>(static_cast<uint128_t>(value) >> 64) + (low < part ? 1 : 0);
  }
  __device__ __forceinline__ void most(uint32_t word, uint64_t value) {
    uint64_t& best = words_[word * kLanes];
    best = value > best ? value : best;
  }
  __device__ __forceinline__ void mark(uint32_t word, uint64_t value) { words_[word * kLanes] |= value; }

 private:
  uint64_t* words_;
};

template <uint32_t kSlots, uint32_t kWords>
class LaneGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = kSlots * kWords * kLanes * sizeof(uint64_t);
  static constexpr uint32_t kBytesPerBlock = 0;

  // By the whole warp.
  __device__ __forceinline__ LaneGroups(const Parameters&, unsigned char* warp, unsigned char*)
      : words_(reinterpret_cast<uint64_t*>(warp) + lane_id()) {
#pragma unroll 1
    for (uint32_t i = 0; i < kSlots * kWords; ++i) words_[i * kLanes] = 0;
  }
  // A key beyond the slots belongs to statistics that lie.
  __device__ __forceinline__ LaneState at(uint64_t key, uint32_t& bad) {
    bad |= key >= kSlots ? 1u : 0u;
    return LaneState(words_ + static_cast<uint32_t>(key < kSlots ? key : 0) * (kWords * kLanes));
  }
  // By the whole block: `first` is the memory of its first warp, those of the others follow at a distance of `stride`.
  template <typename Kinds>
  __device__ __noinline__ void finish(const Parameters& p, const Kinds& kinds, const unsigned char* first,
                                      uint32_t stride) {
    __syncthreads();
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < kSlots * kWords; i += blockDim.x) {
      const uint32_t word = i % kWords;
      merge_word(
          kinds.of(word), p.groups + i - word,
          [&](uint32_t w) { return folded(kinds.of(w), first + (i - word + w) * kLanes * sizeof(uint64_t), stride); },
          word);
    }
  }

 private:
  // A word over all lanes of the block; of a sum's upper half with what the lower ones carry.
  __device__ __forceinline__ static uint64_t folded(StateWord kind, const unsigned char* first, uint32_t stride) {
    uint64_t total = 0;
    uint64_t low = 0;
#pragma unroll 1
    for (uint32_t l = 0; l < blockDim.x; ++l) {
      // Threads begin at different lanes, since they would read the same bank otherwise.
      const auto* warp = reinterpret_cast<const uint64_t*>(first + l / kLanes * stride);
      const uint32_t lane = (l + threadIdx.x) % kLanes;
      const uint64_t value = warp[lane];
      if (kind == StateWord::kMost) {
        total = value > total ? value : total;
      } else if (kind == StateWord::kMark) {
        total |= value;
      } else {
        total += value;
      }
      if (kind == StateWord::kAddHigh) {  // the lower half lies before it
        const uint64_t part = warp[static_cast<int32_t>(lane) - static_cast<int32_t>(kLanes)];
        low += part;
        total += low < part ? 1 : 0;
      }
    }
    return total;
  }

  uint64_t* words_;
};

// --- one state per block
// -----------------------------------------------------------------------------------------------

template <uint32_t kSlots, uint32_t kWords>
class BlockGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = kSlots * kWords * sizeof(uint64_t);

  __device__ __forceinline__ BlockGroups(const Parameters&, unsigned char*, unsigned char* block)
      : words_(reinterpret_cast<uint64_t*>(block)) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < kSlots * kWords; i += blockDim.x) words_[i] = 0;
    __syncthreads();
  }
  __device__ __forceinline__ SharedState at(uint64_t key, uint32_t& bad) {
    bad |= key >= kSlots ? 1u : 0u;
    return SharedState(words_ + static_cast<uint32_t>(key < kSlots ? key : 0) * kWords);
  }
  template <typename Kinds>
  __device__ __noinline__ void finish(const Parameters& p, const Kinds& kinds, const unsigned char*, uint32_t) {
    __syncthreads();
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < kSlots * kWords; i += blockDim.x) {
      const uint32_t slot = i / kWords;
      if (words_[slot * kWords] == 0) continue;  // no row
      merge_word(
          kinds.of(i % kWords), p.groups + static_cast<uint64_t>(slot) * kWords,
          [&](uint32_t w) { return words_[slot * kWords + w]; }, i % kWords);
    }
  }

 private:
  uint64_t* words_;
};

// --- one array for all
// -------------------------------------------------------------------------------------------------

template <uint32_t kWords>
class DenseGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = 0;

  __device__ __forceinline__ DenseGroups(const Parameters& p, unsigned char*, unsigned char*)
      : words_(p.groups), slots_(p.group_slots) {}
  __device__ __forceinline__ SharedState at(uint64_t key, uint32_t& bad) {
    bad |= key >= slots_ ? 1u : 0u;
    return SharedState(words_ + (key < slots_ ? key : 0) * kWords);
  }
  template <typename Kinds>
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {}

 private:
  uint64_t* words_;
  uint64_t slots_;
};

// --- a hash table
// ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ uint64_t mix_key(uint64_t key) {
  key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93ull;
  key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93ull;
  return key ^ (key >> 32);
}

// Open addressing; a place whose key is kNoKey is free. The key kNoKey itself has the place behind the last. A table
// that is full says so, and the rows that did not fit are lost: the host starts again with a larger one.
template <uint32_t kWords>
class HashGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = 0;
  static constexpr uint64_t kNoKey = ~uint64_t{0};

  __device__ __forceinline__ HashGroups(const Parameters& p, unsigned char*, unsigned char*)
      : words_(p.groups),
        keys_(p.group_keys),
        mask_(p.group_slots - 1),
        most_probes_(p.group_probes),
        full_(p.group_full) {}
  __device__ __forceinline__ SharedState at(uint64_t key, uint32_t&) {
    return SharedState(words_ + place_of(key) * kWords);
  }
  template <typename Kinds>
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {}

 private:
  __device__ __forceinline__ uint64_t place_of(uint64_t key) {
    const uint64_t behind = mask_ + 1;
    if (key == kNoKey) return behind;
    uint64_t place = mix_key(key) & mask_;
#pragma unroll 1
    for (uint32_t probe = 0; probe < most_probes_; ++probe) {
      uint64_t found = *static_cast<volatile uint64_t*>(keys_ + place);
      if (found == kNoKey) {
        found = atomicCAS(reinterpret_cast<unsigned long long*>(keys_ + place), static_cast<unsigned long long>(kNoKey),
                          static_cast<unsigned long long>(key));
        if (found == kNoKey) return place;
      }
      if (found == key) return place;
      place = (place + 1) & mask_;
    }
    *full_ = 1;
    return behind + 1;  // a place for rows that are lost
  }

  uint64_t* words_;
  uint64_t* keys_;
  uint64_t mask_;
  uint32_t most_probes_;
  uint32_t* full_;
};

// A float to a sum of two words, and what is not finite to the flags behind them.
template <typename State>
__device__ __forceinline__ void add_float(State& group, uint32_t word, double value, int32_t fraction) {
  const uint32_t special = exec::special_of(value);
  if (special == 0) {
    group.add_wide(word, exec::to_fixed(value, fraction));
  } else {
    group.mark(word + 2, special);
  }
}

}  // namespace basalt::device
