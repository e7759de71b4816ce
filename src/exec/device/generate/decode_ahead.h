// Columns that kernels cannot read as they are stored, since their chunks have too many encodings, or since those that
// are read at a time need more shared memory than there is: they become arrays, decoded before the kernel runs.
#pragma once

#include "exec/device/generate/generate.h"

namespace basalt::device {

// More readers than these, for one column, are not compiled into one kernel.
constexpr size_t kMostEncodings = 8;
// Every chunk has room for the longest of all descriptors.
constexpr uint32_t kMostDescriptorWords = 1024;

// Whether a kernel may read the column as its chunks store it, as far as their number of encodings goes; `as_codes`: of
// strings by their codes.
bool has_few_encodings(const Pipeline& pipeline, uint32_t field_id, bool as_codes);

// Of a pipeline over files whose strings are rewritten.
void decode_ahead(DevicePipeline& device);

}  // namespace basalt::device
