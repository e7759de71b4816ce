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

OwnedSample take_sample(const Values& values, Effort effort);

}  // namespace basalt
