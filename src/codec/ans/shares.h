// How the slots of a table are shared out among symbols: exact integer arithmetic, so that the same counts give the
// same shares on any machine.
#pragma once

#include <span>
#include <vector>

#include "basalt/core/buffer.h"

namespace basalt::ans {

// Shares of 2^bits in all for symbols that occur so often, at least 1 for each that does; counts are not all zero, and
// no more than 2^bits of them are not zero. They make the codes as short as whole shares allow.
std::vector<uint32_t> share_out(std::span<const uint64_t> counts, uint32_t bits);

// As they are stored.
Buffer pack_shares(std::span<const uint32_t> shares);

}  // namespace basalt::ans
