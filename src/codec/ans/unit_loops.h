// Steps in which all 32 states of a unit take part: 16 states at once where the machine can look up as many. (Eight at
// once, for AVX2, took as long as one by one: 390 against 335 million rows a second, and 235 against 320 with tables of
// many symbols.)
#pragma once

#include "codec/ans/layout.h"
#include "codec/ans/unit_words.h"

namespace basalt::ans {

// Each writes 32 symbols for each step. With words: steps before the tail; nullptr: steps of the tail.
struct UnitLoops {
  void (*narrow)(const NarrowTable& table, uint32_t* states, UnitWords* words, uint32_t steps, uint16_t* out);
  void (*wide)(const WideTable& table, uint32_t* states, UnitWords* words, uint32_t steps, uint16_t* out);
};

namespace baseline {
extern const UnitLoops kLoops;
}
namespace avx512 {
extern const UnitLoops kLoops;
}

// Those of this machine.
const UnitLoops& unit_loops();

}  // namespace basalt::ans
