// Window functions over rows that lie in the order of a window: partitions, rows that are equal in its order, frames.
// Results lie by row, not by place in the order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "basalt/exec/pipeline.h"
#include "cuda/query/device_table.h"
#include "cuda/query/joins/key_reader.h"

namespace basalt::cuda {

// Neighbours that belong together, by place in the order.
struct WindowRanges {
  DeviceBuffer numbers;  // uint32: which range a place lies in
  DeviceBuffer starts;   // uint32: where each begins, then the end of the last
};

struct WindowOrder {
  uint64_t rows = 0;
  DeviceBuffer places;  // uint32: the rows in order
  WindowRanges partitions;
  WindowRanges peers;  // rows that are equal in the order, within a partition
};
WindowOrder window_order(DeviceBuffer places, uint64_t rows, const device::JoinKeyReader& partition,
                         uint32_t partition_words, const device::JoinKeyReader& order, uint32_t order_words,
                         cudaStream_t stream);

// row_number, ranks and shares: int64, or doubles of shares.
DeviceBuffer window_numbers(WindowOp op, const WindowOrder& order, cudaStream_t stream);

// The row that a row takes its value from: that many rows before (direction −1) or behind it (1); kMissing where
// `distance` is NULL. `beyond`: bytes, 1 where no such row lies in the partition.
DeviceBuffer shifted_rows(const WindowOrder& order, const device::JoinKeyPart& distance, int64_t direction,
                          DeviceBuffer& beyond, cudaStream_t stream);
// `table`: the rows, of which a frame may compare columns. The first or last row of each row's frame, kMissing where it
// is empty.
DeviceBuffer frame_rows(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table, bool last,
                        cudaStream_t stream);
// Where the flag is set, the value of the other column in the same row.
void replace_rows(DeviceColumn& column, const DeviceColumn& other, const uint8_t* flags, uint64_t rows,
                  cudaStream_t stream);

// What an aggregate over frames adds up: a column, and a filter; either may be nothing.
struct WindowArgument {
  const DeviceColumn* values = nullptr;
  const DeviceColumn* filter = nullptr;
};
// How many rows of each frame count: uint64.
DeviceBuffer frame_counts(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                          const WindowArgument& argument, cudaStream_t stream);
// How many values of a column of 128-bit integers have more than `bits` bits beside their sign.
uint64_t count_longer(const DeviceColumn& column, uint64_t rows, uint32_t bits, cudaStream_t stream);
// Sums of integers, which fit: int128. Of floats: doubles.
DeviceBuffer frame_sums(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                        const WindowArgument& argument, cudaStream_t stream);
// The row that has the smallest or largest value of each frame; kMissing where none counts. Strings are numbers in
// their order.
DeviceBuffer frame_extremes(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                            const WindowArgument& argument, cudaStream_t stream);
// Doubles: sums over counts, divided by `divisor`; integers or, with `real`, floats.
DeviceBuffer frame_averages(const DeviceBuffer& sums, bool real, const DeviceBuffer& counts, double divisor,
                            uint64_t rows, cudaStream_t stream);
// A byte for each count, 1: it is not 0.
DeviceBuffer counted_flags(const DeviceBuffer& counts, uint64_t rows, cudaStream_t stream);

}  // namespace basalt::cuda
