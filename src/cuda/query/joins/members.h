// The numbers that occur in a column, as bits: kernels ask for them where rows are read (ExprOp::kMember).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "cuda/query/device_table.h"
#include "cuda/query/joins/key_reader.h"
#include "exec/set_places.h"

namespace basalt::cuda {

struct Members {
  int64_t least = 0;
  uint64_t count = 0;  // of numbers that may be
  DeviceBuffer bits;   // a bit for each of them, 32 to a word
  DeviceBuffer twice;  // uint32: not 0 where a number occurs twice

  // Of the bits, or of an array that has something else for each number.
  exec::SetPlace place() const { return place_of(bits); }
  exec::SetPlace place_of(const DeviceBuffer& array) const {
    return {least, static_cast<int64_t>(count), reinterpret_cast<int64_t>(array.data())};
  }
};

bool may_be_member(Physical type);
// A column of such numbers, as kernels read it.
device::JoinKeyPart numbers_of(const DeviceColumn& column);
// Nothing where numbers are not known to lie close to each other, or are not of at most 8 bytes, or their bits would
// take more than `most_bytes`. NULL is none.
std::optional<Members> members_of(const DeviceColumn& column, uint64_t rows, uint64_t most_bytes, cudaStream_t stream);

}  // namespace basalt::cuda
