// The trainer's loops on the CPU.
#include "codec/fsst/train.h"

#include <algorithm>

namespace basalt::fsst {

namespace {

// The sample's texts one behind the other, as Matcher encodes many at once.
struct SampleText {
  std::string text;
  std::vector<Matcher::Part> parts;

  explicit SampleText(std::span<const std::string_view> sample) {
    size_t bytes = 0;
    for (const std::string_view one : sample) bytes += one.size();
    text.reserve(bytes);  // parts point into it
    for (const std::string_view one : sample) {
      if (one.empty()) continue;
      text += one;
      parts.push_back({text.data() + text.size()});
    }
  }

  // Codes of all texts, and how many bytes each has.
  void encode(const Matcher& matcher, Parse parse, Buffer& codes) {
    codes.clear();
    if (parse == Parse::kGreedy) {
      matcher.encode_all(text.data(), parts, text.data() + text.size(), codes);
      return;
    }
    codes.resize(2 * text.size() + 8);
    const char* at = text.data();
    auto* out = codes.as<uint8_t>();
    for (Matcher::Part& part : parts) {
      const uint8_t* const begin = out;
      out = matcher.encode_optimal(at, static_cast<size_t>(part.end - at), out);
      part.code_bytes = static_cast<uint64_t>(out - begin);
      at = part.end;
    }
    codes.resize(static_cast<size_t>(out - codes.as<uint8_t>()));
  }
};

using UnitCounts = std::array<uint32_t, kUnits>;

// How often pairs of neighbours occur. Few of all pairs do, so those that do are listed.
class PairCounts {
 public:
  // For pairs of a text of so many bytes, and as many that stand for their first bytes.
  explicit PairCounts(size_t bytes) : seen_(std::make_unique_for_overwrite<uint32_t[]>(2 * bytes + 1)) {}

  void clear() {
    for (const uint32_t pair : seen()) counts_[pair] = 0;
    seen_count_ = 0;
  }
  // `times` is not 0. Listed without a branch: whether a pair is new is hard to foresee.
  void add(uint32_t pair, uint32_t times) {
    seen_[seen_count_] = pair;
    seen_count_ += static_cast<size_t>(counts_[pair] == 0);
    counts_[pair] += times;
  }
  std::span<const uint32_t> seen() const { return {seen_.get(), seen_count_}; }
  uint32_t operator[](uint32_t pair) const { return counts_[pair]; }

 private:
  std::vector<uint32_t> counts_ = std::vector<uint32_t>(kUnits * kUnits);
  std::unique_ptr<uint32_t[]> seen_;
  size_t seen_count_ = 0;
};

Symbol unit_symbol(const SymbolTable& table, uint32_t unit) {
  return unit >= kByteUnits ? Symbol{unit - kByteUnits, 1} : table.symbols[unit];
}

// Candidates by string; what several counts say of one string adds up.
class Candidates {
 public:
  explicit Candidates(size_t most) : places_(std::bit_ceil(2 * most + 2)) { list_.reserve(most); }

  void add(const Symbol& symbol, uint32_t gain) {
    const uint32_t hash = symbol_hash(symbol);
    const uint32_t tag = hash & ~kIndex;
    for (size_t at = hash;; ++at) {
      uint32_t& place = places_[at & (places_.size() - 1)];
      if (place == 0) {
        list_.push_back({symbol, gain});
        place = tag | static_cast<uint32_t>(list_.size());
        return;
      }
      if ((place & ~kIndex) != tag) continue;
      Candidate& one = list_[(place & kIndex) - 1];
      if (one.symbol.value == symbol.value && one.symbol.length == symbol.length) {
        one.gain += gain;
        return;
      }
    }
  }

  // Keys of those with a gain in [least, end).
  std::vector<CandidateKey> keys(uint32_t least, uint32_t end) const {
    std::vector<CandidateKey> out;
    for (const Candidate& one : list_) {
      if (one.gain >= least && one.gain < end) out.push_back(key_of(one.symbol, one.gain));
    }
    return out;
  }

 private:
  static constexpr uint32_t kIndex = (1 << 20) - 1;
  static_assert(kUnits * kUnits + kUnits < kIndex);
  struct Candidate {
    Symbol symbol;
    uint32_t gain;
  };
  std::vector<Candidate> list_;
  std::vector<uint32_t> places_;  // index + 1 and some bits of the hash, 0: free
};

// What units and pairs add to the gains of strings, and sums of that by a hash of the string: no string has more than
// its sum. So the few strings with large gains are found without adding up those of all others.
class Shares {
 public:
  void clear() {
    list_.clear();
    sums_.fill(0);
  }
  void add(const Symbol& symbol, uint32_t gain) {
    const uint32_t place = symbol_hash(symbol) >> (32 - kPlaceBits);  // Candidates goes by the lower bits
    list_.push_back({symbol, gain, place});
    sums_[place] += gain;
  }
  // A sum that at least `count` places reach, if there are as many: not much smaller than need be.
  uint32_t bound_of(size_t count) const {
    std::array<uint32_t, 1024> with_sum{};
    for (const uint32_t sum : sums_) ++with_sum[std::min<size_t>(sum, with_sum.size() - 1)];
    size_t sum = with_sum.size();
    for (size_t found = 0; sum > 0 && found < count;) found += with_sum[--sum];
    return static_cast<uint32_t>(sum);
  }
  // All strings with at least this gain, and some others.
  Candidates candidates(uint32_t least) const {
    const auto reaches = [&](const Share& one) { return sums_[one.place] >= least; };
    Candidates out(static_cast<size_t>(std::count_if(list_.begin(), list_.end(), reaches)));
    for (const Share& one : list_) {
      if (reaches(one)) out.add(one.symbol, one.gain);
    }
    return out;
  }

