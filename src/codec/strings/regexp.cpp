// Reading regular expressions, and laying them out as nodes from the last to the first, so that each knows what follows
// it. Code points become sequences of ranges of bytes.
#include "codec/strings/regexp.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "basalt/core/error.h"
#include "core/utf8.h"

namespace basalt::strings {

namespace {

constexpr uint32_t kMostDepth = 100;     // of groups in groups
constexpr uint32_t kMostRepeats = 1000;  // as RE2
constexpr uint32_t kLastCodePoint = 0x10FFFF;
constexpr uint32_t kNoLimit = ~0u;

struct Range {
  uint32_t low;
  uint32_t high;
};
using Ranges = std::vector<Range>;

struct Tree {
  enum class Kind : uint8_t { kClass, kSequence, kAlternatives, kRepeat, kGroup, kBegin, kEnd };
  Kind kind;
  Ranges ranges;               // kClass: one code point of these
  std::vector<Tree> children;  // kRepeat, kGroup: one
  uint32_t least = 0;          // kRepeat
  uint32_t most = 0;
  bool lazy = false;    // kRepeat: as seldom as it can
  uint32_t number = 0;  // kGroup: from 1
};

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kUnsupported, "a pattern with " + what); }

Ranges opposite(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.low < b.low; });
  Ranges out;
  uint32_t from = 0;
  for (const Range& range : ranges) {
    if (range.low > from) out.push_back({from, range.low - 1});
    from = std::max(from, range.high + 1);
  }
  if (from <= kLastCodePoint) out.push_back({from, kLastCodePoint});
  return out;
}

