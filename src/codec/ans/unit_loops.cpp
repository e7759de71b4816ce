// Steps one state at a time, and the choice of the loops for this machine.
#include "codec/ans/unit_loops.h"

#include "core/instruction_set.h"

namespace basalt::ans {

namespace baseline {

namespace {

// States lie side by side, so that their multiplications and look-ups overlap.
template <typename Table>
void steps(const Table& table, uint32_t* states, UnitWords* words, uint32_t count, uint16_t* out) {
  for (uint32_t step = 0; step < count; ++step, out += kLanes) {
    if (words == nullptr) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Step next = table.step(states[lane]);
        out[lane] = static_cast<uint16_t>(next.symbol);
        states[lane] = next.state;
      }
      continue;
    }
    const uint16_t* const at = words->at();
    uint32_t taken = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const Step next = table.step(states[lane]);
      out[lane] = static_cast<uint16_t>(next.symbol);
      // Without a branch, which nothing could predict: 335 instead of 130 million rows a second.
      const uint32_t wants = wants_word(next.state) ? 1 : 0;
      const uint32_t change = (take_word(next.state, at[taken]) ^ next.state) & (0 - wants);
      states[lane] = next.state ^ change;
      taken += wants;
    }
    words->take(taken);
  }
}

}  // namespace

const UnitLoops kLoops = {steps<NarrowTable>, steps<WideTable>};

}  // namespace baseline

const UnitLoops& unit_loops() {
#if defined(__x86_64__)
  if (instruction_set() == InstructionSet::kAvx512) return avx512::kLoops;
#endif
  return baseline::kLoops;
}

}  // namespace basalt::ans
