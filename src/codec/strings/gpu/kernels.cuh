// Strings on the device, on their way to offsets and bytes: rows' places, and text that a warp collects in shared
// memory and copies out 16 bytes per lane. What the bytes are made of is the codecs' affair.
#pragma once

#include "codec/strings/gpu/decode_work.h"
#include "core/device/decode_tiles.h"
#include "core/device/warp.h"

namespace basalt::strings {

using device::lane_id;
using device::load;

// Collects a lane's bytes in a register and writes them by words; first and last words, which neighbours share, by
// bytes.
class WordWriter {
 public:
  __device__ __forceinline__ WordWriter(unsigned char* stage, uint32_t at)
      : word_(reinterpret_cast<uint64_t*>(stage) + at / 8), first_(at % 8), filled_(at % 8) {}

  __device__ __forceinline__ void put(uint64_t symbol, uint32_t length) {
    bits_ |= symbol << 8 * filled_;
    const uint32_t filled = filled_ + length;
    if (filled >= 8) {
      put_word(8);
      bits_ = filled_ == 0 ? 0 : symbol >> (64 - 8 * filled_);
      ++word_;
      first_ = 0;
    }
    filled_ = filled % 8;
  }
  __device__ __forceinline__ void finish() { put_word(filled_); }

 private:
  __device__ __forceinline__ void put_word(uint32_t end) {
    if (first_ == 0 && end == 8) {
      *word_ = bits_;
      return;
    }
    for (uint32_t i = first_; i < end; ++i) {
      reinterpret_cast<unsigned char*>(word_)[i] = static_cast<unsigned char>(bits_ >> 8 * i);
    }
  }

  uint64_t* word_;
  uint64_t bits_ = 0;
  uint32_t first_;   // bytes of the word below this one are another lane's
  uint32_t filled_;  // up to here, the word is written or collected
};

// Text on its way out: `stage` stands for the 16 bytes at `to` and what follows.
class TextStage {
 public:
  __device__ __forceinline__ TextStage(unsigned char* stage, unsigned char* out)
      : stage_(stage), skip_(static_cast<uint32_t>(reinterpret_cast<uint64_t>(out) % 16)), filled_(skip_) {
    to_ = out - skip_;
  }

  __device__ __forceinline__ unsigned char* stage() const { return stage_; }
  __device__ __forceinline__ uint32_t filled() const { return filled_; }

  // By the whole warp, after it wrote `bytes` behind what was there: copies all whole sixteens out.
  __device__ __forceinline__ void push(uint32_t bytes) {
    using device::SixteenBytes;
    device::sync_warp();
    const uint32_t lane = lane_id();
    const uint32_t end = filled_ + bytes;
    const uint32_t whole = end / 16;
    const auto* from = reinterpret_cast<const SixteenBytes*>(stage_);
    auto* to = reinterpret_cast<SixteenBytes*>(to_);
    if (whole > 0 && skip_ > 0 && lane >= skip_ && lane < 16) to_[lane] = stage_[lane];
    for (uint32_t i = lane + (skip_ > 0 ? 1 : 0); i < whole; i += kLanes) to[i] = from[i];
    const uint32_t left = end % 16;
    const unsigned char kept = lane < left ? stage_[16 * whole + lane] : 0;
    device::sync_warp();
    if (lane < left) stage_[lane] = kept;
    to_ += 16 * whole;
    if (whole > 0) skip_ = 0;
    filled_ = left;
    device::sync_warp();
  }
  __device__ __forceinline__ void finish() {
    const uint32_t lane = lane_id();
    if (lane >= skip_ && lane < filled_) to_[lane] = stage_[lane];
    device::sync_warp();
  }

 private:
  unsigned char* stage_;
  unsigned char* to_;
  uint32_t skip_;    // bytes at the beginning that are not ours to write
  uint32_t filled_;  // end of what waits in the stage
};

// Goes over the rows of a tile, 32 at a time, by the whole warp: f(k, length, place in the tile's text), for lanes that
// have a row; others have length 0. Returns the tile's bytes.
template <typename Lengths, typename F>
__device__ __forceinline__ uint64_t for_each_rows(const Lengths& lengths, uint32_t rows, F&& f) {
  uint64_t text = 0;
#pragma unroll 1
  for (uint32_t k = 0; k * kLanes < rows; ++k) {
    const uint64_t length = k * kLanes + lane_id() < rows ? lengths.at(k) : 0;
    const uint64_t before = device::sum_below(length);
    f(k, length, text + before);
    text += device::shuffle(before + length, kLanes - 1);
  }
  return text;
}

// Bytes of a tile's text; by the whole warp.
template <typename Lengths>
__device__ __forceinline__ uint64_t measure_tile(const TextWork& work, uint32_t tile) {
  Lengths lengths;
  lengths.open(work.lengths, tile, nullptr);
  return for_each_rows(lengths, device::rows_of_tile(work.rows, tile), [](uint32_t, uint64_t, uint64_t) {});
}

// Offsets of a tile's rows; by the whole warp. False if they are too large.
template <typename Lengths>
__device__ __forceinline__ bool place_rows(const TextWork& work, uint32_t tile) {
  const uint32_t rows = device::rows_of_tile(work.rows, tile);
  const uint64_t text = load(work.text_starts + tile);
  Lengths lengths;
  lengths.open(work.lengths, tile, nullptr);
  for_each_rows(lengths, rows, [&](uint32_t k, uint64_t, uint64_t place) {
    const uint32_t row = k * kLanes + lane_id();
    if (row < rows) work.put_offset(uint64_t{tile} * kTileRows + row, text + place);
  });
  return work.offsets_hold(load(work.text_starts + tile + 1));
}

// The offset behind the last row; by one thread.
__device__ __forceinline__ void place_end(const TextWork& work) {
  work.put_offset(work.rows, load(work.text_starts + work.tiles()));
}

}  // namespace basalt::strings
