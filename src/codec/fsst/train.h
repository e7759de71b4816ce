// Finding a table of symbols for a sample of text. Integers only, and every choice has one outcome: parses of sample
// texts are independent, counts are sums, candidates have a total order and are taken in that order. So whatever trains
// on the same sample comes to the same table.
#pragma once

#include <span>
#include <string_view>

#include "codec/fsst/match.h"

namespace basalt::fsst {

struct TrainOptions {
  uint32_t rounds = 5;
  uint32_t single_boost = 8;         // gains of single bytes count this often: without its symbol a byte takes two
  uint32_t least_count = 1;          // of a pair to become a candidate
  uint32_t most_long = kMaxSymbols;  // symbols of three and more bytes
  uint32_t most_rows = 256;          // first bytes of the symbols of two
  uint32_t most_per_row = 256;       // symbols of two bytes with the same first one
  Parse parse = Parse::kGreedy;
};

// A string that may become a symbol.
struct Candidate {
  Symbol symbol;
  uint64_t gain;  // sample bytes that it covers
};

// The order in which candidates are taken.
BASALT_HD constexpr bool is_better(const Candidate& a, const Candidate& b) {
  if (a.gain != b.gain) return a.gain > b.gain;
  if (a.symbol.value != b.symbol.value) return a.symbol.value < b.symbol.value;
  return a.symbol.length < b.symbol.length;
}

// The first eight bytes of a and b together.
BASALT_HD constexpr Symbol joined(const Symbol& a, const Symbol& b) {
  const uint32_t length = a.length + b.length;
  if (a.length >= kMaxSymbolBytes) return a;
  const uint64_t value = a.value | b.value << 8 * a.length;
  return {value, length < kMaxSymbolBytes ? length : kMaxSymbolBytes};
}

SymbolTable train(std::span<const std::string_view> sample, const TrainOptions& options);

}  // namespace basalt::fsst
