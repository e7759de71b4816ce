// Distinct strings found by a hash table: slots hold a tag of the hash and the number of a string; strings whose tags
// are equal are compared byte by byte. Every lane of a warp calls, with a string of its own.
#pragma once

#include "codec/strings/gpu/texts.cuh"

namespace basalt::cuda {

// A string somewhere on the device. The words that its bytes lie in can be read, and one behind them.
struct TextPlace {
  uint64_t address;
  uint64_t length;  // kNoText: there is none

  static constexpr uint64_t kNoText = ~uint64_t{0};

  BASALT_HD strings::Text text() const {
    return {reinterpret_cast<const uint64_t*>(address & ~uint64_t{7}), length, static_cast<uint32_t>(address % 8 * 8)};
  }
};

// Strings by their numbers: first those of the pool, then those that are being added.
struct NumberedTexts {
  strings::Texts pool;
  uint64_t pool_count;
  const TextPlace* added;

  BASALT_HD strings::Text at(uint64_t number) const {
    return number < pool_count ? pool.at(number) : added[number - pool_count].text();
  }
};

struct TextTable {
  uint64_t* slots;  // 0: free; else the tag, then the number + 1
  uint64_t mask;    // slots − 1, a power of two
};

BASALT_HD uint64_t slot_word(uint64_t hash, uint32_t number) { return (hash & 0xFFFFFFFF00000000ull) | (number + 1u); }
BASALT_HD uint32_t slot_number(uint64_t word) { return static_cast<uint32_t>(word) - 1; }

__device__ __forceinline__ uint64_t load_slot(const uint64_t* slot) {
  return *reinterpret_cast<const volatile uint64_t*>(slot);
}
// What was there; 0: it is `word` now.
__device__ __forceinline__ uint64_t claim_slot(uint64_t* slot, uint64_t word) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(slot), 0ull, static_cast<unsigned long long>(word));
}

// Of strings that are known to differ from all that are there; by one thread.
__device__ __forceinline__ void add_distinct(const TextTable& table, uint64_t hash, uint32_t number) {
  for (uint64_t at = hash & table.mask;; at = (at + 1) & table.mask) {
    if (load_slot(table.slots + at) == 0 && claim_slot(table.slots + at, slot_word(hash, number)) == 0) return;
  }
}

// The number of the string that is equal to the lane's, which becomes part of the table as `number` if there is none.
// A slot must be free. `active`: the lane has a string.
__device__ __forceinline__ uint32_t find_or_add(const TextTable& table, const NumberedTexts& texts, uint64_t hash,
                                                uint32_t number, bool active) {
  const strings::Text own = active ? texts.at(number) : strings::no_text();
  const uint64_t word = slot_word(hash, number);
  uint64_t at = hash & table.mask;
  uint32_t found = number;
  while (device::any_lane(active)) {
    uint64_t there = 0;
    if (active) {
      there = load_slot(table.slots + at);
      if (there == 0) there = claim_slot(table.slots + at, word);
      if (there == 0) active = false;
    }
    const bool compare = active && (there ^ word) >> 32 == 0;
    const strings::Text other = compare ? texts.at(slot_number(there)) : strings::no_text();
    const bool equal = strings::are_equal(own, other, compare);
    if (compare && equal) {
      found = slot_number(there);
      active = false;
    }
    at = (at + 1) & table.mask;
  }
  return found;
}

}  // namespace basalt::cuda
