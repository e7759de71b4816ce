// Where a regular expression matches, and what its groups hold: leftmost, and of the matches there the one that a
// search which tries alternatives in order, and repeats as often or as seldom as asked, finds first. Shared by host and
// device. Who searches brings the memory; who has none to remember what failed may have to give up.
#pragma once

#include "core/text_bytes.h"

namespace basalt::strings {

struct RegexpNode {
  enum class Kind : uint8_t {
    kByte,   // takes a byte between `low` and `high`
    kSplit,  // goes on at `next`, or else at `other`
    kBegin,  // holds where the text begins
    kEnd,    // holds where it ends
    kMatch,
    kSave,  // remembers the place in slot `other`
    kRun,   // takes bytes of the set `other`: as many as it can, or, if `low` is not 0, as few
  };
  Kind kind;
  uint8_t low = 0;
  uint8_t high = 0;
  uint32_t next = 0;
  uint32_t other = 0;
};

struct ByteSet {
  uint32_t words[8] = {};

  BASALT_HD bool has(unsigned char byte) const { return (words[byte / 32] >> byte % 32 & 1) != 0; }
  BASALT_HD void add(unsigned char byte) { words[byte / 32] |= 1u << byte % 32; }
};

struct RegexpView {
  const RegexpNode* nodes;
  const ByteSet* sets;
  uint32_t count;
  uint32_t start;
};

// Beginnings and ends of the match and of up to nine groups; kNoPlace: the group took no part.
constexpr uint32_t kNoPlace = ~0u;
constexpr uint32_t kRegexpSlots = 20;
struct RegexpMatch {
  uint32_t slots[kRegexpSlots];
};

// What a search would have to try yet.
struct RegexpChoice {
  enum class Kind : uint8_t { kTry, kRestore, kGiveBack, kTakeMore };
  Kind kind;
  uint32_t node;  // kRestore: the slot
  uint32_t at;
  uint32_t least;  // kGiveBack: nothing before
};

enum class Found : uint8_t { kNo, kYes, kGaveUp };

// What a search that remembers nothing may do with a text before it gives up.
BASALT_HD uint64_t most_search_steps(uint64_t text) { return 64 * (text + 16); }

// A search with a stack of its own and no memory of failures: gives up after many steps.
template <uint32_t kMostChoices>
struct BoundedSearch {
  RegexpChoice choices[kMostChoices];
  uint32_t depth = 0;
  uint64_t steps = 0;
  uint64_t most_steps = 0;