// \d, \w, \s and their opposites.
std::optional<Ranges> named_class(char letter) {
  Ranges ranges;
  switch (letter | 0x20) {
    case 'd': ranges = {{'0', '9'}}; break;
    case 'w': ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; break;
    case 's': ranges = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}; break;
    default: return std::nullopt;
  }
  return (letter & 0x20) != 0 ? ranges : opposite(ranges);
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(pattern) {
    if (!is_utf8(pattern)) refuse("bytes that are not UTF-8");
  }

  Tree parse() {
    Tree tree = alternatives();
    if (!at_end()) refuse("a bracket that nothing opens");
    return tree;
  }
  uint32_t groups() const { return groups_; }

 private:
  bool at_end() const { return at_ == text_.size(); }
  bool next_is(char c) const { return !at_end() && text_[at_] == c; }
  bool take(char c) {
    const bool taken = next_is(c);
    if (taken) ++at_;
    return taken;
  }

  uint32_t code_point() {
    const auto first = static_cast<uint8_t>(text_[at_++]);
    if (first < 0x80) return first;
    uint32_t value = first & (first >= 0xF0 ? 0x07u : first >= 0xE0 ? 0x0Fu : 0x1Fu);
    while (!at_end() && is_continuation(static_cast<uint8_t>(text_[at_]))) {
      value = value << 6 | (static_cast<uint8_t>(text_[at_++]) & 0x3Fu);
    }
    return value;
  }

  // Behind a backslash: a character without its meaning, or a control character.
  uint32_t escaped() {
    const char c = text_[at_++];
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'a': return '\a';
      default: break;
    }
    constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~";
    if (kPunctuation.find(c) == std::string_view::npos) refuse("an escape that it does not know");
    return static_cast<uint8_t>(c);
  }

  Tree alternatives() {
    if (++depth_ > kMostDepth) refuse("too many groups in each other");
    Tree out{Tree::Kind::kAlternatives, {}, {}};
    do {
      out.children.push_back(sequence());
    } while (take('|'));
    --depth_;
    return out;
  }

  Tree sequence() {
    Tree out{Tree::Kind::kSequence, {}, {}};
    while (!at_end() && !next_is('|') && !next_is(')')) out.children.push_back(repeated());
    return out;
  }

  Tree repeated() {
    Tree what = atom();
    uint32_t least = 0;
    uint32_t most = kNoLimit;
    if (!take_repeat(least, most)) return what;
    if (what.kind == Tree::Kind::kBegin || what.kind == Tree::Kind::kEnd) refuse("a repeated ^ or $");
    const bool lazy = take('?');
    uint32_t again = 0;
    if (take_repeat(again, again)) refuse("a repeated repetition");
    Tree out{Tree::Kind::kRepeat, {}, {}};
    out.children.push_back(std::move(what));
    out.least = least;
    out.most = most;
    out.lazy = lazy;
    return out;
  }

  bool take_repeat(uint32_t& least, uint32_t& most) {
    if (take('*')) return true;
    if (take('+')) {
      least = 1;
      return true;
    }
    if (take('?')) {
      most = 1;
      return true;
    }
    if (!take('{')) return false;
    least = most = number();
    if (take(',')) most = next_is('}') ? kNoLimit : number();
    if (!take('}')) refuse("a { that is no repetition");
    if (most < least) refuse("a repetition from more to fewer");
    return true;
  }

  uint32_t number() {
    uint32_t value = 0;
    const size_t begin = at_;
    while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      if (value > kMostRepeats) refuse("more than " + std::to_string(kMostRepeats) + " repetitions");
    }
    if (at_ == begin) refuse("a { that is no repetition");
    return value;
  }

  static Tree one_of(Ranges ranges) { return {Tree::Kind::kClass, std::move(ranges), {}}; }

  Tree atom() {
    if (take('(')) return group();
    if (take('[')) return one_of(bracket_class());
    if (take('.')) return one_of(opposite({{'\n', '\n'}}));
    if (take('^')) return {Tree::Kind::kBegin, {}, {}};
    if (take('$')) return {Tree::Kind::kEnd, {}, {}};
    if (next_is('*') || next_is('+') || next_is('?')) refuse("a repetition of nothing");
    if (next_is('{') || next_is('}') || next_is(']')) refuse("a bracket that stands for itself");
    if (take('\\')) {
      if (at_end()) refuse("a backslash at its end");
      if (auto named = named_class(text_[at_])) {
        ++at_;
        return one_of(*std::move(named));
      }
      const uint32_t code = escaped();
      return one_of({{code, code}});
    }
    const uint32_t code = code_point();
    return one_of({{code, code}});
  }

  Tree group() {
    const bool unnumbered = take('?');
    if (unnumbered && !take(':')) refuse("(?");
    const uint32_t number = unnumbered ? 0 : ++groups_;
    Tree inside = alternatives();
    if (!take(')')) refuse("a bracket that nothing closes");
    if (unnumbered) return inside;
    Tree out{Tree::Kind::kGroup, {}, {}};
    out.children.push_back(std::move(inside));
    out.number = number;
    return out;
  }

  Ranges bracket_class() {
    const bool negated = take('^');
    Ranges ranges;
    for (bool first = true; first || !next_is(']'); first = false) {
      if (at_end()) refuse("a bracket that nothing closes");
      if (first && next_is(']')) refuse("a class that begins with ]");
      if (text_.substr(at_, 2) == "[:") refuse("[:");
      if (next_is('\\') && at_ + 1 < text_.size()) {
        if (const auto named = named_class(text_[at_ + 1])) {
          at_ += 2;
          ranges.insert(ranges.end(), named->begin(), named->end());
          if (next_is('-') && text_.substr(at_, 2) != "-]") refuse("a range from a class");
          continue;
        }
      }
      const bool dash = next_is('-');
      const uint32_t low = class_member();
      uint32_t high = low;
      if (next_is('-') && text_.substr(at_, 2) != "-]") {
        ++at_;
        if (dash || next_is('[') || at_end()) refuse("a range that begins or ends oddly");
        if (next_is('\\') && at_ + 1 < text_.size() && named_class(text_[at_ + 1])) refuse("a range to a class");
        high = class_member();
        if (high < low) refuse("a range from more to less");
      } else if (dash && !first && !next_is(']')) {
        refuse("a - in the middle of a class");
      }
      ranges.push_back({low, high});
    }
    ++at_;
    return negated ? opposite(std::move(ranges)) : ranges;
  }

  uint32_t class_member() {
    if (!take('\\')) return code_point();
    if (at_end()) refuse("a backslash at its end");
    return escaped();
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  uint32_t groups_ = 0;
};

