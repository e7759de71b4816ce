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

  // A step of a parse: code | length << 8 | 1 << 12 of an escape, which takes one byte and kEscape for code.
  using Step = uint32_t;
  static constexpr uint32_t length_of(Step step) { return step >> 8 & 15; }
  static constexpr uint32_t code_bytes_of(Step step) { return 1 + (step >> 12); }

  // What greedy parses take at the beginning of `word`, which holds `left` bytes of text, eight if there are more. No
  // branch depends on the text: which symbols fit is hard to foresee.
  Step step_at(uint64_t word, size_t left) const {
    const Slot& slot = slots_[slot_of(word)];
    const Step shorter = left >= 2 ? pairs_[word & 0xFFFF] : singles_[word & 0xFF];
    const bool fits = static_cast<unsigned>(slot.fits(word)) & static_cast<unsigned>(slot.length() <= left);
    const Step take_long = 0u - static_cast<uint32_t>(fits);
    return (slot.step & take_long) | (shorter & ~take_long);
  }

  // Codes of a piece of text; `out` has room for 2 · length + 8 bytes. Returns the end.
  uint8_t* encode_greedy(const char* text, size_t length, uint8_t* out) const;
  uint8_t* encode_optimal(const char* text, size_t length, uint8_t* out) const;
  // Greedily, many texts: appends all codes, and writes how many bytes of them each text has. `readable` is the end of
  // the memory that the texts lie in.
  void encode_all(std::span<const std::string_view> texts, const char* readable, Buffer& out,
                  uint32_t* code_bytes) const;
  uint8_t* encode(Parse parse, const char* text, size_t length, uint8_t* out) const {
    return parse == Parse::kOptimal ? encode_optimal(text, length, out) : encode_greedy(text, length, out);
  }

 private:
  struct Lane;
  bool advance(Lane& lane, const char* readable) const;

  struct Slot {
    uint64_t value = 2;
    uint32_t ignored_bits = 63;  // a free slot fits no text: the lowest bit alone is never 2
    Step step = 0;
    bool fits(uint64_t word) const { return (word & ~uint64_t{0} >> ignored_bits) == value; }
    uint32_t length() const { return length_of(step); }
  };
  static constexpr uint16_t kNone = kEscape | 1 << 8 | 1 << 12;

  std::array<Slot, kSlots> slots_;
  std::array<uint16_t, 65536> pairs_;
  std::array<uint16_t, 256> singles_;
};

}  // namespace basalt::fsst
