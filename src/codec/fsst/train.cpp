// The trainer's loops on the CPU.
#include "codec/fsst/train.h"

#include <algorithm>
#include <bitset>

namespace basalt::fsst {

namespace {

// What a text consists of during training: symbols by code, and bytes without a symbol from kBytes on.
constexpr uint32_t kBytes = 256;
constexpr uint32_t kUnits = 512;

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
  return unit >= kBytes ? Symbol{unit - kBytes, 1} : table.symbols[unit];
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
      const uint32_t unit = code == kEscape ? kBytes + *at++ : code;
      // A longer symbol counts as its first byte too: shorter steps may serve better.
      const bool is_longer = unit < kBytes && table.symbols[unit].length > 1;
      const uint32_t first = is_longer ? kBytes + static_cast<uint8_t>(table.symbols[unit].value) : kUnits;
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

  void add(const Symbol& symbol, uint64_t gain) {
    uint64_t at = (symbol.value + symbol.length) * 0x9E3779B97F4A7C15ull;
    for (at >>= 32;; ++at) {
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
  std::vector<Candidate>& list() { return list_; }

 private:
  std::vector<Candidate> list_;
  std::vector<uint32_t> places_;  // index + 1, 0: free
};

// A table that takes candidates as long as there is room for them.
class Builder {
 public:
  explicit Builder(const TrainOptions& options) : options_(options) {}

  bool is_full() const { return table_.symbols.size() == kMaxSymbols; }
  void offer(const Symbol& symbol) {
    if (symbol.length == 2) {
      const uint32_t row = symbol.value & 0xFF;
      const bool opens = in_row_[row] == 0;
      if (in_row_[row] >= options_.most_per_row || (opens && rows_ >= options_.most_rows)) return;
      rows_ += opens ? 1 : 0;
      ++in_row_[row];
    } else if (symbol.length > 2) {
      const uint32_t slot = slot_of(symbol.value);
      if (long_ >= options_.most_long || taken_[slot]) return;
      taken_[slot] = true;
      ++long_;
    }
    table_.symbols.push_back(symbol);
  }
  SymbolTable take() {
    std::stable_sort(table_.symbols.begin(), table_.symbols.end(),
                     [](const Symbol& a, const Symbol& b) { return a.length > b.length; });
    return std::move(table_);
  }

 private:
  const TrainOptions& options_;
  SymbolTable table_;
  std::bitset<kSlots> taken_;
  std::array<uint32_t, 256> in_row_{};
  uint32_t rows_ = 0;
  uint32_t long_ = 0;
};

SymbolTable build(const SymbolTable& table, const Counts& counts, bool with_pairs, const TrainOptions& options) {
  const size_t pairs = with_pairs ? counts.seen.size() : 0;
  Candidates candidates(kUnits + pairs);
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    if (counts.units[unit] == 0) continue;
    const Symbol symbol = unit_symbol(table, unit);
    const uint64_t gain = uint64_t{counts.units[unit]} * symbol.length;
    candidates.add(symbol, symbol.length == 1 ? gain * options.single_boost : gain);
  }
  for (size_t i = 0; i < pairs; ++i) {
    const uint32_t times = counts.pairs[counts.seen[i]];
    const Symbol first = unit_symbol(table, counts.seen[i] / kUnits);
    if (times < options.least_count || first.length >= kMaxSymbolBytes) continue;
    const Symbol symbol = joined(first, unit_symbol(table, counts.seen[i] % kUnits));
    candidates.add(symbol, uint64_t{times} * symbol.length);
  }
  std::vector<Candidate>& heap = candidates.list();
  const auto worse = [](const Candidate& a, const Candidate& b) { return is_better(b, a); };
  std::make_heap(heap.begin(), heap.end(), worse);
  Builder builder(options);
  while (!heap.empty() && !builder.is_full()) {
    std::pop_heap(heap.begin(), heap.end(), worse);
    builder.offer(heap.back().symbol);
    heap.pop_back();
  }
  return builder.take();
}

}  // namespace

SymbolTable train(std::span<const std::string_view> sample, const TrainOptions& options) {
  // Limits on which symbols a table may hold are for the last table only: between rounds they would keep candidates
  // from growing.
  TrainOptions between = options;
  between.most_long = kMaxSymbols;
  between.most_rows = between.most_per_row = 256;
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
