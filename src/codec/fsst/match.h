// Finding symbols in text, and cutting text into them: greedily or with fewest bytes.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <span>

#include "codec/fsst/symbols.h"
#include "core/text_words.h"

namespace basalt::fsst {

class Matcher {
 public:
  explicit Matcher(const SymbolTable& table);

  // What greedy parses take at the beginning of `word`, of which `left` bytes, one at least, are text; what is above
  // does not matter. No branch depends on the text: which symbols fit is hard to foresee.
  uint32_t code_at(uint64_t word, size_t left) const {
    const uint32_t longer = slots_[slot_of(word)];
    const uint32_t shorter = shorter_[left >= 2 ? word & 0xFFFF : kSingles + (word & 0xFF)];
    const Entry& entry = entries_[longer];
    const bool fits = static_cast<unsigned>(entry.fits(word)) & static_cast<unsigned>(entry.length <= left);
    const uint32_t take_longer = 0u - static_cast<uint32_t>(fits);
    return (longer & take_longer) | (shorter & ~take_longer);
  }
  // Of text, and of codes: an escape takes one byte, and two for itself.
  uint32_t length_of(uint32_t code) const { return entries_[code].length; }
  static constexpr uint32_t code_bytes_of(uint32_t code) { return code == kEscape ? 2 : 1; }

  // Codes of a piece of text; `out` has room for 2 · length + 8 bytes. Returns the end.
  uint8_t* encode_greedy(const char* text, size_t length, uint8_t* out) const;
  uint8_t* encode_optimal(const char* text, size_t length, uint8_t* out) const;
  // One of many texts that follow each other in memory.
  struct Part {
    const char* end;      // of the text
    uint8_t* code_end;    // while it is encoded
    uint32_t code_bytes;  // in the end
  };
  // Greedily, the texts from `text` on, none of them empty: appends all codes, and says how many bytes of them each
  // text has. `readable` is the end of the memory that the texts lie in.
  void encode_all(const char* text, std::span<Part> parts, const char* readable, Buffer& out) const;
  uint8_t* encode(Parse parse, const char* text, size_t length, uint8_t* out) const {
    return parse == Parse::kOptimal ? encode_optimal(text, length, out) : encode_greedy(text, length, out);
  }

 private:
  struct Lane;
  void advance(Lane& lane, uint64_t word) const;

  struct Entry {
    uint64_t value = 2;
    uint32_t ignored_bits = 63;  // fits no text: the lowest bit alone is never 2
    uint32_t length = 1;
    bool fits(uint64_t word) const { return (word & ~uint64_t{0} >> ignored_bits) == value; }
  };
  // Codes, kEscape where there is none. All tables together are about as large as the fastest cache.
  std::array<Entry, 256> entries_;     // by code
  std::array<uint8_t, kSlots> slots_;  // of symbols of three and more bytes
  static constexpr size_t kSingles = 65536;
  // By two bytes, those without a symbol of two having that of the first; then by one.
  std::array<uint8_t, kSingles + 256> shorter_;
};

}  // namespace basalt::fsst
