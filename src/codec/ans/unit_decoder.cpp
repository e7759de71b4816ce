// Decoding one unit: whole steps by the machine's loops, and a last one of fewer rows state by state.
#include "codec/ans/unit_decoder.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace basalt::ans {

namespace {

template <typename Table>
void last_step(const Table& table, uint32_t* states, UnitWords* words, uint32_t lanes, uint16_t* out) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const Step next = table.step(states[lane]);
    out[lane] = static_cast<uint16_t>(next.symbol);
    states[lane] = next.state;
    if (words == nullptr || !wants_word(next.state)) continue;
    states[lane] = take_word(next.state, *words->at());
    words->take(1);
  }
}

}  // namespace

bool decode_unit(const Table& table, const UnitLoops& loops, std::span<const uint32_t> unit, uint32_t rows,
                 uint16_t* out) {
  uint32_t states[kLanes];
  std::memcpy(states, unit.data(), sizeof(states));
  UnitWords words(unit.subspan(kLanes));
  const uint32_t tail = *words.at();
  words.take(1);
  const uint32_t steps = steps_of(rows);
  const uint32_t whole = rows / kLanes;
  const uint32_t before_tail = steps - std::min(tail, steps);
  const uint32_t whole_before = std::min(before_tail, whole);
  uint16_t* const last = out + size_t{whole} * kLanes;
  table.visit([&](const auto& slots) {
    const auto run = [&](UnitWords* taken, uint32_t count, uint16_t* to) {
      if constexpr (std::is_same_v<decltype(slots), const NarrowTable&>) {
        loops.narrow(slots, states, taken, count, to);
      } else {
        loops.wide(slots, states, taken, count, to);
      }
    };
    run(&words, whole_before, out);
    if (before_tail > whole) last_step(slots, states, &words, rows % kLanes, last);
    for (uint32_t& state : states) state = without_least(state);
    run(nullptr, whole - whole_before, out + size_t{whole_before} * kLanes);
    if (before_tail <= whole) last_step(slots, states, nullptr, rows % kLanes, last);
  });
  return words.used_up() && std::all_of(states, states + kLanes, [](uint32_t state) { return state == 0; });
}

}  // namespace basalt::ans
