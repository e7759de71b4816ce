// The loops that cut text into symbols.
#include "codec/fsst/match.h"

#include <algorithm>

namespace basalt::fsst {

Matcher::Matcher(const SymbolTable& table) {
  singles_.fill(kNone);
  // By falling length, as codes are: of two symbols for one slot the first stays.
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    if (symbol.length == 1) singles_[symbol.value] = static_cast<uint16_t>(code | 1 << 8);
    if (symbol.length < 3) continue;
    Slot& slot = slots_[slot_of(symbol.value)];
    if (slot.step == 0) slot = {symbol.value, 64 - 8 * symbol.length, code | symbol.length << 8};
  }
  for (size_t i = 0; i < pairs_.size(); i += 256) std::copy(singles_.begin(), singles_.end(), &pairs_[i]);
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    if (symbol.length == 2) pairs_[symbol.value] = static_cast<uint16_t>(code | 2 << 8);
  }
}

uint8_t* Matcher::encode_greedy(const char* text, size_t length, uint8_t* out) const {
  const char* const end = text + length;
  // The byte behind an escape is written in any case and kept only then.
  const auto take = [&](uint64_t word, Step step) {
    out[0] = static_cast<uint8_t>(step);
    out[1] = static_cast<uint8_t>(word);
    out += code_bytes_of(step);
  };
  while (end - text >= 8) {
    uint64_t word;
    std::memcpy(&word, text, 8);
    const Step step = step_at(word, 8);
    take(word, step);
    text += length_of(step);
  }
  auto left = static_cast<size_t>(end - text);
  for (uint64_t word = load_text(text, left); left > 0;) {
    const Step step = step_at(word, left);
    take(word, step);
    word = length_of(step) == 8 ? 0 : word >> 8 * length_of(step);
    left -= length_of(step);
  }
  return out;
}

uint8_t* Matcher::encode_optimal(const char* text, size_t length, uint8_t* out) const {
  // From the end: the fewest code bytes of what is left, and the first step there.
  struct Best {
    uint16_t bytes;
    uint16_t step;
  };
  std::array<Best, kPieceBytes + 1> best;
  best[length] = {0, 0};
  uint64_t word = 0;
  for (size_t i = length; i-- > 0;) {
    const size_t left = length - i;
    word = word << 8 | static_cast<uint8_t>(text[i]);
    const auto through = [&](Step step) {
      return Best{static_cast<uint16_t>(best[i + length_of(step)].bytes + code_bytes_of(step)),
                  static_cast<uint16_t>(step)};
    };
    const auto fewer = [](Best a, Best b) { return b.bytes < a.bytes ? b : a; };
    const Best shorter =
        fewer(through(left >= 2 ? pairs_[word & 0xFFFF] : singles_[word & 0xFF]), through(singles_[word & 0xFF]));
    const Slot& slot = slots_[slot_of(word)];
    best[i] = slot.fits(word) && slot.length() <= left ? fewer(through(slot.step), shorter) : shorter;
  }
  for (size_t i = 0; i < length;) {
    const Step step = best[i].step;
    out[0] = static_cast<uint8_t>(step);
    out[1] = static_cast<uint8_t>(text[i]);
    out += code_bytes_of(step);
    i += length_of(step);
  }
  return out;
}

// Texts that are encoded one after the other while other lanes encode theirs: every step waits for the one before, so
// that one lane alone would leave most of a core idle.
struct Matcher::Lane {
  const std::string_view* text;
  const std::string_view* end;
  uint32_t* code_bytes;  // of *text
  uint8_t* out;
  uint8_t* begin = nullptr;
  const char* at = nullptr;
  size_t left = 0;

  // Goes to the next text with bytes, from *text on; false if there is none.
  bool open() {
    for (; text != end; ++text, ++code_bytes) {
      if (!text->empty()) {
        at = text->data();
        left = text->size();
        begin = out;
        return true;
      }
      *code_bytes = 0;
    }
    return false;
  }
  bool next() {
    *code_bytes++ = static_cast<uint32_t>(out - begin);
    ++text;
    return open();
  }
};

// One step; false if the lane has no text left.
inline bool Matcher::advance(Lane& lane, const char* readable) const {
  uint64_t word;
  if (readable - lane.at >= 8) {
    std::memcpy(&word, lane.at, 8);
    word &= ~uint64_t{0} >> (lane.left < 8 ? 64 - 8 * lane.left : 0);
  } else {
    word = load_text(lane.at, lane.left);
  }
  const Step step = step_at(word, lane.left);
  lane.out[0] = static_cast<uint8_t>(step);
  lane.out[1] = static_cast<uint8_t>(word);
  lane.out += code_bytes_of(step);
  lane.at += length_of(step);
  lane.left -= length_of(step);
  return lane.left != 0 || lane.next();
}

void Matcher::encode_all(std::span<const std::string_view> texts, const char* readable, Buffer& out,
                         uint32_t* code_bytes) const {
  constexpr size_t kLanesOfCore = 4;
  constexpr size_t kRoom = 8;  // behind each lane's codes
  size_t plain = 0;
  for (const std::string_view text : texts) plain += text.size();
  const size_t before = out.size();
  out.resize(before + 2 * plain + kLanesOfCore * kRoom);

  // Each lane has a share of the texts, and room for as many codes as they can have.
  std::array<Lane, kLanesOfCore> lanes;
  std::array<uint8_t*, kLanesOfCore> begins;
  const std::string_view* text = texts.data();
  const std::string_view* const end = text + texts.size();
  uint8_t* room = out.as<uint8_t>() + before;
  size_t given = 0;
  for (size_t k = 0; k < kLanesOfCore; ++k) {
    lanes[k] = {text, text, code_bytes + (text - texts.data()), room};
    begins[k] = room;
    const size_t from = given;
    while (text != end && (k + 1 == kLanesOfCore || given < plain * (k + 1) / kLanesOfCore)) given += text++->size();
    lanes[k].end = text;
    room += 2 * (given - from) + kRoom;
  }
  auto [a, b, c, d] = lanes;
  bool in_a = a.open(), in_b = b.open(), in_c = c.open(), in_d = d.open();
  while (in_a && in_b && in_c && in_d) {
    in_a = advance(a, readable);
    in_b = advance(b, readable);
    in_c = advance(c, readable);
    in_d = advance(d, readable);
  }
  while (in_a) in_a = advance(a, readable);
  while (in_b) in_b = advance(b, readable);
  while (in_c) in_c = advance(c, readable);
  while (in_d) in_d = advance(d, readable);

  const std::array<uint8_t*, kLanesOfCore> ends{a.out, b.out, c.out, d.out};
  uint8_t* to = ends[0];
  for (size_t k = 1; k < kLanesOfCore; ++k) {
    const auto size = static_cast<size_t>(ends[k] - begins[k]);
    std::memmove(to, begins[k], size);
    to += size;
  }
  out.resize(static_cast<size_t>(to - out.as<uint8_t>()));
}

}  // namespace basalt::fsst
