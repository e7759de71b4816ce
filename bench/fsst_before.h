#pragma once
// Finding symbols in text, and cutting text into them: greedily or with fewest bytes.

#include <bit>
#include <cstring>
#include <memory>
#include <span>

#include "codec/fsst/symbols.h"
#include "core/text_words.h"

namespace basalt::fsst::before {

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

}  // namespace basalt::fsst::before
// The loops that cut text into symbols.

#include <algorithm>

namespace basalt::fsst::before {

inline Matcher::Matcher(const SymbolTable& table) {
  uint8_t* const singles = shorter_.data() + kSingles;
  std::fill_n(singles, 256, static_cast<uint8_t>(kEscape));
  slots_.fill(static_cast<uint8_t>(kEscape));
  // By falling length, as codes are: of two symbols for one slot the first stays.
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    entries_[code] = {symbol.value, 64 - 8 * symbol.length, symbol.length};
    if (symbol.length == 1) singles[symbol.value] = static_cast<uint8_t>(code);
    if (symbol.length < 3) continue;
    uint8_t& slot = slots_[slot_of(symbol.value)];
    if (slot == kEscape) slot = static_cast<uint8_t>(code);
  }
  for (size_t i = 0; i < kSingles; i += 256) std::copy_n(singles, 256, &shorter_[i]);
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    if (symbol.length == 2) shorter_[symbol.value] = static_cast<uint8_t>(code);
  }
}

inline uint8_t* Matcher::encode_greedy(const char* text, size_t length, uint8_t* out) const {
  for (size_t left = length; left > 0;) {
    const uint64_t word = load_text(text, left);
    const uint32_t code = code_at(word, left);
    // The byte behind an escape is written in any case and kept only then.
    out[0] = static_cast<uint8_t>(code);
    out[1] = static_cast<uint8_t>(word);
    out += code_bytes_of(code);
    text += length_of(code);
    left -= length_of(code);
  }
  return out;
}

inline uint8_t* Matcher::encode_optimal(const char* text, size_t length, uint8_t* out) const {
  // From the end: the fewest code bytes of what is left, and the first code there.
  struct Best {
    uint16_t bytes;
    uint16_t code;
  };
  std::array<Best, kPieceBytes + 1> best;
  best[length] = {0, 0};
  uint64_t word = 0;
  for (size_t i = length; i-- > 0;) {
    const size_t left = length - i;
    word = word << 8 | static_cast<uint8_t>(text[i]);
    const auto through = [&](uint32_t code) {
      return Best{static_cast<uint16_t>(best[i + length_of(code)].bytes + code_bytes_of(code)),
                  static_cast<uint16_t>(code)};
    };
    const auto fewer = [](Best a, Best b) { return b.bytes < a.bytes ? b : a; };
    const uint32_t single = shorter_[kSingles + (word & 0xFF)];
    const Best shorter = fewer(through(left >= 2 ? shorter_[word & 0xFFFF] : single), through(single));
    const uint32_t longer = slots_[slot_of(word)];
    const Entry& entry = entries_[longer];
    best[i] = entry.fits(word) && entry.length <= left ? fewer(through(longer), shorter) : shorter;
  }
  for (size_t i = 0; i < length;) {
    const uint32_t code = best[i].code;
    out[0] = static_cast<uint8_t>(code);
    out[1] = static_cast<uint8_t>(text[i]);
    out += code_bytes_of(code);
    i += length_of(code);
  }
  return out;
}

// Texts that are encoded one after the other while other lanes encode theirs: every step waits for the one before, so
// that one lane alone would leave most of a core idle. Where a text ends, nothing branches: the end of its codes is
// noted at every step, and the last note stays.
struct Matcher::Lane {
  const char* at;
  Part* part;
  uint8_t* out;
};

inline void Matcher::advance(Lane& lane, uint64_t word) const {
  const uint32_t code = code_at(word, static_cast<size_t>(lane.part->end - lane.at));
  lane.out[0] = static_cast<uint8_t>(code);
  lane.out[1] = static_cast<uint8_t>(word);
  lane.out += code_bytes_of(code);
  lane.at += length_of(code);
  lane.part->code_end = lane.out;
  lane.part += lane.at == lane.part->end ? 1 : 0;
}

inline void Matcher::encode_all(const char* text, std::span<Part> parts, const char* readable, Buffer& out) const {
  constexpr size_t kLanesOfCore = 4;
  constexpr size_t kRoom = 8;  // behind each lane's codes
  if (parts.empty()) return;
  const auto plain = static_cast<size_t>(parts.back().end - text);
  const size_t before = out.size();
  out.resize(before + 2 * plain + kLanesOfCore * kRoom);

  // Each lane has a share of the texts, and room for as many codes as they can have.
  std::array<Lane, kLanesOfCore> lanes;
  std::array<uint8_t*, kLanesOfCore> begins;
  std::array<const char*, kLanesOfCore> ends;
  Part* part = parts.data();
  Part* const last = part + parts.size();
  const char* at = text;
  uint8_t* room = out.as<uint8_t>() + before;
  for (size_t k = 0; k < kLanesOfCore; ++k) {
    lanes[k] = {at, part, room};
    begins[k] = room;
    const char* const until = text + plain * (k + 1) / kLanesOfCore;
    const char* const from = at;
    while (part != last && at < until) at = part++->end;
    ends[k] = at;
    room += 2 * static_cast<size_t>(at - from) + kRoom;
  }
  const auto load = [](const char* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof(word));
    return word;
  };
  Lane a = lanes[0];
  Lane b = lanes[1];
  Lane c = lanes[2];
  Lane d = lanes[3];
  // Steps that all lanes can take whatever they find.
  const auto steps = [&] {
    const auto left = [](const char* from, const char* end) { return (end - from) / kMaxSymbolBytes; };
    return std::min({left(a.at, ends[0]), left(b.at, ends[1]), left(c.at, ends[2]), left(d.at, ends[3])});
  };
  for (ptrdiff_t count = steps(); count > 0; count = steps()) {
    for (; count > 0; --count) {
      advance(a, load(a.at));
      advance(b, load(b.at));
      advance(c, load(c.at));
      advance(d, load(d.at));
    }
  }
  lanes = {a, b, c, d};
  for (size_t k = 0; k < kLanesOfCore; ++k) {
    Lane lane = lanes[k];
    while (lane.at < ends[k]) {
      advance(lane,
              readable - lane.at >= 8 ? load(lane.at) : load_text(lane.at, static_cast<size_t>(readable - lane.at)));
    }
    lanes[k] = lane;
  }

  part = parts.data();
  uint8_t* to = begins[0];
  for (size_t k = 0; k < kLanesOfCore; ++k) {
    const uint8_t* code = begins[k];
    for (; part != lanes[k].part; ++part) {
      part->code_bytes = static_cast<uint32_t>(part->code_end - code);
      code = part->code_end;
    }
    const auto size = static_cast<size_t>(lanes[k].out - begins[k]);
    if (k > 0) std::memmove(to, begins[k], size);
    to += size;
  }
  out.resize(static_cast<size_t>(to - out.as<uint8_t>()));
}

}  // namespace basalt::fsst::before
