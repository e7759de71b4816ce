// What queries with joins ask of a device: to run stages without steps.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"

namespace basalt::cuda {

class StageRunner {
 public:
  virtual ~StageRunner() = default;

  virtual std::string why_not(const Pipeline& stage) = 0;
  // Whether the kernel of a stage over files is there; and stages whose kernels will be needed, or are likely to be.
  virtual bool has_kernel(const Pipeline& stage) = 0;
  virtual void begin_kernels(const std::vector<Pipeline>& stages) = 0;
  // A stage over files, of which these tiles are read. Rows stay on the device, few groups do not.
  virtual StageRows over_files(const Pipeline& stage, const TileRange& tiles, RunReport& report) = 0;
  // A stage over all columns of a table. Throws Error(kUnsupported) where it cannot.
  virtual StageRows over_rows(const Pipeline& stage, const DeviceTable& input, RunReport& report) = 0;
  virtual Table fetch(const DeviceTable& table) = 0;

  // A new report of a stage, and what the device says when the stage has run.
  virtual void begin(RunReport& report) = 0;
  virtual void end(RunReport& report) = 0;

  // Bytes that are taken beside what the stages themselves take: chunks that are kept make room for them.
  virtual void hold(uint64_t bytes) = 0;
  virtual uint64_t memory_limit() const = 0;  // without those
  virtual uint64_t most_memory() const = 0;   // with them
  // What is known of a file that goes.
  virtual void forget(const File& file) = 0;
  virtual cudaStream_t stream() const = 0;
};

}  // namespace basalt::cuda