bool may_be_empty(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::kClass: return false;
    case Tree::Kind::kRepeat: return tree.least == 0 || may_be_empty(tree.children[0]);
    case Tree::Kind::kAlternatives: return std::ranges::any_of(tree.children, may_be_empty);
    default: return std::ranges::all_of(tree.children, may_be_empty);  // of no child: ^, $ and nothing at all
  }
}

// A class of code points as one of bytes: where all beyond ASCII belong to it, or none. In a run of them it then does
// not matter where code points end.
std::optional<ByteSet> byte_set(const Ranges& ranges) {
  ByteSet set;
  uint32_t beyond = 0;  // code points
  for (const Range& range : ranges) {
    for (uint32_t byte = range.low; byte <= range.high && byte < 0x80; ++byte) set.add(static_cast<uint8_t>(byte));
    if (range.high >= 0x80) beyond += range.high - std::max(range.low, 0x80u) + 1;
  }
  if (beyond == 0) return set;
  // Ranges that overlap may count twice: then there is no set, and the class is taken code point by code point.
  if (beyond != kLastCodePoint - 0x80 + 1) return std::nullopt;
  for (uint32_t byte = 0x80; byte < 0x100; ++byte) set.add(static_cast<uint8_t>(byte));
  return set;
}

// body(low, high, length): code points of so many bytes, each byte of which has any value between those of `low` and
// `high`.
using SequenceBody = std::function<void(const uint8_t* low, const uint8_t* high, uint32_t length)>;

