// What the device trainer works on: shared by its kernels and those who launch them.
#pragma once

#include "codec/fsst/gpu/encode_work.h"
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

// Pairs of neighbours are counted where both have one of 256 numbers: all of them, but for bytes that had to be escaped
// beside a table. Those are listed, occurrence by occurrence.
constexpr uint32_t kCounted = 256;
// Samples of up to so many bytes have fewer pairs than 16 bits count.
constexpr uint32_t kNarrowSampleBytes = 64 << 10;
// Counters of 16 bits, as a block may have them in shared memory.
constexpr uint32_t kNarrowPairBytes = kCounted * kCounted * sizeof(uint16_t);

// Memory that a block needs while it trains a table: what the largest sample can ask for.
struct TrainScratch {
  uint32_t* pairs;  // [kCounted · kCounted], two to a word if they are narrow
  bool narrow_pairs;
  uint32_t* seen;         // pairs that occur
  uint32_t* places;       // where sums bound the gains of each one's strings: two of 16 bits
  uint64_t* shares;       // of the gains of strings that may be selected: a pair or a unit << 32 | gain
  uint32_t* candidates;   // hash table of what stands for a string: a pair or a unit, + 1
  uint32_t* gains;        // of the candidates
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
  // A pair has a share in two strings at most.
  BASALT_HD uint64_t most_shares() const { return uint64_t{2} * sample_bytes + kUnits; }
  // Slots of the hash table for strings of so many shares: a power of two, a quarter of which is free at least.
  BASALT_HD static uint64_t slots_for(uint64_t shares) {
    uint64_t slots = 1024;
    while (slots * 3 / 4 < shares) slots *= 2;
    return slots;
  }
  BASALT_HD uint64_t bytes() const {
    const uint64_t words = kCounted * kCounted + 2 * sample_bytes + 2 * slots_for(most_shares());
    const uint64_t steps = optimal ? sample_bytes * (sizeof(uint32_t) + 1) : 0;
    return words * sizeof(uint32_t) + (most_shares() + sample_bytes) * sizeof(uint64_t) + steps;
  }
  // `base` is on a multiple of 16.
  BASALT_HD TrainScratch of_block(unsigned char* base, uint32_t block) const {
    const uint64_t slots = slots_for(most_shares());
    TrainScratch out{};
    out.pairs = reinterpret_cast<uint32_t*>(base + block * bytes());
    out.candidates = out.pairs + kCounted * kCounted;
    out.gains = out.candidates + slots;
    out.shares = reinterpret_cast<uint64_t*>(out.gains + slots);
    out.texts = out.shares + most_shares();
    out.seen = reinterpret_cast<uint32_t*>(out.texts + sample_bytes);
    out.places = out.seen + sample_bytes;
    if (!optimal) return out;
    out.step_places = out.places + sample_bytes;
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
