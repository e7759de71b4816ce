// How many values make a group, as encoders on either side decide it: by the numbers that groups become, of which few
// different ones are wanted.
#pragma once

#include <algorithm>
#include <bit>

#include "codec/grouped/layout.h"

namespace basalt::grouped {

inline uint32_t bits_of(uint64_t span) { return std::max(1u, static_cast<uint32_t>(std::bit_width(span))); }

// Whether groups of so many values of so many bits can be tried.
inline bool fits(const Parameters& parameters) {
  return parameters.values <= kMostValues && uint64_t{parameters.values} * parameters.bits <= 64;
}
constexpr const char* kTooWide = "grouped: two values take more than 64 bits";

// Of a dictionary of the different groups and codes for it.
inline double bits_in_all(uint64_t groups, uint64_t distinct) {
  return static_cast<double>(distinct) * 64 + static_cast<double>(groups * std::bit_width(distinct));
}

}  // namespace basalt::grouped