uint32_t encode(uint32_t code, uint8_t* out) {
  const uint32_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (length == 1) {
    out[0] = static_cast<uint8_t>(code);
    return 1;
  }
  constexpr uint8_t kFirst[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<uint8_t>(kFirst[length] | code >> 6 * (length - 1));
  for (uint32_t i = 1; i < length; ++i) out[i] = static_cast<uint8_t>(0x80 | (code >> 6 * (length - 1 - i) & 0x3F));
  return length;
}

void for_each_sequence(uint32_t low, uint32_t high, const SequenceBody& body) {
  for (const uint32_t last : {0x7Fu, 0x7FFu, 0xFFFFu}) {  // of one, two, three bytes
    if (low <= last && high > last) {
      for_each_sequence(low, last, body);
      for_each_sequence(last + 1, high, body);
      return;
    }
  }
  // Where a byte differs, all bytes behind it must run from their least to their greatest.
  for (uint32_t bytes = 1; high >= 0x80 && bytes <= 3; ++bytes) {
    const uint32_t mask = (1u << 6 * bytes) - 1;
    if ((low & ~mask) == (high & ~mask)) continue;
    if ((low & mask) != 0) {
      for_each_sequence(low, low | mask, body);
      for_each_sequence((low | mask) + 1, high, body);
      return;
    }
    if ((high & mask) != mask) {
      for_each_sequence(low, (high & ~mask) - 1, body);
      for_each_sequence(high & ~mask, high, body);
      return;
    }
  }
  uint8_t lows[4];
  uint8_t highs[4];
  const uint32_t length = encode(low, lows);
  encode(high, highs);
  body(lows, highs, length);
}

class Layout {
 public:
  using Node = Regexp::Node;
  using Kind = Regexp::Kind;

  explicit Layout(Regexp::For wanted) : matches_(wanted == Regexp::For::kMatches) {}

  // The first node of `tree`, behind which the text goes on at `next`.
  uint32_t add(const Tree& tree, uint32_t next) {
    // Repetitions of nothing have no nodes.
    if (++added_ > kMostAdded) refuse_size();
    switch (tree.kind) {
      case Tree::Kind::kBegin: return node({Kind::kBegin, 0, 0, next});
      case Tree::Kind::kEnd: return node({Kind::kEnd, 0, 0, next});
      case Tree::Kind::kClass: return code_point(tree.ranges, next);
      case Tree::Kind::kRepeat: return repeat(tree, next);
      case Tree::Kind::kGroup: {
        if (!matches_) return add(tree.children[0], next);
        const uint32_t end = node({Kind::kSave, 0, 0, next, 2 * tree.number + 1});
        return node({Kind::kSave, 0, 0, add(tree.children[0], end), 2 * tree.number});
      }
      case Tree::Kind::kSequence:
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) next = add(*child, next);
        return next;
      case Tree::Kind::kAlternatives: break;
    }
    uint32_t out = add(tree.children.back(), next);
    for (size_t i = tree.children.size() - 1; i > 0; --i) {
      out = node({Kind::kSplit, 0, 0, add(tree.children[i - 1], next), out});
    }
    return out;
  }

  uint32_t node(const Node& one) {
    if (nodes.size() == Regexp::kMostNodes) refuse_size();
    nodes.push_back(one);
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  std::vector<Node> nodes;
  std::vector<ByteSet> sets;

 private:
  static constexpr uint32_t kMostAdded = 16 * Regexp::kMostNodes;
  [[noreturn]] static void refuse_size() { throw Error(ErrorCode::kUnsupported, "a pattern that is too large"); }

  uint32_t code_point(const Ranges& ranges, uint32_t next) {
    std::optional<uint32_t> out;
    for (const Range& range : ranges) {
      for_each_sequence(range.low, range.high, [&](const uint8_t* low, const uint8_t* high, uint32_t length) {
        uint32_t at = next;
        for (uint32_t i = length; i > 0; --i) at = node({Kind::kByte, low[i - 1], high[i - 1], at});
        out = out ? node({Kind::kSplit, 0, 0, at, *out}) : at;
      });
    }
    return out ? *out : node({Kind::kByte, 1, 0, next});  // a class of nothing takes no byte
  }

  // Goes on with one thing or the other, in the order that the repetition asks for.
  uint32_t choice(const Tree& repeat, uint32_t again, uint32_t next) {
    return node(repeat.lazy ? Node{Kind::kSplit, 0, 0, next, again} : Node{Kind::kSplit, 0, 0, again, next});
  }

  // What is repeated without end. `times` it must be there: one less where the loop begins with it.
  uint32_t loop(const Tree& tree, uint32_t next, uint32_t& times) {
    const Tree& what = tree.children[0];
    const std::optional<ByteSet> set = what.kind == Tree::Kind::kClass ? byte_set(what.ranges) : std::nullopt;
    if (matches_ && set) {
      sets.push_back(*set);
      return node(
          {Kind::kRun, static_cast<uint8_t>(tree.lazy ? 1 : 0), 0, next, static_cast<uint32_t>(sets.size() - 1)});
    }
    if (matches_ && may_be_empty(what)) refuse("a repetition of what may be empty");
    const uint32_t out = choice(tree, 0, next);
    const uint32_t body = add(what, out);
    (tree.lazy ? nodes[out].other : nodes[out].next) = body;
    if (times == 0) return out;
    --times;
    return body;
  }

  uint32_t repeat(const Tree& tree, uint32_t next) {
    const Tree& what = tree.children[0];
    uint32_t out = next;
    uint32_t times = tree.least;
    if (tree.most == kNoLimit) {
      out = loop(tree, next, times);
    } else {
      for (uint32_t i = tree.least; i < tree.most; ++i) out = choice(tree, add(what, out), next);
    }
    for (; times > 0; --times) out = add(what, out);
    return out;
  }

  bool matches_;
  uint32_t added_ = 0;
};

}  // namespace

Regexp::Regexp(std::string_view pattern, For wanted) {
  Parser parser(pattern);
  const Tree tree = parser.parse();
  groups_ = parser.groups();
  if (wanted == For::kMatches && groups_ > kMostGroups) refuse("more than nine groups");
  Layout layout(wanted);
  const uint32_t match = layout.node({Kind::kMatch});
  start_ = layout.add(tree, match);
  nodes_ = std::move(layout.nodes);
  sets_ = std::move(layout.sets);
}

void check_replacement(std::string_view replacement, uint32_t groups) {
  for (size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] != '\\') continue;
    const char next = ++i < replacement.size() ? replacement[i] : '\0';
    const bool group = next >= '0' && next <= '9' && static_cast<uint32_t>(next - '0') <= groups;
    if (next != '\\' && !group) throw Error(ErrorCode::kUnsupported, "a replacement with a group that is not there");
  }
}

}  // namespace basalt::strings
