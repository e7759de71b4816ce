// Keys of joins inside kernels: read from the columns that hold them as a few words, equal where the keys are, and the
// slots that such words have in a table of one side's keys.
#pragma once

#include "core/float_key.h"
#include "cuda/query/joins/key_reader.h"
#include "exec/device/key_tables.cuh"

namespace basalt::device {

enum class JoinKeyState : uint32_t {
  kThere,
  kNull,       // where NULL equals nothing
  kElsewhere,  // no row of the other side can have it
};

// An integer of up to 8 bytes with its sign, or the key of a float.
__device__ __forceinline__ uint64_t load_join_value(const JoinKeyPart& part, uint64_t row) {
  switch (part.width) {
    case 1: {
      const uint8_t value = static_cast<const uint8_t*>(part.values)[row];
      return part.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(value))) : value;
    }
    case 2: {
      const uint16_t value = static_cast<const uint16_t*>(part.values)[row];
      return part.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(value))) : value;
    }
    case 4: {
      const uint32_t value = static_cast<const uint32_t*>(part.values)[row];
      if (part.is_float) return static_cast<uint64_t>(float_key_of_bits(value));
      return part.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value))) : value;
    }
    default: {
      const uint64_t value = static_cast<const uint64_t*>(part.values)[row];
      return part.is_float ? static_cast<uint64_t>(float_key_of_bits(value)) : value;
    }
  }
}

// Puts one key into its words.
template <uint32_t kWords>
__device__ __forceinline__ JoinKeyState put_join_value(const JoinKeyPart& part, uint64_t row, Words<kWords>& out) {
  const uint32_t word = kWords == 1 ? 0 : part.word;
  if (part.width < 16) {
    const uint64_t code = load_join_value(part, row) - part.base_low;
    out.words[word] |= (code + (part.null_code ? 1 : 0)) << part.shift;
    return code > part.most ? JoinKeyState::kElsewhere : JoinKeyState::kThere;
  }
  const uint64_t low = static_cast<const uint64_t*>(part.values)[2 * row];
  const uint64_t high = static_cast<const uint64_t*>(part.values)[2 * row + 1];
  if (part.two_words) {
    out.words[word] |= low;
    if constexpr (kWords > 1) out.words[word + 1] |= high;
    return JoinKeyState::kThere;
  }
  const uint64_t code = low - part.base_low;
  const uint64_t above = high - part.base_high - (low < part.base_low ? 1 : 0);
  out.words[word] |= (code + (part.null_code ? 1 : 0)) << part.shift;
  return above != 0 || code > part.most ? JoinKeyState::kElsewhere : JoinKeyState::kThere;
}

// The words of a row's key; unless it is kThere they count for nothing.
template <uint32_t kWords>
__device__ __forceinline__ JoinKeyState read_join_key(const JoinKeyReader& keys, uint64_t row, Words<kWords>& out) {
#pragma unroll
  for (uint32_t i = 0; i < kWords; ++i) out.words[i] = 0;
  auto state = JoinKeyState::kThere;
  for (uint32_t i = 0; i < keys.count; ++i) {
    const JoinKeyPart& part = keys.parts[i];
    if (part.validity != nullptr && part.validity[row] == 0) {
      if (!part.nulls_equal) return JoinKeyState::kNull;
      if (part.null_flag) {
        out.words[kWords == 1 ? 0 : part.null_word] |= uint64_t{1} << part.null_shift;
      } else if (!part.null_code) {
        state = JoinKeyState::kElsewhere;  // the other side has no NULL
      }
    } else if (put_join_value(part, row, out) != JoinKeyState::kThere) {
      state = JoinKeyState::kElsewhere;  // a NULL may still follow
    }
  }
  return state;
}

template <uint32_t kWords>
__device__ __forceinline__ bool same_key(const Words<kWords>& a, const Words<kWords>& b) {
  bool same = true;
#pragma unroll
  for (uint32_t i = 0; i < kWords; ++i) same = same && a.words[i] == b.words[i];
  return same;
}

