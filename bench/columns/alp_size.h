// What doubles would take by the rules of ALP on the CPU: the baseline of `columns galp`. Sizes only; nothing is
// written.
//
// Row groups of 100 vectors of 1024 values; every 12th vector is sampled with 32 values to find at most five pairs
// (e, f), or that ALP_rd is better; each vector takes the best of them on 32 values, giving up after two that are no
// better. Rounding is by adding 1.5 · 2^52. A vector takes 128 bytes per bit, 10 bytes per exception and 13 of its own
// (e, f, width, base, number of exceptions); of ALP_rd 4 bytes per exception and 2 of its own, and 18 per row group.
#pragma once

#include <cstdint>
#include <span>

namespace basalt::bench {

uint64_t alp_bytes(std::span<const double> values);

}  // namespace basalt::bench
