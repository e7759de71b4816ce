// Rows in device memory, column by column, as kernels write them: counted, cut, put in order and put together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

// A column of fixed width.
struct RowArray {
  DeviceBuffer values;
  DeviceBuffer validity;  // a byte for each row, 1 = not NULL; without memory: none is NULL
  uint32_t width = 0;
};

struct RowArrays {
  uint64_t rows = 0;
  DeviceBuffer numbers;             // of rows in the table, uint64_t; without memory: not kept
  std::vector<DeviceBuffer> words;  // of the order, uint64_t; without memory: not kept
  std::vector<RowArray> columns;
};

// Row counts of tiles, of which all rows count. `slots` are `slot_words` apart and begin with the rows of their chunks.
void count_tile_rows(const uint32_t* work, uint32_t count, const uint64_t* slots, uint32_t slot_words, uint32_t* rows,
                     cudaStream_t stream);
// How many rows come before each of `count` work items; `total`: in all. Waits for the stream.
DeviceBuffer rows_before(const uint32_t* counts, uint32_t count, uint64_t& total, cudaStream_t stream);
// Every `stride`-th item of a work list, from the first one on.
DeviceBuffer sample_work(const uint32_t* work, uint32_t count, uint32_t stride, cudaStream_t stream);

// The n-th smallest of `count` words, counted from 1. Waits for the stream.
uint64_t nth_smallest(const uint64_t* words, uint64_t count, uint64_t n, cudaStream_t stream);
// Places of rows in the order of their words, the first word first, of which bits [0, bits[i]) are compared; rows that
// are equal stay as they are. At most 2^32 rows.
DeviceBuffer places_in_order(const std::vector<DeviceBuffer>& words, const std::vector<uint32_t>& bits, uint64_t count,
                             cudaStream_t stream);

// A place of no row.
constexpr uint32_t kMissing = ~uint32_t{0};
// Values of `width` bytes at these places, zeros where they are missing, or NULL flags with a width of 1; without
// memory if `from` is.
DeviceBuffer gather(const DeviceBuffer& from, uint32_t width, const uint32_t* places, uint64_t count,
                    cudaStream_t stream);
// The rows at these places.
RowArrays gather_rows(const RowArrays& from, const uint32_t* places, uint64_t count, cudaStream_t stream);
// The first `rows` of all arrays to the beginning of the others.
void copy_rows(const RowArrays& from, uint64_t rows, RowArrays& to, cudaStream_t stream);
// All rows, one after the other.
RowArrays concatenate(std::vector<RowArrays> parts, cudaStream_t stream);

// Numbers below `count`, ascending, of 32 bits.
DeviceBuffer counting(uint64_t count, cudaStream_t stream);
// For each row's number, how many of the `count` rows have a smaller one; `sorted`: the numbers, ascending.
DeviceBuffer ranks_of(const uint64_t* numbers, uint64_t count, DeviceBuffer& sorted, cudaStream_t stream);
// For each bound how many of the sorted numbers are smaller. Waits for the stream.
std::vector<uint64_t> count_below(const uint64_t* sorted, uint64_t count, const std::vector<uint64_t>& bounds,
                                  cudaStream_t stream);

// Bytes to bits, the least significant first; how many are 0. Waits for the stream.
DeviceBuffer pack_validity(const uint8_t* bytes, uint64_t count, uint64_t& zeros, cudaStream_t stream);

}  // namespace basalt::cuda
