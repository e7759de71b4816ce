// Values of a column by the numbers of another one: kernels look them up where rows are read (ExprOp::kLookUp).
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/query/joins/members.h"

namespace basalt::cuda {

// An array with a value for each number of the set that `keys` are, 0 where none of them has it. `values`: of 1, 2, 4
// or 8 bytes.
DeviceBuffer values_by_number(const DeviceColumn& keys, const Members& set, const DeviceBuffer& values, uint32_t width,
                              uint64_t rows, cudaStream_t stream);

}  // namespace basalt::cuda
