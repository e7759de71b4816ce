// Positional samples: whole tiles at fixed places, so that the same values always give the same sample.
#pragma once

#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

// Owns copies of the sampled rows; `sample` views them.
struct OwnedSample {
  Buffer values;
  std::vector<int64_t> offsets;
  std::vector<uint8_t> validity;
  Sample sample;
};

// Rows that are looked at together.
struct SamplePiece {
  uint64_t first = 0;
  uint64_t rows = 0;
};
// Whole tiles of an array of so many rows.
std::vector<SamplePiece> sample_pieces(uint64_t rows);

OwnedSample take_sample(const Values& values, Aims aims);

}  // namespace basalt
