// Writing the tables that device filters read: see filter_table.h.
#pragma once

#include <cstring>

#include "basalt/codec/string_test.h"
#include "basalt/core/buffer.h"
#include "codec/strings/filter_table.h"
#include "codec/strings/symbol_transitions.h"

namespace basalt::strings {

// Of a whole table, a multiple of 16.
constexpr uint64_t table_bytes(uint64_t states, uint64_t symbols) {
  return (sizeof(FilterTableHead) + states * symbols + 15) / 16 * 16;
}

// Appends a table of `states` states whose transitions fill(next) writes and whose head has no bits yet; gives that.
template <typename Fill>
FilterTableHead& append_table(Buffer& out, uint32_t states, uint32_t symbols, const Fill& fill) {
  const size_t at = out.size();
  const uint64_t bytes = table_bytes(states, symbols);
  out.resize(at + bytes);
  std::memset(out.data() + at, 0, bytes);
  auto& head = *reinterpret_cast<FilterTableHead*>(out.data() + at);
  head.symbols = symbols;
  head.bytes = static_cast<uint32_t>(bytes);
  fill(out.as<uint8_t>() + at + sizeof(FilterTableHead));
  return head;
}

inline void set_bit(uint32_t* bits, uint32_t i) { bits[i / 32] |= 1u << i % 32; }

// The automaton as it is, over symbols with the bytes text_of(symbol).
template <typename TextOf>
FilterTableHead& append_symbol_table(Buffer& out, const Automaton& test, uint32_t symbols, const TextOf& text_of) {
  FilterTableHead& head =
      append_table(out, test.states(), symbols, [&](uint8_t* next) { fill_transitions(test, symbols, text_of, next); });
  head.start = test.start();
  head.first_settled = test.first_settled();
  for (uint32_t state = 0; state < test.states(); ++state) {
    if (test.accepts(static_cast<uint8_t>(state))) set_bit(head.accepts, state);
  }
  return head;
}

// The same over bytes.
inline FilterTableHead& append_byte_table(Buffer& out, const Automaton& test) {
  char byte = 0;
  return append_symbol_table(out, test, kByteSymbols, [&](uint32_t symbol) {
    byte = static_cast<char>(symbol);
    return std::string_view(&byte, 1);
  });
}

}  // namespace basalt::strings
