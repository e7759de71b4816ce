// Strings of several columns as numbers of one list, so that equal strings have equal numbers.
#pragma once

#include <vector>

#include "cuda/query/device_table.h"

namespace basalt::cuda {

struct TextColumn {
  const DeviceColumn* column = nullptr;
  uint64_t rows = 0;
};

struct CommonTexts {
  std::vector<DeviceBuffer> numbers;  // uint32, of each column's rows
  std::shared_ptr<const DeviceTexts> texts;
};
// Waits for the stream.
CommonTexts number_together(const std::vector<TextColumn>& columns, cudaStream_t stream);

}  // namespace basalt::cuda