// --- slots: add() gives a key its slot, find() says which it has, or kNoSlot
// -------------------------------------------

constexpr uint32_t kNoSlot = ~uint32_t{0};

// Of codes that are few enough: the code itself.
struct DirectSlots {
  static constexpr uint32_t kWords = 1;
  uint64_t slots;

  __device__ __forceinline__ uint32_t add(const Words<1>& key, uint32_t) const { return find(key); }
  __device__ __forceinline__ uint32_t find(const Words<1>& key) const {
    return key.words[0] < slots ? static_cast<uint32_t>(key.words[0]) : kNoSlot;
  }
};

// Of keys of one word, by hash; a slot holds its key. More than half of them are free, so that every way ends.
struct WordSlots {
  static constexpr uint32_t kWords = 1;
  static constexpr uint64_t kNoKey = ~uint64_t{0};  // has the slot behind the last
  uint64_t* keys;
  uint64_t mask;       // slots, a power of two, less one
  uint64_t hash_mask;  // what counts of a hash: all of it, but in tests

  __device__ __forceinline__ uint32_t add(const Words<1>& key, uint32_t) const {
    if (key.words[0] == kNoKey) return static_cast<uint32_t>(mask + 1);
    uint64_t place = hash_of(key.words[0]) & hash_mask & mask;
    for (;;) {
      uint64_t found = read_anew(keys + place);
      if (found == kNoKey) {
        found = atomicCAS(reinterpret_cast<unsigned long long*>(keys + place), static_cast<unsigned long long>(kNoKey),
                          static_cast<unsigned long long>(key.words[0]));
        if (found == kNoKey) return static_cast<uint32_t>(place);
      }
      if (found == key.words[0]) return static_cast<uint32_t>(place);
      place = (place + 1) & mask;
    }
  }
  __device__ __forceinline__ uint32_t find(const Words<1>& key) const {
    if (key.words[0] == kNoKey) return static_cast<uint32_t>(mask + 1);
    uint64_t place = hash_of(key.words[0]) & hash_mask & mask;
    for (;;) {
      const uint64_t found = keys[place];
      if (found == key.words[0]) return static_cast<uint32_t>(place);
      if (found == kNoKey) return kNoSlot;
      place = (place + 1) & mask;
    }
  }
};

// Of longer keys, by hash; a slot holds the number of a row that has its key, which is read where that row has it.
template <uint32_t kCount>
struct RowSlots {
  static constexpr uint32_t kWords = kCount;
  static constexpr uint32_t kNoRow = ~uint32_t{0};
  uint32_t* rows;
  uint64_t mask;
  uint64_t hash_mask;
  JoinKeyReader keys;

  __device__ __forceinline__ bool has(uint32_t row, const Words<kCount>& key) const {
    Words<kCount> own;
    read_join_key(keys, row, own);
    return same_key(own, key);
  }
  __device__ __forceinline__ uint32_t add(const Words<kCount>& key, uint32_t row) const {
    uint64_t place = hash_of(key) & hash_mask & mask;
    for (;;) {
      uint32_t found = read_anew(rows + place);
      if (found == kNoRow) {
        found = atomicCAS(rows + place, kNoRow, row);
        if (found == kNoRow) return static_cast<uint32_t>(place);
      }
      if (has(found, key)) return static_cast<uint32_t>(place);
      place = (place + 1) & mask;
    }
  }
  __device__ __forceinline__ uint32_t find(const Words<kCount>& key) const {
    uint64_t place = hash_of(key) & hash_mask & mask;
    for (;;) {
      const uint32_t found = rows[place];
      if (found == kNoRow) return kNoSlot;
      if (has(found, key)) return static_cast<uint32_t>(place);
      place = (place + 1) & mask;
    }
  }
};

}  // namespace basalt::device
