// Groups inside generated kernels: where their states lie and how rows are added to them. A state is a few words that
// begin as zeros; each kind of word has one operation, so that states of lanes, blocks and launches come together in
// any order:
//   kAdd      a sum that fits 64 bits, a count
//   kAddShort the same, where the rows of a tile add less than 2^31 in size
//   kAddLow   the lower half of a sum of 128 bits; the upper one is the next word
//   kMost     the largest value; of minima the complement is kept
//   kMark     flags
//   kGuard    of a record, whose words are the kPart behind it: the largest one, compared word by word
// Word 0 counts the rows of the group. Rungs, by how many groups there can be: every lane has states of its own, every
// block has, all share one array, or a hash table of keys of one word or more. Sorted keys have run_groups.cuh.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/warp.h"
#include "core/float_key.h"
#include "exec/device/key_tables.cuh"
#include "exec/device/work.h"
#include "exec/fixed_sum.h"

namespace basalt::device {

enum class StateWord : uint8_t { kAdd, kAddShort, kAddLow, kAddHigh, kMost, kMark, kGuard, kPart };

// The kinds of a state's words.
template <StateWord... kKinds>
struct StateWords {
  static constexpr uint32_t kCount = sizeof...(kKinds);
  __device__ __forceinline__ static StateWord of(uint32_t word) {
    constexpr StateWord kinds[] = {kKinds...};
    return kinds[word];
  }
  static constexpr bool kHasRecords = ((kKinds == StateWord::kGuard) || ...);
  // Of the record whose guard is `word`, the number of its words: 2 or 3.
  __device__ __forceinline__ static uint32_t record_words(uint32_t word) {
    return word + 3 < sizeof...(kKinds) && of(word + 3) == StateWord::kPart ? 3 : 2;
  }
};

// Integers in an order that makes zero the smallest.
__device__ __forceinline__ uint64_t most_bits(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
}
__device__ __forceinline__ uint64_t least_bits(int64_t value) { return ~most_bits(value); }
__device__ __forceinline__ Words<2> most_words(int128_t value) {
  const auto bits = static_cast<uint128_t>(value);
  return {{static_cast<uint64_t>(bits >> 64) ^ (uint64_t{1} << 63), static_cast<uint64_t>(bits)}};
}
__device__ __forceinline__ Words<2> least_words(int128_t value) { return most_words(~value); }

// Numbers of rows in an order that makes the first or the last of them the largest; never zero. The last bit says
// whether the row has a value.
constexpr uint64_t kMostRows = uint64_t{1} << 62;
__device__ __forceinline__ uint64_t first_row(uint64_t row, bool valid) {
  return (kMostRows - row) << 1 | (valid ? 1 : 0);
}
__device__ __forceinline__ uint64_t last_row(uint64_t row, bool valid) { return (row + 1) << 1 | (valid ? 1 : 0); }

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

// Whether a record that others may be replacing is at least `record`. Its words only get larger and its last ones are
// written first, so that what is read in order belongs to the record as it was or to one that is larger still.
template <uint32_t kCount>
__device__ __forceinline__ bool reaches(const uint64_t* words, const Words<kCount>& record) {
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint64_t there = read_anew(words + i);
    if (there != record.words[i]) return there > record.words[i];
  }
  return true;
}
// Replaces a smaller record, under its guard. Whoever takes the guard gives it back before the loop begins anew: lanes
// of one warp do not wait for each other for ever.
template <uint32_t kCount>
__device__ __forceinline__ void atomic_record(uint64_t* guard, const Words<kCount>& record) {
  auto* word = reinterpret_cast<unsigned long long*>(guard);
  uint64_t* words = guard + 1;
#pragma unroll 1
  while (!reaches(words, record)) {
    if (atomicCAS(word, 0ull, 1ull) != 0) continue;
    __threadfence();
    if (!reaches(words, record)) {
#pragma unroll
      for (uint32_t i = kCount; i > 0; --i) {
        *static_cast<volatile uint64_t*>(words + i - 1) = record.words[i - 1];
        __threadfence();
      }
    }
    atomicExch(word, 0ull);
  }
}

// Adds a word of one state to the same word of another; of wide sums both halves, when the lower one comes, and records
// with their guard.
template <typename Kinds, typename Word>
__device__ __forceinline__ void merge_word(const Kinds& kinds, uint64_t* into, const Word& word, uint32_t index) {
  switch (kinds.of(index)) {
    case StateWord::kAdd:
    case StateWord::kAddShort: atomic_add(into + index, word(index)); break;
    case StateWord::kAddLow:
      atomic_add_wide(into + index, static_cast<uint128_t>(word(index + 1)) << 64 | word(index));
      break;
    case StateWord::kAddHigh: break;
    case StateWord::kMost: atomic_most(into + index, word(index)); break;
    case StateWord::kMark: atomic_mark(into + index, word(index)); break;
    case StateWord::kGuard:
      if constexpr (Kinds::kHasRecords) {
        if (kinds.record_words(index) == 3) {
          atomic_record(into + index, Words<3>{{word(index + 1), word(index + 2), word(index + 3)}});
        } else {
          atomic_record(into + index, Words<2>{{word(index + 1), word(index + 2)}});
        }
      }
      break;
    case StateWord::kPart: break;
  }
}

