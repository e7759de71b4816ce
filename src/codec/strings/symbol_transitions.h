// Where symbols lead an automaton: the transitions of their bytes, one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "basalt/codec/string_test.h"

namespace basalt::strings {

// next[state · symbols + symbol], for the bytes text_of(symbol). A byte is taken by all states before the next one:
// they do not wait for each other, as the bytes of one do.
template <typename TextOf>
void fill_transitions(const Automaton& test, uint32_t symbols, const TextOf& text_of, uint8_t* next) {
  const uint32_t states = test.states();
  const uint32_t moving = test.first_settled();
  std::array<uint8_t, Automaton::kMostStates> at{};
  for (uint32_t symbol = 0; symbol < symbols; ++symbol) {
    std::iota(at.begin(), at.begin() + states, uint8_t{0});
    for (const char byte : text_of(symbol)) {
      for (uint32_t state = 0; state < moving; ++state) at[state] = test.next(at[state], static_cast<uint8_t>(byte));
    }
    for (uint32_t state = 0; state < states; ++state) next[size_t{state} * symbols + symbol] = at[state];
  }
}

}  // namespace basalt::strings
