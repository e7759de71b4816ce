// How device code answers which rows of a tile lie in a range of values, and what that took: the counterpart of
// Reader::filter_range() on the CPU.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

// The cheapest way first; as `Answered` in basalt/codec/codec.h.
constexpr uint32_t kByBounds = 0;  // all rows at once
constexpr uint32_t kByModel = 1;   // from the shape of the values: by run, or reading a few rows at most
constexpr uint32_t kByRows = 2;    // every row's stored bits were read

struct TileAnswer {
  uint32_t mask;  // the lane's rows inside
  uint32_t how;
  uint32_t bad;  // not 0: values that no writer makes
};

BASALT_HD constexpr uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
BASALT_HD void raise_to(uint32_t& how, uint32_t other) { how = other > how ? other : how; }

}  // namespace basalt::device
