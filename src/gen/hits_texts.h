// Texts of `gen hits`: addresses, titles, search phrases and short words, each a function of a number. They are written
// straight into a column's bytes: a string per value would take most of the time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/column.h"
#include "gen/hits_rows.h"

namespace basalt::gen {

// Appends texts to a column, each written by `write(char* at)`, which gives the end and stays within kRoom bytes.
class TextAppender {
 public:
  static constexpr size_t kRoom = 2048;
  explicit TextAppender(Column& column) : column_(column), used_(column.bytes.size()) {}
  ~TextAppender() { column_.bytes.resize(used_); }
  TextAppender(const TextAppender&) = delete;
  TextAppender& operator=(const TextAppender&) = delete;

  template <typename Write>
  void add(Write write) {
    column_.bytes.resize(used_ + kRoom);
    char* at = column_.bytes.as<char>() + used_;
    used_ += static_cast<size_t>(write(at) - at);
    column_.offsets.push(static_cast<int64_t>(used_));
  }
  void add_empty() { column_.offsets.push(static_cast<int64_t>(used_)); }

 private:
  Column& column_;
  size_t used_;
};

class HitTexts {
 public:
  explicit HitTexts(const HitWorld& world);

  // See page_key; not of the empty text.
  char* address(char* at, uint64_t key) const;
  char* referer(char* at, uint64_t key) const;
  char* title(char* at, uint64_t key) const;
  char* phrase(char* at, uint64_t number) const;
  // One or two Latin words, the same for the same number.
  char* words(char* at, uint64_t number) const;

 private:
  static constexpr size_t kWords = 2048;
  // Copied whole, whatever its length: that is one or two instructions.
  template <size_t N>
  struct Word {
    std::array<char, N> text;
    uint8_t length;
    char* put(char* at) const;
  };
  struct Vocabulary {
    std::array<Word<24>, kWords> plain;
    std::array<Word<72>, kWords> encoded;  // as addresses hold it: %D0%B0
  };
  template <typename Put>
  char* phrase_words(char* at, uint64_t number, Put put) const;
  Vocabulary make_vocabulary(const Stream& random, bool latin) const;

  Stream details_;
  std::vector<Vocabulary> vocabularies_;  // Latin, Cyrillic
  std::vector<std::string> hosts_;
};

// The texts of columns that hold one of few: charsets, languages, countries, currencies, colours.
std::string_view charset_name(uint64_t number);
std::string_view language_code(uint64_t number);
std::string_view currency_code(uint64_t number);
std::string_view color_code(uint64_t number);

}  // namespace basalt::gen
