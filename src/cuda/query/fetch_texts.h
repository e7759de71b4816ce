// Strings for rows that are left, by their numbers: few rows of many chunks, decoded and copied by few launches.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/backend.h"
#include "cuda/query/device_table.h"
#include "exec/wanted_chunks.h"

namespace basalt::cuda {

class TextFetch {
 public:
  // `run`, `limit`: of the statement; what chunks and these strings may take together.
  TextFetch(CudaBackend& backend, uint64_t run, uint64_t limit, const RunOptions& options, RunReport& report);

  // Columns of strings, one for each of `fields`, of the rows that have these numbers (exec/cpu/fetch_rows.h);
  // `ascend`: they ascend. Without the columns' fields.
  std::vector<DeviceColumn> fetch(const exec::FileList& files, const std::vector<uint32_t>& fields,
                                  const DeviceBuffer& numbers, uint64_t rows, bool ascend);

 private:
  // A column on its way, in the order of the numbers.
  struct Fetched {
    std::vector<DeviceStrings> lists;
    DeviceBuffer validity;  // bytes; nothing: no NULLs
  };

  void fetch_batch(const std::vector<exec::WantedChunk>& batch);
  void take_texts(const std::vector<exec::WantedChunk>& batch, const std::vector<TextChunk>& chunks);

  CudaBackend& backend_;
  uint64_t run_;
  uint64_t limit_;
  const RunOptions& options_;
  RunReport& report_;
  cudaStream_t stream_;
  DeviceBuffer sorted_;  // numbers
  std::vector<Fetched> columns_;
  uint64_t taken_ = 0;  // bytes, by strings that are fetched
};

}  // namespace basalt::cuda
