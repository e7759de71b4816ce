// The loops that cut text into symbols.
#include "codec/fsst/match.h"

#include <algorithm>
#include <utility>

namespace basalt::fsst {

namespace {

// The byte behind an escape is written in any case and kept only then.
uint8_t* put(Step step, uint8_t byte, uint8_t* out) {
  out[0] = static_cast<uint8_t>(step.code());
  out[1] = byte;
  return out + step.code_bytes();
}

uint16_t narrow(Step step) { return static_cast<uint16_t>(step.bits); }

}  // namespace

Matcher::Matcher(const SymbolTable& table) {
  slots_.fill(static_cast<uint8_t>(kEscape));
  std::array<bool, 256> is_end{};  // of a symbol
  // By falling length, as codes are: of two symbols for one slot the first stays.
  for (uint32_t code = 0; code < table.symbols.size(); ++code) {
    const Symbol& symbol = table.symbols[code];
    entries_[code] = {lowest_bytes(symbol.length), symbol.value, step_of(code, symbol.length)};
    is_end[symbol.value >> 8 * (symbol.length - 1)] = true;
    if (symbol.length < 3) continue;
    uint8_t& slot = slots_[slot_of(symbol.value)];
    if (slot == kEscape) slot = static_cast<uint8_t>(code);
  }
  // There are more bytes than symbols.
  const auto behind = static_cast<uint64_t>(std::find(is_end.begin(), is_end.end(), false) - is_end.begin());
  for (uint32_t left = 0; left <= kMaxSymbolBytes; ++left) {
    const uint64_t text = lowest_bytes(left);
    text_bytes_[left] = text;
    bytes_behind_[left] = behind * 0x0101010101010101ull & ~text;
  }
  singles_.fill(narrow(step_of(kEscape, 1)));
  const auto put_steps = [&](uint32_t length, auto& steps) {
    for (uint32_t code = 0; code < table.symbols.size(); ++code) {
      if (table.symbols[code].length == length) steps[table.symbols[code].value] = narrow(entries_[code].step);
    }
  };
  put_steps(1, singles_);
  for (size_t i = 0; i < shorter_.size(); i += singles_.size()) {
    std::copy_n(singles_.data(), singles_.size(), &shorter_[i]);
  }
  put_steps(2, shorter_);
}

uint8_t* Matcher::encode_greedy(const char* text, size_t length, uint8_t* out) const {
  for (size_t left = length; left > 0;) {
    const uint64_t word = cut(load_text(text, left), left);
    const Step step = step_at(word);
    out = put(step, static_cast<uint8_t>(word), out);
    text += step.length();
    left -= step.length();
  }
  return out;
}

uint8_t* Matcher::encode_optimal(const char* text, size_t length, uint8_t* out) const {
  // From the end: the fewest code bytes of what is left, and the first code there.
  struct Best {
    uint16_t bytes;
    uint16_t step;
  };
  std::array<Best, kPieceBytes + 1> best;  // not initialised: most texts are short
  best[length] = {0, 0};
  uint64_t word = 0;
  for (size_t i = length; i-- > 0;) {
    word = word << 8 | static_cast<uint8_t>(text[i]);
    const uint64_t there = cut(word, length - i);
    const auto through = [&](uint16_t taken) {
      const Step step{taken};
      return Best{static_cast<uint16_t>(best[i + step.length()].bytes + step.code_bytes()), taken};
    };
    const auto fewer = [](Best a, Best b) { return b.bytes < a.bytes ? b : a; };
    const Best shorter = fewer(through(shorter_[there & 0xFFFF]), through(singles_[there & 0xFF]));
    const Entry& longer = entry_at(there);
    best[i] = longer.fits(there) ? fewer(through(narrow(longer.step)), shorter) : shorter;
  }
  for (size_t i = 0; i < length;) {
    const Step step{best[i].step};
    out = put(step, static_cast<uint8_t>(text[i]), out);
    i += step.length();
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

  // What is there, of which `loaded` are the next eight bytes.
  uint64_t word(const Matcher& matcher, uint64_t loaded) const {
    return matcher.cut(loaded, static_cast<size_t>(part->end - at));
  }
  void take(Step step, uint64_t word) {
    out = put(step, static_cast<uint8_t>(word), out);
    at += step.length();
    part->code_bytes = reinterpret_cast<uintptr_t>(out);
    part = choose_if_equal(reinterpret_cast<uintptr_t>(at), reinterpret_cast<uintptr_t>(part->end), part + 1, part);
  }
};

void Matcher::encode_all(const char* text, std::span<Part> parts, const char* readable, Buffer& out) const {
  // Lanes that go through the parts of a step together suit cores that look few instructions ahead and have registers
  // for it: N1 is 1.2 × as fast as with one lane after the other.
#if defined(__x86_64__)
  constexpr size_t kLanes = 5;
  constexpr size_t kTogether = 1;
#else
  constexpr size_t kLanes = 4;
  constexpr size_t kTogether = 4;
#endif
  static_assert(kLanes % kTogether == 0);
  constexpr size_t kRoom = 8;  // behind each lane's codes
  if (parts.empty()) return;
  const auto plain = static_cast<size_t>(parts.back().end - text);
  const size_t before = out.size();
  out.resize(before + 2 * plain + kLanes * kRoom);

  // Each lane has a share of the texts, and room for as many codes as they can have.
  std::array<Lane, kLanes> lanes;
  std::array<uint8_t*, kLanes> begins;
  std::array<const char*, kLanes> ends;
  Part* part = parts.data();
  Part* const last = part + parts.size();
  const char* at = text;
  uint8_t* room = out.as<uint8_t>() + before;
  for (size_t k = 0; k < kLanes; ++k) {
    lanes[k] = {at, part, room};
    begins[k] = room;
    const char* const until = text + plain * (k + 1) / kLanes;
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
  // Steps that all lanes can take whatever they find.
  const auto steps = [&] {
    size_t least = ~size_t{0};
    for (size_t k = 0; k < kLanes; ++k) least = std::min(least, static_cast<size_t>(ends[k] - lanes[k].at));
    return least / kMaxSymbolBytes;
  };
  for (size_t count = steps(); count > 0; count = steps()) {
    for (; count > 0; --count) {
      for (size_t k = 0; k < kLanes; k += kTogether) {
        std::array<uint64_t, kTogether> words;
        std::array<const Entry*, kTogether> found;
        for (size_t i = 0; i < kTogether; ++i) words[i] = lanes[k + i].word(*this, load(lanes[k + i].at));
        for (size_t i = 0; i < kTogether; ++i) found[i] = &entry_at(words[i]);
        for (size_t i = 0; i < kTogether; ++i) lanes[k + i].take(step_at(words[i], *found[i]), words[i]);
      }
    }
  }
  for (size_t k = 0; k < kLanes; ++k) {
    Lane lane = lanes[k];
    while (lane.at < ends[k]) {
      const auto left = static_cast<size_t>(readable - lane.at);
      const uint64_t word = lane.word(*this, left >= 8 ? load(lane.at) : load_text(lane.at, left));
      lane.take(step_at(word), word);
    }
    lanes[k] = lane;
  }

  part = parts.data();
  uint8_t* to = begins[0];
  for (size_t k = 0; k < kLanes; ++k) {
    uint64_t before_part = reinterpret_cast<uintptr_t>(begins[k]);
    for (; part != lanes[k].part; ++part) {
      part->code_bytes -= std::exchange(before_part, part->code_bytes);
    }
    const auto size = static_cast<size_t>(lanes[k].out - begins[k]);
    if (k > 0) std::memmove(to, begins[k], size);
    to += size;
  }
  out.resize(static_cast<size_t>(to - out.as<uint8_t>()));
}

}  // namespace basalt::fsst
