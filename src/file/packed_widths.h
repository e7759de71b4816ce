// How many packed tiles of each width an encoded array has: what `width_tiles` of a column's metadata adds up. Kernels
// unroll their code for the most common ones.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt::format_v1 {

// Over all `packed` nodes of the tree; `widths` grows as far as it must.
void add_packed_widths(const NodeView& root, std::vector<uint64_t>& widths);

}  // namespace basalt::format_v1
