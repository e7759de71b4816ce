// What the strings of a chunk look like. To search for the best tree of strings takes longer than to encode them:
// chunks that look alike share one search.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt {

struct TextTraits {
  double mean_length = 0;
  double valid_share = 1;
  double new_share = 0;  // of rows that differ from the one before
  double distinct_share = 0;
  double bits_per_byte = 0;  // entropy of single bytes
};

TextTraits traits_of(const Values& sample);

// Whether a tree that was searched for one of them serves the other as well.
bool look_alike(const TextTraits& a, const TextTraits& b);

}  // namespace basalt
