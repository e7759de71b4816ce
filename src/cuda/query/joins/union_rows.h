// Rows of several tables, one after the other.
#pragma once

#include <memory>
#include <vector>

#include "cuda/query/device_table.h"

namespace basalt::cuda {

// The tables have columns of the same types. Waits for the stream.
DeviceTable union_rows(const std::vector<std::shared_ptr<const DeviceTable>>& tables, cudaStream_t stream);

}  // namespace basalt::cuda
