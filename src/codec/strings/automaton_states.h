// What automata are made of: each kind of test says what it knows at the start, what a byte makes of that, and whether
// a text may end there (automaton.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "codec/strings/regexp.h"
#include "core/utf8.h"

namespace basalt::strings {

// What a state knows of the text so far; the same knowledge is the same state.
using Knowledge = std::vector<uint32_t>;

// As many states are looked at before equal ones are merged.
constexpr size_t kMostExplored = 512;

// First bytes of intervals within which a test treats all bytes alike.
class Cuts {
 public:
  Cuts() { cuts_.set(0); }
  void around(uint8_t byte) {
    cuts_.set(byte);
    if (byte < 255) cuts_.set(byte + 1u);
  }
  void around(std::string_view bytes) {
    for (const char byte : bytes) around(static_cast<uint8_t>(byte));
  }
  void before(uint8_t byte) { cuts_.set(byte); }
  std::vector<uint8_t> list() const {
    std::vector<uint8_t> out;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (cuts_[byte]) out.push_back(static_cast<uint8_t>(byte));
    }
    return out;
  }

 private:
  std::bitset<256> cuts_;
};

// Each kind of test gives its first knowledge, what a byte makes of it, and whether a text may end there.

// Knows the node of the trie of all values; no node: no value begins like this.
class InStates {
 public:
  explicit InStates(const std::vector<std::string>& values) : nodes_(1) {
    for (const std::string& value : values) {
      uint32_t node = 0;
      for (const char c : value) {
        const auto byte = static_cast<uint8_t>(c);
        const auto [child, added] = nodes_[node].children.try_emplace(byte, static_cast<uint32_t>(nodes_.size()));
        node = child->second;
        if (added) nodes_.emplace_back();
      }
      nodes_[node].ends = true;
      cuts.around(value);
    }
  }
  static Knowledge first() { return {0}; }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    if (known.empty()) return {};
    const auto& children = nodes_[known[0]].children;
    const auto child = children.find(byte);
    return child == children.end() ? Knowledge{} : Knowledge{child->second};
  }
  bool accepts(const Knowledge& known) const { return !known.empty() && nodes_[known[0]].ends; }

  Cuts cuts;

 private:
  struct Node {
    std::map<uint8_t, uint32_t> children;
    bool ends = false;
  };
  std::vector<Node> nodes_;
};

// Knows how many bytes of each bound the text agrees with, or that the bound holds whatever follows.
class RangeStates {
 public:
  explicit RangeStates(const StringTest& test) : test_(test) {
    if (test.low) cuts.around(*test.low);
    if (test.high) cuts.around(*test.high);
  }
  Knowledge first() const { return {test_.low ? 0 : kHolds, test_.high ? 0 : kHolds}; }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    if (known.empty()) return {};
    Knowledge out = known;
    if (known[0] != kHolds) {
      const auto bound = static_cast<uint32_t>(test_.low->size());
      const int order = known[0] == bound ? 1 : order_of(byte, (*test_.low)[known[0]]);
      if (order < 0) return {};
      out[0] = order > 0 ? kHolds : known[0] + 1;
    }
    if (known[1] != kHolds) {
      const auto bound = static_cast<uint32_t>(test_.high->size());
      const int order = known[1] == bound ? 1 : order_of(byte, (*test_.high)[known[1]]);
      if (order > 0) return {};
      out[1] = order < 0 ? kHolds : known[1] + 1;
    }
    return out;
  }
  bool accepts(const Knowledge& known) const {
    if (known.empty()) return false;
    const bool above = known[0] == kHolds || (known[0] == test_.low->size() && test_.low_inclusive);
    const bool below = known[1] == kHolds || known[1] < test_.high->size() || test_.high_inclusive;
    return above && below;
  }

  Cuts cuts;

 private:
  static constexpr uint32_t kHolds = ~0u;
  static int order_of(uint8_t a, char b) { return static_cast<int>(a) - static_cast<int>(static_cast<uint8_t>(b)); }
  const StringTest& test_;
};

