// Rows of a query for callers of the library, as Arrow's C device interface has them: they stay where they were found,
// in the GPU's memory or the host's.
#pragma once

#include <cstdint>

#include "basalt/core/arrow.h"
#include "basalt/exec/pipeline.h"

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE
typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_OPENCL 4
#define ARROW_DEVICE_VULKAN 7
#define ARROW_DEVICE_METAL 8
#define ARROW_DEVICE_VPI 9
#define ARROW_DEVICE_ROCM 10
#define ARROW_DEVICE_ROCM_HOST 11
#define ARROW_DEVICE_EXT_DEV 12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI 14
#define ARROW_DEVICE_WEBGPU 15
#define ARROW_DEVICE_HEXAGON 16
struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void* sync_event;
  int64_t reserved[3];
};
#endif

namespace basalt {

// A struct array with a child for each column, and its schema. Both are released with the object, unless they were
// moved elsewhere as Arrow allows it: copied, and `release` of the one here set to nullptr. They need nothing else of
// the query's: neither its files nor its caches.
//
// device_type is ARROW_DEVICE_CUDA or ARROW_DEVICE_CPU. Of the former, sync_event points to a cudaEvent_t: buffers may
// be read by work that waits for it. Release the array when work that reads it is done.
struct DeviceResult {
  ArrowSchema schema{};
  ArrowDeviceArray array{};

  DeviceResult() = default;
  DeviceResult(DeviceResult&& other) noexcept;
  DeviceResult& operator=(DeviceResult&& other) noexcept;
  DeviceResult(const DeviceResult&) = delete;
  DeviceResult& operator=(const DeviceResult&) = delete;
  ~DeviceResult();
};

// As run_query(), but rows that the GPU's last stage left there are not brought to the host. Totals, and results of at
// most 1,024 rows, may lie on the host all the same, on whatever device the query ran. Throws Error(kUnsupported) where
// one column has 2 GiB of strings or more.
DeviceResult run_query_on_device(const Query& query, const RunOptions& options, RunReport* report = nullptr);

}  // namespace basalt
