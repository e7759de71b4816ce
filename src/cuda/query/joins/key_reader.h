// How kernels read the keys of rows from columns that lie on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"
#include "exec/group_keys.h"

namespace basalt::device {

// One key: a column, and where its code lies in the words (exec/group_keys.h).
struct JoinKeyPart {
  const void* values;
  const uint8_t* validity;  // a byte for each row, 1: it has a value; nullptr: all have
  uint64_t base_low;        // what codes of integers begin at
  uint64_t base_high;
  uint64_t most;   // a code is at most this, or the other side has no such value
  uint32_t width;  // bytes of a value
  uint32_t word;   // of 16 bytes that need two, the first
  uint32_t shift;
  uint32_t null_word;
  uint32_t null_shift;
  bool is_signed;
  bool is_float;
  bool two_words;
  bool nulls_equal;
  bool null_code;  // values are one higher
  bool null_flag;
};

constexpr uint32_t kMostJoinKeys = 16;
constexpr uint32_t kMostKeyWords = 8;
struct JoinKeyReader {
  JoinKeyPart parts[kMostJoinKeys];
  uint32_t count;
};

}  // namespace basalt::device

namespace basalt::cuda {

// The columns of one side's keys, in their order. Strings of both sides are numbers of one list.
struct KeySide {
  std::vector<const DeviceColumn*> columns;
  uint64_t rows = 0;
};

// One layout for both sides, by what is known of the second one's values. Throws Error(kUnsupported) where keys are too
// many or too long.
exec::KeyLayout layout_of(const std::vector<JoinKey>& keys, const KeySide& build);
// Of the columns of `side`, either of the two.
device::JoinKeyReader reader_of(const std::vector<JoinKey>& keys, const exec::KeyLayout& layout, const KeySide& build,
                                const KeySide& side);

}  // namespace basalt::cuda
