// Distinct values of an array in ascending order, with the rank of every row: what `dict` stores and what estimates of
// it count.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "basalt/codec/codec.h"
#include "core/dispatch.h"

namespace basalt {

// Open addressing from a value to the number it was given at first sight.
template <typename Key, typename Hash>
class NumberTable {
 public:
  explicit NumberTable(Hash hash) : hash_(hash), slots_(1024, kEmpty) {}

  uint32_t number_of(const Key& key) {
    size_t at = hash_(key) & (slots_.size() - 1);
    while (slots_[at] != kEmpty) {
      if (keys_[slots_[at]] == key) return slots_[at];
      at = (at + 1) & (slots_.size() - 1);
    }
    const auto number = static_cast<uint32_t>(keys_.size());
    slots_[at] = number;
    keys_.push_back(key);
    if (keys_.size() * 2 > slots_.size()) grow();
    return number;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  static constexpr uint32_t kEmpty = ~0u;
  void grow() {
    slots_.assign(slots_.size() * 4, kEmpty);
    for (uint32_t number = 0; number < keys_.size(); ++number) {
      size_t at = hash_(keys_[number]) & (slots_.size() - 1);
      while (slots_[at] != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = number;
    }
  }
  Hash hash_;
  std::vector<uint32_t> slots_;
  std::vector<Key> keys_;
};

struct HashBits {
  template <typename T>
  size_t operator()(T value) const {
    uint64_t bits;
    if constexpr (sizeof(T) == 16) {
      bits = static_cast<uint64_t>(value) ^ static_cast<uint64_t>(value >> 64) * 0x9E3779B97F4A7C15ull;
    } else {
      bits = static_cast<uint64_t>(value);
    }
    bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
    return static_cast<size_t>(bits ^ (bits >> 32));
  }
};
struct HashText {
  size_t operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }
};

// Order-preserving unsigned image of a value's bits.
template <typename T>
auto order_key(T bits, Physical type) {
  constexpr T kTop = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  if (is_float(type)) return static_cast<T>(bits & kTop ? ~bits : bits | kTop);
  return static_cast<T>(is_signed(type) ? bits ^ kTop : bits);
}

template <typename Key>
struct Distinct {
  std::vector<Key> entries;     // ascending
  std::vector<uint32_t> codes;  // rank of each row's value
};

// Renumbers first-sight numbers into ranks under `less`.
template <typename Key, typename Less>
Distinct<Key> rank(const std::vector<Key>& keys, std::vector<uint32_t> numbers, Less less) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return less(keys[a], keys[b]); });
  Distinct<Key> out;
  std::vector<uint32_t> rank_of(keys.size());
  out.entries.reserve(keys.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank_of[order[i]] = i;
    out.entries.push_back(keys[order[i]]);
  }
  for (uint32_t& number : numbers) number = rank_of[number];
  out.codes = std::move(numbers);
  return out;
}

// T: the unsigned type of the values' width.
template <typename T>
Distinct<T> distinct_fixed(const Values& values) {
  NumberTable<T, HashBits> table{HashBits{}};
  std::vector<uint32_t> numbers(values.count);
  const T* from = values.as<T>();
  for (uint64_t i = 0; i < values.count; ++i) {
    numbers[i] = i > 0 && from[i] == from[i - 1] ? numbers[i - 1] : table.number_of(from[i]);
  }
  return rank(table.keys(), std::move(numbers),
              [&](T a, T b) { return order_key(a, values.type) < order_key(b, values.type); });
}

inline Distinct<std::string_view> distinct_strings(const Values& values) {
  NumberTable<std::string_view, HashText> table{HashText{}};
  std::vector<uint32_t> numbers(values.count);
  for (uint64_t i = 0; i < values.count; ++i) numbers[i] = table.number_of(values.string(i));
  return rank(table.keys(), std::move(numbers), std::less<std::string_view>());
}

}  // namespace basalt
