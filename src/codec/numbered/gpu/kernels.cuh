// Texts and numbers put together on the device: lanes write a row each to shared memory, from where it is copied out.
#pragma once

#include "codec/numbered/gpu/decode_work.h"
#include "codec/strings/gpu/kernels.cuh"

namespace basalt::numbered {

using device::lane_id;

// Rows that are written at once have at most as many bytes; the longest row has fewer.
constexpr uint32_t kTextBytes = 4608;
constexpr uint32_t kStageBytes = kTextBytes + 32;
static_assert(kMostParameterBytes + kMostDigits <= kTextBytes);

// One row, by one lane. False if the number has too many digits.
__device__ __forceinline__ bool write_row(const DecodeWork& work, uint64_t number, unsigned char* stage, uint32_t at) {
  strings::WordWriter writer(stage, at);
#pragma unroll 1
  for (uint32_t i = 0; i < work.prefix_bytes; i += 8) {
    const uint32_t left = work.prefix_bytes - i;
    writer.put(device::load(work.prefix + i / 8), left < 8 ? left : 8);
  }
  writer.finish();
  return put_digits(number, work.digits, reinterpret_cast<char*>(stage + at + work.prefix_bytes)) == 0;
}

// A tile's rows and offsets; by the whole warp. False, in some lane, if a number has too many digits or the offsets are
// too large. `stage`: kStageBytes, on a multiple of 16.
template <typename Numbers>
__device__ __forceinline__ bool decode_tile(const DecodeWork& work, uint32_t tile, unsigned char* stage) {
  const uint32_t rows = device::rows_of_tile(work.rows, tile);
  const uint64_t first = uint64_t{tile} * kTileRows;
  const uint32_t row_bytes = work.row_bytes();
  const uint32_t fit = kTextBytes / row_bytes;
  const uint32_t at_once = fit < kLanes ? fit : kLanes;
  Numbers numbers;
  numbers.open(work.numbers, tile, nullptr);
  strings::TextStage text(stage, work.text + first * row_bytes);
  bool fits = work.offsets_hold((first + rows) * row_bytes);
#pragma unroll 1
  for (uint32_t k = 0; k * kLanes < rows; ++k) {
    const uint32_t row = k * kLanes + lane_id();
    const uint64_t number = row < rows ? numbers.at(k) : 0;
    if (row < rows) work.put_offset(first + row, (first + row) * row_bytes);
    const uint32_t here = rows - k * kLanes < kLanes ? rows - k * kLanes : kLanes;
#pragma unroll 1
    for (uint32_t lane = 0; lane < here; lane += at_once) {
      const uint32_t writers = here - lane < at_once ? here - lane : at_once;
      if (lane_id() >= lane && lane_id() - lane < writers) {
        fits = write_row(work, number, stage, text.filled() + (lane_id() - lane) * row_bytes) && fits;
      }
      text.push(writers * row_bytes);
    }
  }
  text.finish();
  return fits;
}

}  // namespace basalt::numbered