// Knows all places of the pattern that the text can have reached: 2i before element i, 2i + 1 within the code point
// that element i takes.
class LikeStates {
 public:
  explicit LikeStates(const std::string& pattern) : pattern_(pattern), elements_(pattern_.elements()) {
    for (const auto& element : elements_) {
      if (element.kind == LikePattern::Kind::kByte) cuts.around(static_cast<uint8_t>(element.byte));
      if (element.kind == LikePattern::Kind::kOne) {
        cuts.before(0x80);
        cuts.before(0xC0);
      }
    }
  }
  Knowledge first() const {
    std::set<uint32_t> places;
    reach(0, places);
    return kept(places);
  }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    std::set<uint32_t> places;
    for (const uint32_t place : known) {
      if (place % 2 == 0) {
        take(place / 2, byte, places);
      } else if (is_continuation(byte)) {
        places.insert(place);
      } else {
        std::set<uint32_t> behind;
        reach(place / 2 + 1, behind);
        for (const uint32_t other : behind) take(other / 2, byte, places);
      }
    }
    return kept(places);
  }
  bool accepts(const Knowledge& known) const {
    std::set<uint32_t> places(known.begin(), known.end());
    for (const uint32_t place : known) {
      if (place % 2 == 1) reach(place / 2 + 1, places);
    }
    return places.count(static_cast<uint32_t>(2 * elements_.size())) != 0;
  }

  Cuts cuts;

 private:
  void reach(uint32_t element, std::set<uint32_t>& places) const {
    places.insert(2 * element);
    if (element < elements_.size() && elements_[element].kind == LikePattern::Kind::kAny) reach(element + 1, places);
  }
  void take(uint32_t element, uint8_t byte, std::set<uint32_t>& places) const {
    if (element == elements_.size()) return;
    switch (elements_[element].kind) {
      case LikePattern::Kind::kByte:
        if (static_cast<uint8_t>(elements_[element].byte) == byte) reach(element + 1, places);
        break;
      case LikePattern::Kind::kOne: places.insert(2 * element + 1); break;
      case LikePattern::Kind::kAny: reach(element, places); break;
    }
  }
  // Whatever matches from a place before the last `%` reached matches from there, too.
  Knowledge kept(const std::set<uint32_t>& places) const {
    Knowledge out;
    for (const uint32_t place : places) {
      const bool any =
          place % 2 == 0 && place / 2 < elements_.size() && elements_[place / 2].kind == LikePattern::Kind::kAny;
      if (any) out.clear();
      out.push_back(place);
    }
    return out;
  }

  LikePattern pattern_;
  const std::vector<LikePattern::Element>& elements_;
};

// Knows all nodes that wait for a byte or for the end, behind a mark where no byte has come yet; or only the last node,
// once it was reached.
class RegexpStates {
 public:
  explicit RegexpStates(const std::string& pattern)
      : regexp_(pattern), nodes_(regexp_.nodes()), behind_(nodes_.size()) {
    for (const Node& node : nodes_) {
      if (node.kind != Kind::kByte) continue;
      cuts.before(node.low);
      if (node.high < 255) cuts.before(static_cast<uint8_t>(node.high + 1));
    }
  }
  Knowledge first() const {
    Nodes reached;
    follow(regexp_.start(), {true, false}, reached);
    Knowledge out = kept(reached);
    if (out.empty() || nodes_[out[0]].kind != Kind::kMatch) out.push_back(mark());
    return out;
  }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    Nodes reached = behind(regexp_.start());  // a match can begin behind every byte
    for (const uint32_t at : known) {
      if (at == mark()) continue;
      const Node& node = nodes_[at];
      if (node.kind == Kind::kMatch) return known;
      if (node.kind == Kind::kByte && node.low <= byte && byte <= node.high) reached.add(behind(node.next));
    }
    return kept(reached);
  }
  bool accepts(const Knowledge& known) const {
    const bool begins = !known.empty() && known.back() == mark();
    Nodes reached;
    for (const uint32_t at : known) {
      if (at != mark()) follow(at, {begins, true}, reached);
    }
    bool matches = false;
    reached.for_each([&](uint32_t at) { matches = matches || nodes_[at].kind == Kind::kMatch; });
    return matches;
  }

  Cuts cuts;

 private:
  using Node = strings::Regexp::Node;
  using Kind = strings::Regexp::Kind;
  struct Place {
    bool begins = false;
    bool ends = false;
  };
  // A set of nodes, of which most have few members.
  class Nodes {
   public:
    bool has(uint32_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }
    void add(uint32_t at) { words_[at / 64] |= uint64_t{1} << at % 64; }
    void add(const Nodes& other) {
      for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    // Calls body(node), the first one first.
    template <typename Body>
    void for_each(Body&& body) const {
      for (uint32_t i = 0; i < words_.size(); ++i) {
        for (uint64_t left = words_[i]; left != 0; left &= left - 1) {
          body(i * 64 + static_cast<uint32_t>(std::countr_zero(left)));
        }
      }
    }

   private:
    std::array<uint64_t, (strings::Regexp::kMostNodes + 63) / 64> words_{};
  };
  uint32_t mark() const { return static_cast<uint32_t>(nodes_.size()); }

  // Adds all nodes from `at` on that a byte need not come for.
  void follow(uint32_t at, Place place, Nodes& reached) const {
    std::vector<uint32_t> open{at};
    while (!open.empty()) {
      at = open.back();
      open.pop_back();
      if (reached.has(at)) continue;
      reached.add(at);
      const Node& node = nodes_[at];
      if (node.kind == Kind::kSplit) open.push_back(node.other);
      const bool passes = node.kind == Kind::kSplit || (node.kind == Kind::kBegin && place.begins) ||
                          (node.kind == Kind::kEnd && place.ends);
      if (passes) open.push_back(node.next);
    }
  }
  // The same within a text, which every state asks again.
  const Nodes& behind(uint32_t at) const {
    if (!behind_[at]) follow(at, {}, behind_[at].emplace());
    return *behind_[at];
  }
  Knowledge kept(const Nodes& reached) const {
    Knowledge out;
    std::optional<uint32_t> match;
    reached.for_each([&](uint32_t at) {
      const Kind kind = nodes_[at].kind;
      if (kind == Kind::kMatch) match = at;
      if (kind == Kind::kByte || kind == Kind::kEnd) out.push_back(at);
    });
    return match ? Knowledge{*match} : out;
  }

  strings::Regexp regexp_;
  const std::vector<Node>& nodes_;
  mutable std::vector<std::optional<Nodes>> behind_;
};

