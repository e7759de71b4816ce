// Which columns of a tree's nodes are asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/query/tree.h"

namespace basalt {

constexpr uint32_t kLeftOut = ~uint32_t{0};

// Those that an expression refers to.
void mark_columns(const Expr& expr, std::vector<bool>& columns);
// Each reference to column i becomes one to places[i].
void move_columns(Expr& expr, const std::vector<uint32_t>& places);

// Takes columns that are not wanted out of a node and out of those below it, as far down as the next groups, limits or
// the like. Gives the place where each column is now, or kLeftOut; one that is not wanted may stay.
std::vector<uint32_t> keep_columns(QueryNode& node, std::vector<bool> wanted);

}  // namespace basalt
