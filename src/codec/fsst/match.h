// Finding symbols in text, and cutting text into them: greedily or with fewest bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>

#include "codec/fsst/symbols.h"
#include "core/choose_if.h"
#include "core/text_words.h"

namespace basalt::fsst {

// What a parse takes at a place.
struct Step {
  uint64_t bits = 0;  // code, length of the text << 8, bytes of the code << 12; fewer than 16 in use

  constexpr uint32_t code() const { return static_cast<uint32_t>(bits) & 0xFF; }
  constexpr uint32_t length() const { return static_cast<uint32_t>(bits) >> 8 & 0xF; }
  constexpr uint32_t code_bytes() const { return static_cast<uint32_t>(bits) >> 12; }
};
// An escape has its byte behind it.
constexpr Step step_of(uint32_t code, uint32_t length) {
  return {code | length << 8 | (code == kEscape ? 2u : 1u) << 12};
}

class Matcher {
 public:
  explicit Matcher(const SymbolTable& table);

  // Codes of a piece of text; `out` has room for 2 · length + 8 bytes. Returns the end.
  uint8_t* encode_greedy(const char* text, size_t length, uint8_t* out) const;
  uint8_t* encode_optimal(const char* text, size_t length, uint8_t* out) const;
  // One of many texts that follow each other in memory.
  struct Part {
    const char* end;          // of the text
    uint64_t code_bytes = 0;  // while it is encoded: the address behind its codes
  };
  // Greedily, the texts from `text` on, none of them empty: appends all codes, and says how many bytes of them each
  // text has. `readable` is the end of the memory that the texts lie in.
  void encode_all(const char* text, std::span<Part> parts, const char* readable, Buffer& out) const;
  uint8_t* encode(Parse parse, const char* text, size_t length, uint8_t* out) const {
    return parse == Parse::kOptimal ? encode_optimal(text, length, out) : encode_greedy(text, length, out);
  }

 private:
  struct Lane;
  struct alignas(32) Entry {
    uint64_t mask = 0;
    uint64_t value = 1;  // fits no text
    Step step = step_of(kEscape, 1);
    bool fits(uint64_t word) const { return (word & mask) == value; }
  };

  // The first eight bytes of a text, of which `left` are its own: bytes behind it are such that no symbol ends in them.
  uint64_t cut(uint64_t word, size_t left) const {
    const size_t kept = std::min<size_t>(left, kMaxSymbolBytes);
    return (word & text_bytes_[kept]) | bytes_behind_[kept];
  }
  // The only symbol of three and more bytes that a text may begin with.
  const Entry& entry_at(uint64_t word) const { return entries_[slots_[slot_of(word)]]; }
  // What greedy parses take at the beginning of a text. No branch depends on it: which symbols fit is hard to foresee.
  Step step_at(uint64_t word, const Entry& longer) const {
    const uint64_t shorter = shorter_[word & 0xFFFF];
    return {choose_if_equal(word & longer.mask, longer.value, longer.step.bits, shorter)};
  }
  Step step_at(uint64_t word) const { return step_at(word, entry_at(word)); }

  std::array<Entry, 256> entries_;     // by code
  std::array<uint8_t, kSlots> slots_;  // codes of symbols of three and more bytes, kEscape where there is none
  // By how many bytes are left.
  std::array<uint64_t, kMaxSymbolBytes + 1> text_bytes_;
  std::array<uint64_t, kMaxSymbolBytes + 1> bytes_behind_;
  // Steps by two bytes, those without a symbol of two having that of the first; and by one byte.
  std::array<uint16_t, 65536> shorter_;
  std::array<uint16_t, 256> singles_;
};

}  // namespace basalt::fsst
