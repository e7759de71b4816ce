// FSST by its rules, written for clarity: a sample of 16 KiB, five rounds over growing parts of it, a hash of 1024
// slots for symbols of three and more bytes, a terminator that no symbol contains behind its first byte.
#include "bench/columns/fsst_size.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace basalt::bench {

namespace {

constexpr size_t kSampleBytes = 16384;
constexpr size_t kPieceBytes = 512;
constexpr size_t kMostSymbols = 255;
constexpr size_t kMostBytes = 8;
constexpr uint64_t kSingleBoost = 8;
constexpr uint32_t kWhole = 128;  // parts of the sample are counted in 128ths

uint64_t scatter(uint64_t value) {
  const uint64_t mixed = value * 2971215073u;
  return mixed ^ mixed >> 15;
}

// Symbols in the order of their insertion, and how they are found.
class Table {
 public:
  // False if there is no room for it.
  bool add(const std::string& symbol) {
    if (symbols_.size() == kMostSymbols) return false;
    const auto code = static_cast<int>(symbols_.size());
    if (symbol.size() == 1) {
      singles_[byte(symbol[0])] = code;
    } else if (symbol.size() == 2) {
      pairs_[byte(symbol[0]) | byte(symbol[1]) << 8] = code;
    } else {
      int& slot = slots_[slot_of(symbol)];
      if (slot >= 0) return false;
      slot = code;
    }
    symbols_.push_back(symbol);
    return true;
  }
  // The code of the symbol that `text` begins with; -1: an escape.
  int find(std::string_view text) const {
    if (text.size() >= 3) {
      const int code = slots_[slot_of(text)];
      if (code >= 0 && text.starts_with(symbols_[static_cast<size_t>(code)])) return code;
    }
    if (text.size() >= 2) {
      const int code = pairs_[byte(text[0]) | byte(text[1]) << 8];
      if (code >= 0) return code;
    }
    return singles_[byte(text[0])];
  }
  const std::string& symbol(int code) const { return symbols_[static_cast<size_t>(code)]; }

 private:
  static size_t byte(char c) { return static_cast<uint8_t>(c); }
  static size_t slot_of(std::string_view text) {
    return scatter(byte(text[0]) | byte(text[1]) << 8 | byte(text[2]) << 16) % 1024;
  }
  static std::vector<int> none(size_t count) { return std::vector<int>(count, -1); }

  std::vector<std::string> symbols_;
  std::vector<int> singles_ = none(256);
  std::vector<int> pairs_ = none(65536);
  std::vector<int> slots_ = none(1024);
};

struct Counts {
  std::map<std::string, uint64_t> units;
  std::map<std::pair<std::string, std::string>, uint64_t> pairs;
  int64_t gain = 0;
};

std::vector<std::string> sample_of(std::span<const std::string_view> strings) {
  size_t total = 0;
  for (const std::string_view text : strings) total += text.size();
  if (total < kSampleBytes) return {strings.begin(), strings.end()};
  std::vector<std::string> sample;
  uint64_t random = scatter(4637947);
  for (size_t taken = 0; taken < kSampleBytes;) {
    random = scatter(random);
    size_t row = random % strings.size();
    while (strings[row].empty()) row = (row + 1) % strings.size();
    const size_t pieces = 1 + (strings[row].size() - 1) / kPieceBytes;
    random = scatter(random);
    sample.emplace_back(strings[row].substr(kPieceBytes * (random % pieces), kPieceBytes));
    taken += sample.back().size();
  }
  return sample;
}

Counts count(const Table& table, const std::vector<std::string>& sample, uint32_t part) {
  Counts counts;
  for (size_t i = 0; i < sample.size(); ++i) {
    if (part < kWhole && scatter(i + 1) % kWhole > part) continue;
    std::optional<std::string> before;
    for (std::string_view left = sample[i]; !left.empty();) {
      const int code = table.find(left);
      const std::string unit = code < 0 ? std::string(1, left[0]) : table.symbol(code);
      const std::string first(1, unit[0]);
      counts.gain += static_cast<int64_t>(unit.size()) - 1 - (code < 0 ? 1 : 0);
      ++counts.units[unit];
      if (unit.size() > 1) ++counts.units[first];
      if (before && part < kWhole) {
        ++counts.pairs[{*before, unit}];
        if (unit.size() > 1) ++counts.pairs[{*before, first}];
      }
      before = unit;
      left.remove_prefix(unit.size());
    }
  }
  return counts;
}

Table build(const Counts& counts, uint32_t part, char terminator) {
  std::map<std::string, uint64_t> gains;
  const auto add = [&](const std::string& symbol, uint64_t times) {
    if (times < 5 * part / kWhole || symbol.find(terminator, 1) != std::string::npos) return;
    gains[symbol] += times * symbol.size() * (symbol.size() == 1 ? kSingleBoost : 1);
  };
  for (const auto& [symbol, times] : counts.units) add(symbol, times);
  for (const auto& [pair, times] : counts.pairs) {
    if (pair.first.size() == kMostBytes || pair.first[0] == terminator) continue;
    add((pair.first + pair.second).substr(0, kMostBytes), times);
  }
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [symbol, gain] : gains) order.emplace_back(gain, symbol);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Table table;
  table.add(std::string(1, terminator));
  for (const auto& [gain, symbol] : order) {
    if (symbol != std::string(1, terminator)) table.add(symbol);
  }
  return table;
}

char rarest_byte(const std::vector<std::string>& sample) {
  std::array<uint64_t, 256> counts{};
  for (const std::string& text : sample) {
    for (const char c : text) ++counts[static_cast<uint8_t>(c)];
  }
  return static_cast<char>(std::min_element(counts.begin(), counts.end()) - counts.begin());
}

Table train(const std::vector<std::string>& sample) {
  const char terminator = rarest_byte(sample);
  Table table;
  Counts best;
  best.gain = INT64_MIN;
  for (const uint32_t part : {8u, 38u, 68u, 98u, kWhole}) {
    Counts counts = count(table, sample, part);
    if (part < kWhole) table = build(counts, part, terminator);
    if (counts.gain >= best.gain) best = std::move(counts);
  }
  best.pairs.clear();
  return build(best, kWhole, terminator);
}

}  // namespace

uint64_t fsst_code_bytes(std::span<const std::string_view> strings) {
  const Table table = train(sample_of(strings));
  uint64_t bytes = 0;
  for (std::string_view left : strings) {
    while (!left.empty()) {
      const int code = table.find(left);
      bytes += code < 0 ? 2 : 1;
      left.remove_prefix(code < 0 ? 1 : table.symbol(code).size());
    }
  }
  return bytes;
}

}  // namespace basalt::bench
