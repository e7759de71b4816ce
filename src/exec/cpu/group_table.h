// Numbers for rows of key words in the order in which they are first met.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "codec/dict/distinct.h"

namespace basalt::exec {

class GroupTable {
 public:
  // `bits`: of the only word, where there is one.
  GroupTable(uint32_t words, uint32_t bits) : words_(words) {
    if (is_direct(words, bits)) direct_.assign(size_t{1} << bits, 0);
  }
  // Whether keys are places in a list, without hashing.
  static bool is_direct(uint32_t words, uint32_t bits) { return words == 1 && bits <= kDirectBits; }

  uint32_t words() const { return words_; }
  uint32_t size() const { return size_; }
  const uint64_t* key(uint32_t number) const { return keys_.data() + size_t{number} * words_; }

  // The number of a row; `row` has words() words.
  uint32_t number_of(const uint64_t* row) {
    switch (words_) {
      case 0: return size_ == 0 ? add(row) : 0;
      case 1: return of_word(row[0], row);
      case 2: return known(pairs_.number_of(pair_of(row), always), row);
      default: return known(rows_.number_of(hash_of(row), [&](uint32_t n) { return same(n, row); }), row);
    }
  }

  // The number that a row was given, if it was.
  std::optional<uint32_t> find(const uint64_t* row) const {
    switch (words_) {
      case 0: return size_ == 0 ? std::nullopt : std::optional<uint32_t>(0);
      case 1: {
        if (direct_.empty()) return singles_.find({row[0]}, always);
        const uint32_t place = direct_[row[0] & (direct_.size() - 1)];
        return place == 0 ? std::nullopt : std::optional<uint32_t>(place - 1);
      }
      case 2: return pairs_.find(pair_of(row), always);
      default: return rows_.find(hash_of(row), [&](uint32_t n) { return same(n, row); });
    }
  }

 private:
  static constexpr uint32_t kDirectBits = 14;  // a table of 64 KiB

  static bool always(uint32_t) { return true; }
  static ValueKey<uint128_t> pair_of(const uint64_t* row) { return {static_cast<uint128_t>(row[1]) << 64 | row[0]}; }
  ValueKey<uint64_t> hash_of(const uint64_t* row) const { return {XXH3_64bits(row, words_ * sizeof(uint64_t))}; }

  uint32_t of_word(uint64_t word, const uint64_t* row) {
    if (direct_.empty()) return known(singles_.number_of({word}, always), row);
    // Statistics that lie must not lead out of the table.
    uint32_t& place = direct_[word & (direct_.size() - 1)];
    if (place == 0) place = add(row) + 1;
    return place - 1;
  }
  uint32_t known(uint32_t number, const uint64_t* row) { return number < size_ ? number : add(row); }
  uint32_t add(const uint64_t* row) {
    keys_.insert(keys_.end(), row, row + words_);
    return size_++;
  }
  bool same(uint32_t number, const uint64_t* row) const {
    return std::memcmp(key(number), row, words_ * sizeof(uint64_t)) == 0;
  }

  uint32_t words_;
  uint32_t size_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> direct_;  // number + 1; 0: not met yet
  NumberTable<ValueKey<uint64_t>> singles_;
  NumberTable<ValueKey<uint128_t>> pairs_;
  NumberTable<ValueKey<uint64_t>> rows_;  // by hash
};

}  // namespace basalt::exec
