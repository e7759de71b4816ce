// Widths for which tests unroll a reader: each kind of code that `packed` has (none, bytes, one word, two words, words
// and bits across them), at both ends. Unrolling all 65 for every reader, type and comparison took minutes to compile;
// emulated_readers_test.cpp does it once. Include it after codec/packed/gpu/kernels.cuh.
#pragma once

namespace basalt::test {

using EdgeWidths = device::Widths<0, 1, 7, 8, 13, 16, 31, 32, 33, 48, 63, 64>;

}  // namespace basalt::test