// A group's state that several threads change, in shared or global memory.
class SharedState {
 public:
  __device__ __forceinline__ SharedState(uint64_t* words, uint64_t number) : words_(words), number_(number) {}
  // Of the group: no other has the same.
  __device__ __forceinline__ uint64_t number() const { return number_; }
  __device__ __forceinline__ void add(uint32_t word, int64_t value) {
    atomic_add(words_ + word, static_cast<uint64_t>(value));
  }
  __device__ __forceinline__ void add_wide(uint32_t word, int128_t value) {
    atomic_add_wide(words_ + word, static_cast<uint128_t>(value));
  }
  __device__ __forceinline__ void most(uint32_t word, uint64_t value) { atomic_most(words_ + word, value); }
  __device__ __forceinline__ void mark(uint32_t word, uint64_t value) { atomic_mark(words_ + word, value); }
  template <uint32_t kCount>
  __device__ __forceinline__ void record(uint32_t word, const Words<kCount>& record) {
    atomic_record(words_ + word, record);
  }

 private:
  uint64_t* words_;
  uint64_t number_;
};

// --- one state per lane
// ------------------------------------------------------------------------------------------------

// A lane's words lie 32 words apart, so that lanes meet in no bank of shared memory whatever their groups are. There
// are no records here.
class LaneState {
 public:
  __device__ __forceinline__ LaneState(uint64_t* words, uint64_t number) : words_(words), number_(number) {}
  __device__ __forceinline__ uint64_t number() const { return number_; }
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
  uint64_t number_;
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
    const uint32_t slot = key < kSlots ? static_cast<uint32_t>(key) : 0;
    return LaneState(words_ + slot * (kWords * kLanes), slot);
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
          kinds, p.groups + i - word,
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
    const uint32_t slot = key < kSlots ? static_cast<uint32_t>(key) : 0;
    return SharedState(words_ + slot * kWords, slot);
  }
  template <typename Kinds>
  __device__ __noinline__ void finish(const Parameters& p, const Kinds& kinds, const unsigned char*, uint32_t) {
    __syncthreads();
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < kSlots * kWords; i += blockDim.x) {
      const uint32_t slot = i / kWords;
      if (words_[slot * kWords] == 0) continue;  // no row
      merge_word(
          kinds, p.groups + static_cast<uint64_t>(slot) * kWords, [&](uint32_t w) { return words_[slot * kWords + w]; },
          i % kWords);
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
    const uint64_t slot = key < slots_ ? key : 0;
    return SharedState(words_ + slot * kWords, slot);
  }
  template <typename Kinds>
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {}

 private:
  uint64_t* words_;
  uint64_t slots_;
};

// --- hash tables
// -------------------------------------------------------------------------------------------------------

// Of keys of one word, with states in an array of their own.
template <uint32_t kWords>
class HashGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = 0;

  __device__ __forceinline__ HashGroups(const Parameters& p, unsigned char*, unsigned char*)
      : parameters_(p), words_(p.groups), keys_(p.group_keys) {}
  // Whether rows of this key count now.
  __device__ __forceinline__ bool takes(uint64_t key) const { return in_partition(parameters_, key); }
  __device__ __forceinline__ SharedState at(uint64_t key, uint32_t&) {
    const uint64_t place = keys_.find(key).number;
    return SharedState(words_ + place * kWords, place);
  }
  template <typename Kinds>
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {}

 private:
  const Parameters& parameters_;
  uint64_t* words_;
  NarrowKeys keys_;
};

// Of longer keys, each with its state behind it.
template <uint32_t kKeyWords, uint32_t kWords>
class WideGroups {
 public:
  static constexpr uint32_t kBytesPerWarp = 0;
  static constexpr uint32_t kBytesPerBlock = 0;

  __device__ __forceinline__ WideGroups(const Parameters& p, unsigned char*, unsigned char*)
      : parameters_(p), slots_(p.group_keys.slots), keys_(p.group_keys) {}
  __device__ __forceinline__ bool takes(const Words<kKeyWords>& key) const { return in_partition(parameters_, key); }
  __device__ __forceinline__ SharedState at(const Words<kKeyWords>& key, uint32_t&) {
    const uint64_t place = keys_.find(key).number;
    return SharedState(slots_ + place * kStride + 1 + kKeyWords, place);
  }
  template <typename Kinds>
  __device__ __forceinline__ void finish(const Parameters&, const Kinds&, const unsigned char*, uint32_t) {}

 private:
  static constexpr uint32_t kStride = 1 + kKeyWords + kWords;
  const Parameters& parameters_;
  uint64_t* slots_;
  WideKeys<kKeyWords, kStride> keys_;
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

// The same with the squares behind that, two words of another fraction.
template <typename State>
__device__ __forceinline__ void add_squares(State& group, uint32_t word, double value, int32_t fraction,
                                            int32_t square_fraction) {
  add_float(group, word, value, fraction);
  if (exec::special_of(value) == 0) group.add_wide(word + 3, exec::square_to_fixed(value, square_fraction));
}

}  // namespace basalt::device
