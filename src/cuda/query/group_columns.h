// Columns of a table of groups that stays on the device, made of the words that compact_groups() has brought together.
#pragma once

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"

namespace basalt::cuda {

// Where a key lies among the words of its group, and how it becomes a value again: see exec::KeyPart.
struct KeySource {
  Physical type = Physical::kI64;
  bool real = false;       // the code is float_key()
  bool two_words = false;  // the value itself, its upper half in the next word
  bool null_code = false;
  bool null_flag = false;
  uint32_t word = 0;
  uint32_t shift = 0;
  uint64_t mask = 0;
  uint32_t null_word = 0;
  uint32_t null_shift = 0;
  // Of arrays, whose places are the keys: place / divisor % modulus. 0: the word says the code.
  uint64_t divisor = 1;
  uint64_t modulus = 0;
  uint64_t base_low = 0;
  uint64_t base_high = 0;
};

// Where an aggregate lies among the words of a state: see device::GroupResult.
struct StateSource {
  AggregateOp op = AggregateOp::kCountStar;
  bool real = false;    // the argument is a float
  bool narrow = false;  // it has 16 bits or fewer
  uint32_t count_word = 0;
  uint32_t word = 0;
  bool wide = false;
  int32_t fraction = 0;
  int32_t square_fraction = 0;
  int32_t avg_scale = 0;
};

// Rows of words, `stride` from one to the next.
struct WordRows {
  const uint64_t* words = nullptr;
  uint32_t stride = 1;
  uint64_t count = 0;
};

// Of strings their codes, in `field`'s place as uint32.
DeviceColumn key_column(const Field& field, const KeySource& key, const WordRows& keys, cudaStream_t stream);
// Averages are those of exec::finish() but for the last digit. `bad` is set where a result has no value of its type.
DeviceColumn state_column(const Field& field, const StateSource& state, const WordRows& states, uint32_t* bad,
                          cudaStream_t stream);

}  // namespace basalt::cuda
