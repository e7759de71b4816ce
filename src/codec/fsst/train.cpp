// The trainer's loops on the CPU.
#include "codec/fsst/train.h"

#include <algorithm>

namespace basalt::fsst {

namespace {

// How often units and pairs of neighbours occur. Few of all pairs do, so those that do are listed.
class Counts {
 public:
  void clear() {
    units.fill(0);
    for (const uint32_t pair : seen) pairs[pair] = 0;
    seen.clear();
    code_bytes = 0;
  }
  void add_pair(uint32_t a, uint32_t b) {
    const uint32_t pair = a * kUnits + b;
    if (pairs[pair]++ == 0) seen.push_back(pair);
  }

  std::array<uint32_t, kUnits> units{};
  std::vector<uint32_t> pairs = std::vector<uint32_t>(kUnits * kUnits);
  std::vector<uint32_t> seen;
  uint64_t code_bytes = 0;
};

Symbol unit_symbol(const SymbolTable& table, uint32_t unit) {
  return unit >= kByteUnits ? Symbol{unit - kByteUnits, 1} : table.symbols[unit];
}

void count(const SymbolTable& table, std::span<const std::string_view> sample, Parse parse, Counts& counts) {
  counts.clear();
  const auto matcher = std::make_unique<Matcher>(table);
  std::vector<uint8_t> codes;
  for (const std::string_view text : sample) {
    codes.resize(2 * text.size() + 8);
    const uint8_t* const end = matcher->encode(parse, text.data(), text.size(), codes.data());
    counts.code_bytes += static_cast<uint64_t>(end - codes.data());
    uint32_t before = kUnits;
    for (const uint8_t* at = codes.data(); at < end;) {
      const uint32_t code = *at++;
      const uint32_t unit = code == kEscape ? kByteUnits + *at++ : code;
      // A longer symbol counts as its first byte too: shorter steps may serve better.
      const bool is_longer = unit < kByteUnits && table.symbols[unit].length > 1;
      const uint32_t first = is_longer ? kByteUnits + static_cast<uint8_t>(table.symbols[unit].value) : kUnits;
      ++counts.units[unit];
      if (is_longer) ++counts.units[first];
      if (before != kUnits) {
        counts.add_pair(before, unit);
        if (is_longer) counts.add_pair(before, first);
      }
      before = unit;
    }
  }
}

// Candidates by string; what several counts say of one string adds up.
class Candidates {
 public:
  explicit Candidates(size_t most) : places_(std::bit_ceil(2 * most + 2)) {}

  void add(const Symbol& symbol, uint32_t gain) {
    for (size_t at = symbol_hash(symbol);; ++at) {
      uint32_t& place = places_[at & (places_.size() - 1)];
      if (place == 0) {
        list_.push_back({symbol, gain});
        place = static_cast<uint32_t>(list_.size());
        return;
      }
      Candidate& one = list_[place - 1];
      if (one.symbol.value == symbol.value && one.symbol.length == symbol.length) {
        one.gain += gain;
        return;
      }
    }
  }
  std::vector<CandidateKey> keys() const {
    std::vector<CandidateKey> out;
    out.reserve(list_.size());
    for (const Candidate& one : list_) out.push_back(key_of(one.symbol, one.gain));
    return out;
  }

 private:
  struct Candidate {
    Symbol symbol;
    uint32_t gain;
  };
  std::vector<Candidate> list_;
  std::vector<uint32_t> places_;  // index + 1, 0: free
};

SymbolTable build(const SymbolTable& table, const Counts& counts, bool with_pairs, const TrainOptions& options) {
  const size_t pairs = with_pairs ? counts.seen.size() : 0;
  Candidates candidates(kUnits + pairs);
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    if (counts.units[unit] == 0) continue;
    const Symbol symbol = unit_symbol(table, unit);
    candidates.add(symbol, unit_gain(symbol, counts.units[unit], options));
  }
  for (size_t i = 0; i < pairs; ++i) {
    const Symbol first = unit_symbol(table, counts.seen[i] / kUnits);
    if (first.length >= kMaxSymbolBytes) continue;
    const Symbol symbol = joined(first, unit_symbol(table, counts.seen[i] % kUnits));
    candidates.add(symbol, pair_gain(symbol, counts.pairs[counts.seen[i]]));
  }
  // Few of many are taken: sorted in batches, the best first.
  constexpr ptrdiff_t kBatch = 512;
  std::vector<CandidateKey> keys = candidates.keys();
  SymbolTable out;
  Admission admission;
  admission.clear();
  for (auto at = keys.begin(); at != keys.end() && !admission.is_full();) {
    const auto end = at + std::min(kBatch, keys.end() - at);
    if (end != keys.end()) std::nth_element(at, end, keys.end());
    std::sort(at, end);
    for (; at != end && !admission.is_full(); ++at) {
      const Symbol symbol = symbol_of(*at);
      if (admission.admits(symbol, options)) out.symbols.push_back(symbol);
    }
  }
  std::stable_sort(out.symbols.begin(), out.symbols.end(),
                   [](const Symbol& a, const Symbol& b) { return a.length > b.length; });
  return out;
}

}  // namespace

SymbolTable train(std::span<const std::string_view> sample, const TrainOptions& options) {
  const TrainOptions between = between_rounds(options);
  SymbolTable table;
  SymbolTable best;
  Counts counts;
  Counts best_counts;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    count(table, sample, options.parse, counts);
    SymbolTable next;
    if (round + 1 < options.rounds) next = build(table, counts, true, between);
    if (round == 0 || counts.code_bytes <= best_counts.code_bytes) {
      best = std::move(table);
      std::swap(counts, best_counts);
    }
    table = std::move(next);
  }
  return build(best, best_counts, false, options);
}

}  // namespace basalt::fsst