// Knows how many there were so far; all that are too many are alike.
class LengthStates {
 public:
  explicit LengthStates(const StringTest& test) : test_(test) {
    // Beyond the greater of the two bounds that there are, no further one changes the answer.
    const uint64_t last = test.most < UINT32_MAX ? test.most + 1 : test.least;
    last_ = static_cast<uint32_t>(std::min<uint64_t>(last, kMostExplored + 1));
    cuts.before(0x80);
    cuts.before(0xC0);
  }
  static Knowledge first() { return {0}; }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    if (!test_.in_bytes && is_continuation(byte)) return known;
    return {std::min(known[0] + 1, last_)};
  }
  bool accepts(const Knowledge& known) const { return known[0] >= test_.least && known[0] <= test_.most; }

  Cuts cuts;

 private:
  const StringTest& test_;
  uint32_t last_ = 0;
};

// What another kind knows of the part so far, and then how many code points the text has; only the answer, once the
// part is over.
template <typename States>
class PartStates {
 public:
  PartStates(const States& states, const StringTest::Part& part)
      : cuts(states.cuts), states_(states), skip_(part.skip) {
    if (part.count != StringTest::Part::kToTheEnd) end_ = part.skip + part.count;
    cuts.before(0x80);
    cuts.before(0xC0);
  }
  Knowledge first() const {
    Knowledge out = states_.first();
    out.push_back(0);
    return out;
  }
  Knowledge step(const Knowledge& known, uint8_t byte) const {
    if (known.back() == kOver) return known;
    const uint32_t points = known.back() + (is_continuation(byte) ? 0 : 1);
    if (points > end_) return {accepts(known) ? 1u : 0u, kOver};
    Knowledge out = of_part(known);
    if (points > skip_) out = states_.step(out, byte);
    // Without an end it does not matter how far the part has come.
    const bool counts = end_ != StringTest::Part::kToTheEnd || points <= skip_;
    out.push_back(counts ? points : static_cast<uint32_t>(skip_) + 1);
    return out;
  }
  bool accepts(const Knowledge& known) const {
    if (known.back() == kOver) return known[0] != 0;
    return states_.accepts(of_part(known));
  }

  Cuts cuts;

 private:
  static constexpr uint32_t kOver = ~0u;
  static Knowledge of_part(Knowledge known) {
    known.pop_back();
    return known;
  }
  const States& states_;
  uint64_t skip_;
  uint64_t end_ = StringTest::Part::kToTheEnd;
};

}  // namespace basalt::strings
