// Reading and writing blocks of exceptions on the CPU.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/buffer.h"
#include "codec/galp/choose.h"

namespace basalt::galp {

// body(i, row of the tile) for the exceptions of a block that passed validate().
template <typename Body>
void for_each_exception(const Exceptions& block, Body&& body) {
  if (block.listed()) {
    uint32_t lanes = block.positions[0];
    for (uint32_t i = 0; i < block.count; ++i) {
      const uint32_t row = block.listed_row(i);
      body(i, row % kRowsPerLane * kLanes + static_cast<uint32_t>(std::countr_zero(lanes)) % kLanes);
      if ((row & kLastOfLane) != 0) lanes &= lanes - 1;
    }
    return;
  }
  uint32_t i = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t rows = block.positions[lane]; rows != 0; rows &= rows - 1) {
      body(i++, static_cast<uint32_t>(std::countr_zero(rows)) * kLanes + lane);
    }
  }
}

// How many each tile of an array has, which validate() let pass.
std::vector<uint32_t> exception_counts(const NodeView& node);

// The rows of a tile that are exceptions, by lane: bit r of rows[l].
struct LaneRows {
  uint32_t rows[kLanes] = {};
  uint32_t count = 0;
};
// Appends the tile's block. `values` by row of the tile, only those at exceptions are looked at; `bits` of their type.
template <typename Bits>
void append_block(const LaneRows& rows, const Bits* values, uint32_t bits, Buffer& words);

}  // namespace basalt::galp
