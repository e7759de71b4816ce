// Values of a column by the numbers of another one: kernels look them up where rows are read (ExprOp::kLookUp).
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/query/joins/members.h"

namespace basalt::cuda {

// Values of rows, of 1, 2, 4 or 8 bytes, and the least that there can be.
struct ValuesOfRows {
  const DeviceBuffer& values;
  uint32_t width;
  uint64_t rows;
  int64_t least;
};

// An array with a value for each number of the set that `keys` are; the least one where none of them has it, so that
// what is looked up lies among the values, whoever asks.
DeviceBuffer values_by_number(const DeviceColumn& keys, const Members& set, const ValuesOfRows& values,
                              cudaStream_t stream);

}  // namespace basalt::cuda