 private:
  static constexpr uint32_t kPlaceBits = 13;
  struct Share {
    Symbol symbol;
    uint32_t gain;
    uint32_t place;
  };
  std::vector<Share> list_;
  std::array<uint32_t, 1 << kPlaceBits> sums_{};
};

class Trainer {
 public:
  Trainer(std::span<const std::string_view> sample, const TrainOptions& options)
      : sample_(sample), options_(options), pairs_(sample_.text.size()) {}

  SymbolTable run() {
    SymbolTable best;
    UnitCounts best_units{};
    uint64_t best_bytes = ~uint64_t{0};
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      const bool is_last = round + 1 == options_.rounds;
      const uint64_t bytes = count(!is_last);
      SymbolTable next;
      if (!is_last) next = build(between_rounds(options_));
      if (bytes <= best_bytes) {
        best = std::move(table_);
        best_units = units_;
        best_bytes = bytes;
      }
      table_ = std::move(next);
    }
    table_ = std::move(best);
    units_ = best_units;
    pairs_.clear();
    return build(options_);
  }

 private:
  // Parses the sample with the table; returns code bytes.
  uint64_t count(bool with_pairs) {
    units_.fill(0);
    pairs_.clear();
    if (table_.symbols.empty()) {  // escapes only
      const char* at = sample_.text.data();
      for (const Matcher::Part& part : sample_.parts) {
        count_text(at, part.end, with_pairs, [&] { return kByteUnits + static_cast<uint8_t>(*at++); });
      }
      return 2 * sample_.text.size();
    }
    sample_.encode(*std::make_unique<Matcher>(table_), options_.parse, codes_);
    const auto* at = codes_.as<uint8_t>();
    for (const Matcher::Part& part : sample_.parts) {
      count_text(at, at + part.code_bytes, with_pairs, [&] {
        const uint32_t code = *at++;
        return code == kEscape ? kByteUnits + *at++ : code;
      });
    }
    add_first_bytes();
    return codes_.size();
  }
  // Of a text between `at` and `end`; next_unit() moves `at`.
  template <typename At, typename Next>
  void count_text(const At& at, At end, bool with_pairs, Next next_unit) {
    uint32_t before = next_unit();
    ++units_[before];
    while (at != end) {
      const uint32_t unit = next_unit();
      ++units_[unit];
      if (with_pairs) pairs_.add(before * kUnits + unit, 1);
      before = unit;
    }
  }
  void add_first_bytes() {
    for (uint32_t code = 0; code < table_.symbols.size(); ++code) {
      const Symbol& symbol = table_.symbols[code];
      if (symbol.length > 1) units_[first_byte_unit(symbol)] += units_[code];
    }
    // Those that are added lie behind.
    for (const uint32_t pair : pairs_.seen()) {
      const Symbol second = unit_symbol(table_, pair % kUnits);
      if (second.length > 1) pairs_.add(pair / kUnits * kUnits + first_byte_unit(second), pairs_[pair]);
    }
  }

  SymbolTable build(const TrainOptions& options);

  SampleText sample_;
  const TrainOptions options_;
  SymbolTable table_;
  UnitCounts units_{};
  PairCounts pairs_;
  Shares shares_;
  Buffer codes_;
};

SymbolTable Trainer::build(const TrainOptions& options) {
  shares_.clear();
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    if (units_[unit] == 0) continue;
    const Symbol symbol = unit_symbol(table_, unit);
    shares_.add(symbol, unit_gain(symbol, units_[unit], options));
  }
  for (const uint32_t pair : pairs_.seen()) {
    const Symbol first = unit_symbol(table_, pair / kUnits);
    if (first.length >= kMaxSymbolBytes) continue;
    const Symbol symbol = joined(first, unit_symbol(table_, pair % kUnits));
    shares_.add(symbol, pair_gain(symbol, pairs_[pair]));
  }
  SymbolTable out;
  Admission admission;
  admission.clear();
  const auto offer = [&](std::vector<CandidateKey> keys) {
    constexpr ptrdiff_t kBatch = 512;  // few of many are taken: no need to sort all
    for (auto at = keys.begin(); at != keys.end() && !admission.is_full();) {
      const auto end = at + std::min(kBatch, keys.end() - at);
      if (end != keys.end()) std::nth_element(at, end, keys.end());
      std::sort(at, end);
      for (; at != end && !admission.is_full(); ++at) {
        const Symbol symbol = symbol_of(*at);
        if (admission.admits(symbol, options)) out.symbols.push_back(symbol);
      }
    }
  };
  const uint32_t bound = shares_.bound_of(3 * kMaxSymbols);
  offer(shares_.candidates(bound).keys(bound, ~0u));
  if (!admission.is_full() && bound > 1) offer(shares_.candidates(0).keys(1, bound));
  std::stable_sort(out.symbols.begin(), out.symbols.end(),
                   [](const Symbol& a, const Symbol& b) { return a.length > b.length; });
  return out;
}

}  // namespace

SymbolTable train(std::span<const std::string_view> sample, const TrainOptions& options) {
  return Trainer(sample, options).run();
}

}  // namespace basalt::fsst
