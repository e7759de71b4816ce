// A test of strings as device code reads it: an automaton over the symbols that an array of strings is stored as. What
// the host makes for each statement and array (TextAlphabet::table), and filters walk (codec/strings/gpu/filter.cuh).
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::strings {

// Behind it: uint8 next[state · symbols + symbol], then zeros up to `bytes`.
struct alignas(16) FilterTableHead {
  uint32_t start;
  uint32_t first_settled;  // from this state on no symbol leads away
  uint32_t symbols;
  uint32_t bytes;       // of the whole table, a multiple of 16: where an array has several, the next one begins there
  uint32_t accepts[8];  // bit s: texts that end in state s pass
  uint32_t faults[8];   // bit s: only damaged texts end in state s
};
constexpr uint32_t kByteSymbols = 256;

}  // namespace basalt::strings
