// What the device trainer works on: shared by its kernels and those who launch them.
#pragma once

#include "codec/fsst/encode_work.h"
#include "codec/fsst/training.h"

namespace basalt::fsst {

// Tables that are trained before the choice: that of all rows, then those of tested ranges.
constexpr uint32_t kMostTried = 1 + Plan::kMostRanges * kTestRanges;

// An array that gets tables, in device memory.
struct TrainArray {
  const uint64_t* text;  // as in EncodeWork
  const int64_t* offsets;
  int64_t first_byte;
  uint64_t rows;  // one at least
  TableShifts shifts;
  EncodeTable* tried;   // [kMostTried]
  EncodeTable* tables;  // [most_tables()]
  uint32_t* shift;      // the chosen one

  BASALT_HD uint32_t tables_of(uint32_t with_shift) const {
    return table_count(static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows), with_shift);
  }
  BASALT_HD uint32_t most_tables() const {
    uint32_t most = 1;
    for (uint32_t i = 0; i < shifts.count; ++i) {
      most = tables_of(shifts.smaller[i]) > most ? tables_of(shifts.smaller[i]) : most;
    }
    return most;
  }
};

// Memory that a block needs while it trains a table: what the largest sample can ask for.
struct TrainScratch {
  uint32_t* pairs;       // [kUnits · kUnits], zero between rounds
  uint32_t* seen;        // pairs that are not
  uint32_t* candidates;  // hash table of what stands for a string: a pair or a unit, + 1
  uint32_t* gains;       // of the candidates
  uint32_t most_candidates;
  uint64_t* texts;        // of the sample: first byte << 10 | length
  uint32_t* step_places;  // of the texts; nullptr: no optimal parse
  uint8_t* steps;         // as in EncodeWork
};

struct ScratchSizes {
  uint32_t sample_bytes;
  bool optimal;

  BASALT_HD explicit ScratchSizes(const Plan& plan)
      : sample_bytes(plan.sample_bytes < kTestBytes ? kTestBytes : plan.sample_bytes),
        optimal(plan.training.parse == Parse::kOptimal) {}
  // A step gives two pairs at most.
  BASALT_HD uint64_t most_pairs() const {
    const uint64_t most = uint64_t{2} * sample_bytes;
    return most < kUnits * kUnits ? most : kUnits * kUnits;
  }
  // A power of two, a quarter of which is free at least.
  BASALT_HD uint64_t most_candidates() const {
    uint64_t slots = 1;
    while (slots * 3 / 4 < most_pairs() + kUnits) slots *= 2;
    return slots;
  }
  BASALT_HD uint64_t bytes() const {
    const uint64_t words = kUnits * kUnits + most_pairs() + 2 * most_candidates() + 2 * uint64_t{sample_bytes};
    return words * sizeof(uint32_t) + (optimal ? sample_bytes * (sizeof(uint32_t) + 1) : 0);
  }
  // `base` is on a multiple of 16.
  BASALT_HD TrainScratch of_block(unsigned char* base, uint32_t block) const {
    TrainScratch out{};
    auto* words = reinterpret_cast<uint32_t*>(base + block * bytes());
    out.pairs = words;
    out.seen = out.pairs + kUnits * kUnits;
    out.candidates = out.seen + most_pairs();
    out.gains = out.candidates + most_candidates();
    out.most_candidates = static_cast<uint32_t>(most_candidates());
    out.texts = reinterpret_cast<uint64_t*>(out.gains + most_candidates());
    if (!optimal) return out;
    out.step_places = reinterpret_cast<uint32_t*>(out.texts + sample_bytes);
    out.steps = reinterpret_cast<uint8_t*>(out.step_places + sample_bytes);
    return out;
  }
};

// Arrays that are trained at once.
struct TrainBatch {
  const TrainArray* arrays;  // in device memory
  uint32_t count;
  uint32_t most_tables;  // of any of them
  Plan plan;
  unsigned char* scratch;  // ScratchSizes(plan).bytes() for each block
  uint32_t blocks;
};

}  // namespace basalt::fsst
