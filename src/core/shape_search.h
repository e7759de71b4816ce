// Finding the fastest of the shapes that a kernel may be launched in with few measurements. A shape is a place on each
// of some axes, whose values lie in their order (powers of two); along an axis times fall, then rise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace basalt {

struct SearchAxis {
  uint32_t values = 1;  // places are 0 … values − 1
  uint32_t start = 0;
};
using SearchPlace = std::vector<uint32_t>;                       // one for each axis
using MeasurePlace = std::function<double(const SearchPlace&)>;  // seconds; infinity where a kernel cannot run so

struct SearchResult {
  SearchPlace place;
  double seconds = 0;
  double start_seconds = 0;
  uint32_t probes = 0;  // measurements
};

constexpr uint32_t kMostProbes = 10;
// What is no faster than the start by this factor is not taken: it may be noise, and the start is what is known.
constexpr double kWorthMoving = 0.98;

// Axis after axis, downhill from the start; once more from the first axis while something changes and probes are left.
SearchResult search_downhill(std::span<const SearchAxis> axes, const MeasurePlace& measure,
                             uint32_t most_probes = kMostProbes);
// All places: what the other search is compared with.
SearchResult search_all(std::span<const SearchAxis> axes, const MeasurePlace& measure);

}  // namespace basalt
