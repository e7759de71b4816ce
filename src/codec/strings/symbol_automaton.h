// An automaton that reads symbols instead of bytes: the codes of a symbol table, the ids of a token dictionary. A
// symbol's transitions are those of its bytes, one after the other.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "basalt/codec/string_test.h"
#include "codec/strings/symbol_transitions.h"

namespace basalt::strings {

class SymbolAutomaton {
 public:
  // text_of(s) gives the bytes of symbol s, s < symbols.
  template <typename TextOf>
  SymbolAutomaton(std::shared_ptr<const Automaton> bytes, uint32_t symbols, TextOf&& text_of)
      : bytes_(std::move(bytes)), symbols_(symbols), next_(size_t{bytes_->states()} * symbols) {
    fill_transitions(*bytes_, symbols, text_of, next_.data());
  }

  uint8_t next(uint8_t state, uint32_t symbol) const { return next_[size_t{state} * symbols_ + symbol]; }

 private:
  std::shared_ptr<const Automaton> bytes_;
  uint32_t symbols_;
  std::vector<uint8_t> next_;  // [state][symbol]
};

// What a reader derived from the automata it was asked about. It keeps them, so that an address means one automaton.
template <typename T>
class PerAutomaton {
 public:
  template <typename Make>
  const T& get(const std::shared_ptr<const Automaton>& automaton, Make&& make) {
    for (const auto& [known, derived] : known_) {
      if (known == automaton) return *derived;
    }
    return *known_.emplace_back(automaton, std::make_unique<T>(make())).second;
  }

 private:
  std::vector<std::pair<std::shared_ptr<const Automaton>, std::unique_ptr<T>>> known_;
};

}  // namespace basalt::strings
