// Rows in the middle of a stage with joins: each names a row of every table that was joined so far. Columns are put
// together where they are needed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/query/device_table.h"

namespace basalt::cuda {

class JoinedRows {
 public:
  // The rows of a table; columns that nobody asks for may be kNoColumn.
  static constexpr uint32_t kNoColumn = ~uint32_t{0};
  JoinedRows(std::shared_ptr<const DeviceTable> table, const std::vector<uint32_t>& columns, cudaStream_t stream);

  uint64_t rows() const { return rows_; }
  // That places and tables take.
  uint64_t bytes() const;

  // Only these of the rows, in this order. `may_miss`: of some all columns are NULL.
  void keep(const DeviceBuffer& places, uint64_t count, bool may_miss);
  // Columns of another table: row i has its row places[i], or row i where there are no places.
  void add(std::shared_ptr<const DeviceTable> table, const std::vector<uint32_t>& columns, const DeviceBuffer& places,
           bool may_miss);

  DeviceColumn column(uint32_t number) const;
  DeviceTable table(const std::vector<uint32_t>& numbers) const;

 private:
  struct Input {
    std::shared_ptr<const DeviceTable> table;
    DeviceBuffer places;  // uint32; nothing: row i is row i
    bool in_place = true;
    bool may_miss = false;
  };
  struct Place {
    uint32_t input = 0;
    uint32_t column = 0;
  };

  cudaStream_t stream_;
  uint64_t rows_ = 0;
  std::vector<Input> inputs_;
  std::vector<Place> columns_;
};

}  // namespace basalt::cuda