  BASALT_HD void begin_search() {}
  BASALT_HD void begin() { depth = 0; }
  BASALT_HD bool gives_up() { return depth > kMostChoices || ++steps > most_steps; }
  BASALT_HD bool has_failed(uint32_t, uint32_t) { return false; }
  BASALT_HD void push(const RegexpChoice& choice) {
    if (depth < kMostChoices) choices[depth] = choice;
    ++depth;
  }
  BASALT_HD bool empty() const { return depth == 0; }
  BASALT_HD RegexpChoice& top() { return choices[depth - 1]; }
  BASALT_HD void pop() { --depth; }
};

// The next thing to try: sets where to go on, or says that there is none.
template <typename Search>
BASALT_HD bool go_back(const RegexpView& regexp, const unsigned char* text, uint32_t size, Search& search,
                       RegexpMatch& match, uint32_t& node, uint32_t& at) {
  using Choice = RegexpChoice::Kind;
  while (!search.empty()) {
    RegexpChoice& choice = search.top();
    if (choice.kind == Choice::kRestore) {
      match.slots[choice.node] = choice.at;
      search.pop();
      continue;
    }
    if (choice.kind == Choice::kTakeMore) {
      const RegexpNode& run = regexp.nodes[choice.node];
      if (choice.at >= size || !regexp.sets[run.other].has(text[choice.at])) {
        search.pop();
        continue;
      }
      at = ++choice.at;
      node = run.next;
      return true;
    }
    if (choice.kind == Choice::kGiveBack) --choice.at;
    at = choice.at;
    node = choice.node;
    if (choice.kind == Choice::kTry || choice.at == choice.least) search.pop();
    return true;
  }
  return false;
}

// A match that begins at `begin`.
template <typename Search>
BASALT_HD_LONG Found match_from(const RegexpView& regexp, const unsigned char* text, uint32_t size, uint32_t begin,
                                Search& search, RegexpMatch& match) {
  using Kind = RegexpNode::Kind;
  using Choice = RegexpChoice::Kind;
  for (uint32_t i = 0; i < kRegexpSlots; ++i) match.slots[i] = kNoPlace;
  match.slots[0] = begin;
  uint32_t node = regexp.start;
  uint32_t at = begin;
  search.begin();
  for (;;) {
    if (search.gives_up()) return Found::kGaveUp;
    const RegexpNode& here = regexp.nodes[node];
    bool holds = !search.has_failed(node, at);
    if (holds) {
      switch (here.kind) {
        case Kind::kByte:
          holds = at < size && text[at] >= here.low && text[at] <= here.high;
          if (holds) ++at;
          break;
        case Kind::kSplit: search.push({Choice::kTry, here.other, at, 0}); break;
        case Kind::kBegin: holds = at == 0; break;
        case Kind::kEnd: holds = at == size; break;
        case Kind::kMatch: match.slots[1] = at; return Found::kYes;
        case Kind::kSave:
          search.push({Choice::kRestore, here.other, match.slots[here.other], 0});
          match.slots[here.other] = at;
          break;
        case Kind::kRun:
          if (here.low != 0) {
            search.push({Choice::kTakeMore, node, at, 0});
          } else {
            const uint32_t least = at;
            while (at < size && regexp.sets[here.other].has(text[at])) ++at;
            if (at > least) search.push({Choice::kGiveBack, here.next, at, least});
          }
          break;
      }
    }
    if (holds) {
      node = here.next;
    } else if (search.gives_up()) {
      return Found::kGaveUp;
    } else if (!go_back(regexp, text, size, search, match, node, at)) {
      return Found::kNo;
    }
  }
}

// The first match from `from` on.
template <typename Search>
BASALT_HD Found find_match(const RegexpView& regexp, const unsigned char* text, uint32_t size, uint32_t from,
                           Search& search, RegexpMatch& match) {
  const bool bound = regexp.nodes[regexp.start].kind == RegexpNode::Kind::kBegin;
  search.begin_search();
  for (uint32_t begin = from; begin <= size; ++begin) {
    if (bound && begin > 0) return Found::kNo;
    const Found found = match_from(regexp, text, size, begin, search, match);
    if (found != Found::kNo) return found;
  }
  return Found::kNo;
}

// The replacement of a match: \0 to \9 stand for it and its groups.
template <typename Sink>
BASALT_HD void put_replacement(const TextBytes& text, const TextBytes& replacement, const RegexpMatch& match,
                               Sink& sink) {
  for (uint64_t i = 0; i < replacement.size; ++i) {
    const unsigned char byte = replacement.data[i];
    if (byte != '\\' || i + 1 == replacement.size) {
      sink.put(byte);
      continue;
    }
    const unsigned char next = replacement.data[++i];
    if (next == '\\') {
      sink.put(next);
      continue;
    }
    const uint32_t slot = 2u * (next - '0');
    if (slot + 1 < kRegexpSlots && match.slots[slot] != kNoPlace && match.slots[slot + 1] != kNoPlace) {
      sink.put(text.part(match.slots[slot], match.slots[slot + 1]));
    }
  }
}

// A text with a replacement for the first match, or for all. False if the search gave up.
template <typename Search, typename Sink>
BASALT_HD bool replace_matches(const RegexpView& regexp, const TextBytes& text, const TextBytes& replacement, bool all,
                               Search& search, Sink& sink) {
  const auto size = static_cast<uint32_t>(text.size);
  uint32_t at = 0;
  uint32_t last_end = kNoPlace;
  while (at <= size) {
    RegexpMatch match;
    const Found found = find_match(regexp, text.data, size, at, search, match);
    if (found == Found::kGaveUp) return false;
    if (found == Found::kNo) break;
    const uint32_t begin = match.slots[0];
    const uint32_t end = match.slots[1];
    sink.put(text.part(at, begin));
    if (begin == end && begin == last_end) {  // not once more behind a match: on to the next code point
      at = begin;
      do {
        if (at < size) sink.put(text.data[at]);
        ++at;
      } while (at < size && (text.data[at] & 0xC0) == 0x80);
      continue;
    }
    put_replacement(text, replacement, match, sink);
    at = last_end = end;
    if (!all) break;
  }
  if (at < size) sink.put(text.part(at, size));
  return true;
}

}  // namespace basalt::strings
