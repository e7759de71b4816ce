// Decoding one unit on the CPU.
#pragma once

#include <span>

#include "codec/ans/table.h"
#include "codec/ans/unit_loops.h"

namespace basalt::ans {

// Writes the symbols of the unit's rows; `out` has room for whole steps. False if the unit is damaged: symbols are then
// any that the table has.
bool decode_unit(const Table& table, const UnitLoops& loops, std::span<const uint32_t> unit, uint32_t rows,
                 uint16_t* out);

}  // namespace basalt::ans
