// Window functions of a stage on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"

namespace basalt::cuda {

// Why the device does not know a function over such rows; empty: it does.
std::string why_no_window(const WindowFunction& function, const DeviceTable& rows, cudaStream_t stream);

// Adds a column for each function of the stage to its rows. `sorted` gives the numbers of the rows of a table in an
// order of its columns: uint32.
using SortRows = std::function<DeviceBuffer(const DeviceTable&, const std::vector<SortKey>&)>;
void add_windows(const Pipeline& stage, DeviceTable& rows, const SortRows& sorted, cudaStream_t stream);

}  // namespace basalt::cuda
