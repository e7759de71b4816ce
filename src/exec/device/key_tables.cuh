// Hash tables of keys inside generated kernels, open addressing: of groups, and of values that DISTINCT aggregates have
// seen. Keys of one word lie as they are, longer ones behind a tag that says whether they are there yet. A table that
// is full says so and drops what found no place: the host starts again with a larger one.
#pragma once

#include "core/device/warp.h"
#include "exec/device/work.h"

namespace basalt::device {

// Where a key lies, and whether it was not there before. Keys that found no place have one that counts for nothing.
struct KeyPlace {
  uint64_t number;
  bool added;
};

// A key of several words, or what else takes as many.
template <uint32_t kCount>
struct Words {
  uint64_t words[kCount];
};

__device__ __forceinline__ uint64_t mix_key(uint64_t key) {
  key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93ull;
  key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93ull;
  return key ^ (key >> 32);
}

// Of a key of one word or more.
__device__ __forceinline__ uint64_t hash_of(uint64_t key) { return mix_key(key); }
template <uint32_t kCount>
__device__ __forceinline__ uint64_t hash_of(const Words<kCount>& key) {
  uint64_t hash = 0;
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) hash = mix_key(hash ^ key.words[i]);
  return hash;
}

// Whether a key belongs to the partition that this launch takes. Places come from the lower half of a hash, partitions
// from the upper one: those of a partition are as far apart as all are.
template <typename Key>
__device__ __forceinline__ bool in_partition(const Parameters& p, const Key& key) {
  return (static_cast<uint32_t>((hash_of(key) & p.group_keys.hash_mask) >> 32) & p.partition_mask) == p.partition;
}

// What other threads may be writing: read anew each time, past the caches of the multiprocessor.
template <typename T>
__device__ __forceinline__ T read_anew(const T* from) {
  return *static_cast<const volatile T*>(from);
}

// Whether another try is due. Where a table is full already, keys need not be looked for to the end.
__device__ __forceinline__ bool may_probe(uint32_t probe, const uint32_t* full) {
  if (probe % 16 == 15 && read_anew(full) != 0) return false;
  return probe < kMostProbes;
}

// Keys of one word; a slot whose key is kNoKey is free. The key kNoKey itself has the slot behind the last, which is
// there whether or not it is used.
class NarrowKeys {
 public:
  static constexpr uint64_t kNoKey = ~uint64_t{0};

  __device__ __forceinline__ explicit NarrowKeys(const KeyTable& table) : table_(table) {}
  __device__ __forceinline__ KeyPlace find(uint64_t key) {
    const uint64_t behind = table_.mask + 1;
    if (key == kNoKey) return {behind, take(behind, 0) == kNoKey};
    uint64_t place = hash_of(key) & table_.hash_mask & table_.mask;
#pragma unroll 1
    for (uint32_t probe = 0; may_probe(probe, table_.full); ++probe) {
      uint64_t found = read_anew(table_.slots + place);
      if (found == kNoKey) {
        found = take(place, key);
        if (found == kNoKey) return {place, true};
      }
      if (found == key) return {place, false};
      place = (place + 1) & table_.mask;
    }
    *table_.full = 1;
    return {behind + 1, false};
  }

 private:
  __device__ __forceinline__ uint64_t take(uint64_t place, uint64_t key) {
    return atomicCAS(reinterpret_cast<unsigned long long*>(table_.slots + place),
                     static_cast<unsigned long long>(kNoKey), static_cast<unsigned long long>(key));
  }

  const KeyTable& table_;
};

// Keys of several words, in slots of kStride words: the tag, the key, and what belongs to it. Slots begin as zeros.
// Whoever takes a slot writes its key and then the tag before anything else, so that lanes that wait for it, of the
// same warp too, wait for a few instructions.
template <uint32_t kKeyWords, uint32_t kStride>
class WideKeys {
 public:
  using Key = Words<kKeyWords>;

  __device__ __forceinline__ explicit WideKeys(const KeyTable& table) : table_(table) {}
  __device__ __forceinline__ KeyPlace find(const Key& key) {
    const uint64_t hash = hash_of(key) & table_.hash_mask;
    uint32_t tag = static_cast<uint32_t>(hash >> 32);
    if (tag <= kBusy) tag += kBusy + 1;
    uint64_t place = hash & table_.mask;
#pragma unroll 1
    for (uint32_t probe = 0; may_probe(probe, table_.full);) {
      uint64_t* slot = table_.slots + place * kStride;
      auto* state = reinterpret_cast<uint32_t*>(slot);
      uint32_t found = read_anew(state);
      bool added = false;
      if (found == kFree) {
        found = atomicCAS(state, kFree, kBusy);
        if (found == kFree) {
#pragma unroll
          for (uint32_t i = 0; i < kKeyWords; ++i) slot[1 + i] = key.words[i];
          __threadfence();
          *static_cast<volatile uint32_t*>(state) = tag;
          found = tag;
          added = true;
        }
      }
      if (found == kBusy) continue;
      if (found == tag && (added || is_key(slot + 1, key))) return {place, added};
      place = (place + 1) & table_.mask;
      ++probe;
    }
    *table_.full = 1;
    return {table_.mask + 1, false};
  }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kBusy = 1;

  __device__ __forceinline__ static bool equals(const uint64_t* words, const Key& key) {
    bool equal = true;
#pragma unroll
    for (uint32_t i = 0; i < kKeyWords; ++i) equal = equal && read_anew(words + i) == key.words[i];
    return equal;
  }
  // Equal tags mean equal keys nearly always. Before they do not, the words are read again behind a fence: they must be
  // those that the tag was written for.
  __device__ __forceinline__ static bool is_key(const uint64_t* words, const Key& key) {
    if (equals(words, key)) return true;
    __threadfence();
    return equals(words, key);
  }

  const KeyTable& table_;
};

}  // namespace basalt::device
