// Groups that have rows, brought together in device memory; of those that are sorted and limited next, the first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

// States of groups as kernels leave them: `words` words for each slot, of which the first counts its rows.
struct GroupStates {
  const uint64_t* states = nullptr;
  uint64_t stride = 0;  // from slot to slot, in words
  uint64_t slots = 0;
  uint32_t words = 0;
  // Of hash tables the keys of all slots but one behind them; without any a slot's number is its key.
  const uint64_t* keys = nullptr;
  uint64_t key_stride = 0;
  uint64_t key_count = 0;
  uint32_t key_words = 1;
};

// Where a group's place in an order is read, and what comes first.
struct GroupOrder {
  enum class From : uint8_t { kUnsigned, kSigned, kWide, kKey };
  From from = From::kUnsigned;
  bool exact = false;  // equal images are equal, else they may not be: NULL and an end of the range, halves of sums
  uint32_t word = 0;   // of the state; kWide: of its lower half
  uint32_t count_word = 0;  // of rows that took part: none is NULL
  // kKey: the code is the key's word / divisor >> shift & mask, or % modulus where that is not 0.
  uint32_t key_word = 0;
  uint64_t divisor = 1;
  uint64_t modulus = 0;
  uint32_t shift = 0;
  uint64_t mask = 0;
  bool null_code = false;  // code 0 is NULL
  bool descending = false;
  bool nulls_first = false;
};

struct CompactGroups {
  uint64_t count = 0;
  DeviceBuffer keys;    // count × key_words of uint64_t
  DeviceBuffer states;  // count × words of uint64_t
};

// Only the first `most` groups, of an order where there is one, and then those, too, that are equal to the last of them
// if `ties` are wanted. Waits for the stream.
CompactGroups compact_groups(const GroupStates& groups, const GroupOrder* order, uint64_t most, bool ties,
                             cudaStream_t stream);

}  // namespace basalt::cuda
