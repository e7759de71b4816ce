// What the device encoder keeps in device memory while it works on a batch of chunks, and what it gives out. Plain
// structs: kernels get them by value, and tests fill them without a GPU.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "basalt/codec/codec.h"
#include "codec/l3/choose.h"

namespace basalt::l3 {

// One chunk's values in device memory, as they are stored by their type.
struct EncodeInput {
  const void* values;
  uint32_t rows;  // up to kMaxChunkRows
};

// How the bits of a type become signed 64-bit numbers in the same order and at the same distances, as in encode.cpp:
// widened = (bits ^ flip) − lowered. `widening` is what has to be added to get the value's own bits back.
struct ValueType {
  uint32_t bytes;
  uint64_t flip;
  uint64_t lowered;
  uint64_t widening;

  static ValueType of(uint32_t bytes, bool has_sign) {
    const uint64_t top = uint64_t{1} << (8 * bytes - 1);
    if (bytes == 8) return {bytes, 0, has_sign ? 0 : top, has_sign ? 0 : top};
    return {bytes, has_sign ? top : 0, has_sign ? top : 0, 0};
  }
};

// Of one chunk's streams.
struct EncodedSizes {
  uint32_t partitions;
  uint32_t param_words;
  uint32_t model_words;     // residuals of modelled partitions
  uint32_t residual_words;  // of runs, too
};
struct EncodedStreams {
  uint32_t* starts;
  uint64_t* records;
  uint32_t* params;
  uint32_t* residuals;
};

BASALT_HD uint32_t start_words(uint32_t rows) { return (units_of(rows) + kUnitsPerStart - 1) / kUnitsPerStart; }

constexpr uint32_t kLongUnits = 64;  // a union of more is tried by a block instead of a warp

// Ends of runs that a unit's list has room for. Runs of a partition are worth looking at from kLeastRun rows on
// average; a unit with more ends is looked at row by row.
constexpr uint32_t kListedEnds = 70;
// Rows of a unit that differ from the next row of the chunk, in order.
struct UnitEnds {
  uint16_t count;
  uint8_t rows[kListedEnds];
};

constexpr uint32_t kRunsParamsStride = 16;  // words; kMostRunsParams are used
constexpr uint32_t kNoCost = ~0u;

// All arrays have `stride` entries per chunk, one per unit; a partition's are those of its first unit.
struct EncodeWork {
  const EncodeInput* chunks;
  uint32_t chunk_count;
  uint32_t stride;  // units of the longest chunk, whole tiles
  uint32_t batch;   // units that a warp takes at once, one per lane: whole tiles
  ValueType type;
  bool best;
  uint32_t max_degree;
  double spread;

  Partition* parts;
  uint32_t* runs_params;  // kRunsParamsStride words each
  uint8_t* absorbed;      // 1 where no partition starts
  uint32_t* run_ends;     // rows of the unit that differ from the next row; from merging on the sum over earlier units
  UnitEnds* unit_ends;    // which rows that are
  uint32_t* arrived;      // merging, per chunk: blocks that have come to where they wait for each other
  uint32_t* merged;       // bits of units at which partitions stopped starting in a step; three steps take turns
  uint32_t* costs;        // `best`: bytes of the run of 1 + i units that begins here, at 32·unit + i
  uint32_t* numbers;      // partitions before this unit
  uint32_t* param_places;
  uint32_t* word_places;
  EncodedSizes* sizes;  // per chunk
  EncodedStreams* streams;

  // Without arrays yet; `chunks` is to become an address in device memory. `warps`: how many keep the device busy.
  static EncodeWork of(std::span<const EncodeInput> chunks, uint32_t value_bytes, bool has_sign, Effort effort,
                       uint32_t warps) {
    EncodeWork work{};
    work.chunks = chunks.data();
    work.chunk_count = static_cast<uint32_t>(chunks.size());
    for (const EncodeInput& chunk : chunks) work.stride = std::max(work.stride, units_of(chunk.rows));
    work.stride = (work.stride + kUnitsPerTile - 1) / kUnitsPerTile * kUnitsPerTile;
    const uint64_t share = uint64_t{work.chunk_count} * work.stride / warps / kUnitsPerTile * kUnitsPerTile;
    work.batch = static_cast<uint32_t>(std::clamp<uint64_t>(share, kUnitsPerTile, kLanes));
    work.type = ValueType::of(value_bytes, has_sign);
    work.best = effort == Effort::kBest;
    work.max_degree = effort == Effort::kFast ? 1 : 3;
    work.spread = work.best ? kLeastSpread : kQuickSpread;
    return work;
  }

  BASALT_HD uint32_t at(uint32_t chunk, uint32_t unit) const { return chunk * stride + unit; }
  BASALT_HD uint32_t mask_words() const { return (stride + 31) / 32; }  // a bit per unit
  BASALT_HD uint32_t* merged_in(uint32_t chunk, uint32_t step) const {
    return merged + (chunk * 3 + step % 3) * mask_words();
  }
  BASALT_HD uint32_t units(uint32_t chunk) const { return units_of(chunks[chunk].rows); }
};

// Gives each array its place in one block of memory, which begins at `base` (nullptr: only counts). Returns the bytes.
inline size_t place_arrays(EncodeWork& work, unsigned char* base) {
  size_t bytes = 0;
  const auto place = [&](auto*& array, size_t count) {
    using T = std::remove_reference_t<decltype(*array)>;
    array = base == nullptr ? nullptr : reinterpret_cast<T*>(base + bytes);
    bytes += (count * sizeof(T) + 15) / 16 * 16;
  };
  const size_t units = size_t{work.chunk_count} * work.stride;
  place(work.parts, units);
  place(work.runs_params, units * kRunsParamsStride);
  place(work.absorbed, units);
  place(work.run_ends, units);
  place(work.unit_ends, work.max_degree > 1 ? units : 0);
  place(work.costs, work.best ? units * kMaxPolyUnits : 0);
  place(work.numbers, units);
  place(work.param_places, units);
  place(work.word_places, units);
  place(work.arrived, work.chunk_count);
  place(work.merged, size_t{work.chunk_count} * 3 * work.mask_words());
  place(work.sizes, work.chunk_count);
  place(work.streams, work.chunk_count);
  return bytes;
}
// What a unit takes of it, at most. Twice the input is allowed, and the smallest values have one byte.
constexpr size_t kWorkBytesPerUnit =
    sizeof(Partition) + sizeof(UnitEnds) + kRunsParamsStride * 4 + 1 + 4 + 1 + kMaxPolyUnits * 4 + 12;
static_assert(kWorkBytesPerUnit <= 2 * kUnitRows);

}  // namespace basalt::l3
