// How the keys of groups become a few words of 64 bits that are equal where the keys are equal as SQL sees it: NULL
// equals NULL, NaN equals NaN, −0.0 equals 0.0. Ranges that statistics prove make integers short, so that most keys fit
// one word. Both backends group by these words.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/bounds.h"

namespace basalt::exec {

enum class KeyKind : uint8_t {
  kInteger,  // value − base
  kFloat,    // float_key()
  kText,     // the number that a pool of texts gave it
};

struct KeyPart {
  KeyKind kind = KeyKind::kInteger;
  Physical type = Physical::kI64;
  int128_t base = 0;
  uint32_t bits = 64;      // of the code
  uint64_t codes = 0;      // how many there are; 0: 2^63 or more
  bool null_code = false;  // code 0 is NULL, and values are one higher
  bool two_words = false;  // the code has 128 bits: the low half in `word`, the high one behind it
  uint32_t word = 0;
  uint32_t shift = 0;
  // Where there is no code left for NULL: a bit of its own.
  bool null_flag = false;
  uint32_t null_word = 0;
  uint32_t null_shift = 0;

  // The code in a row of words, and whether it stands for NULL.
  uint64_t code(const uint64_t* words) const { return words[word] >> shift & mask(); }
  uint64_t upper_code(const uint64_t* words) const { return two_words ? words[word + 1] : 0; }
  bool is_null(const uint64_t* words) const {
    return null_flag ? (words[null_word] >> null_shift & 1) != 0 : null_code && code(words) == 0;
  }
  uint64_t mask() const { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
};

constexpr uint32_t kTextBits = 32;

class KeyLayout {
 public:
  // Adds a key; its statistics are those of all rows. Without `nulls` there is no code for NULL.
  void add(const Expr& key, const StatisticsList& stats, bool nulls = true);
  // Adds an integer of so many bits, which is never NULL.
  void add_number(uint32_t bits);

  const std::vector<KeyPart>& parts() const { return parts_; }
  uint32_t words() const { return static_cast<uint32_t>(used_.size()); }
  // How many combinations of codes there are, if that is at most `most`.
  std::optional<uint64_t> combinations(uint64_t most) const;
  // Of the only word; 64 where there are more.
  uint32_t bits() const { return used_.size() == 1 ? used_[0] : used_.empty() ? 0 : 64; }

 private:
  void place(uint32_t bits, uint32_t& word, uint32_t& shift);

  std::vector<KeyPart> parts_;
  std::vector<uint32_t> used_;  // bits of each word
};

// The value behind a code, which is not that of NULL.
int128_t integer_of_code(const KeyPart& part, uint64_t low, uint64_t high);
double float_of_key(int64_t key, Physical type);

}  // namespace basalt::exec
