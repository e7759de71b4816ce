// Tests on strings that encoded arrays answer without decoding: what is asked, and the automaton over bytes that
// answers it. An automaton reads a text from its front, byte by byte or symbol by symbol, and can stop where no further
// byte changes the answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace basalt {

// What is asked of a string. Strings are compared as bytes, which for UTF-8 is the order of code points.
struct StringTest {
  enum class Kind : uint8_t { kIn, kRange, kLike, kRegexp, kLength };
  // Some code points of a string: `count` behind the first `skip`, or fewer where it ends.
  struct Part {
    static constexpr uint64_t kToTheEnd = UINT64_MAX;
    uint64_t skip = 0;
    uint64_t count = kToTheEnd;
    bool operator==(const Part&) const = default;
  };
  Kind kind = Kind::kIn;
  bool negate = false;
  std::vector<std::string> values;  // kIn: equal to one of them
  // kRange: between both, where there is one.
  std::optional<std::string> low;
  std::optional<std::string> high;
  bool low_inclusive = true;
  bool high_inclusive = true;
  std::string pattern;  // kLike: see LikePattern; kRegexp: found somewhere in it, see codec/strings/regexp.h
  // kLength: the number of code points, or of bytes, lies between both.
  bool in_bytes = false;
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
  std::optional<Part> part;  // the test is put to this part, not to the whole string
  bool operator==(const StringTest&) const = default;

  static StringTest in(std::vector<std::string> values);
  static StringTest between(std::optional<std::string> low, bool low_inclusive, std::optional<std::string> high,
                            bool high_inclusive);
  static StringTest like(std::string pattern);
  static StringTest regexp(std::string pattern);
  static StringTest length(bool in_bytes, uint64_t least, uint64_t most);
};

// A pattern of LIKE: `%` stands for any bytes, `_` for one code point, and a backslash takes away the meaning of what
// follows it.
class LikePattern {
 public:
  enum class Kind : uint8_t { kByte, kOne, kAny };
  struct Element {
    Kind kind;
    char byte;
    bool operator==(const Element&) const = default;
  };

  // Throws Error(kInvalidArgument) if it ends with a lone backslash. Neighbouring `%` become one.
  explicit LikePattern(std::string_view pattern);

  const std::vector<Element>& elements() const { return elements_; }
  // The bytes that every match begins with, and whether they and one `%` are all there is.
  std::string prefix() const;
  bool is_prefix_only() const;
  bool matches(std::string_view text) const;

  // The text with a backslash before each character that a pattern would take for more than itself.
  static std::string escape(std::string_view text);

 private:
  std::vector<Element> elements_;
};

// The smallest deterministic automaton for a test.
class Automaton {
 public:
  static constexpr uint32_t kMostStates = 128;
  // On the device a state may have a second one, for the byte behind an escape, and damage has one for all.
  static constexpr uint32_t kMostDeviceStates = 127;

  uint32_t states() const { return static_cast<uint32_t>(accepts_.size()); }
  uint8_t start() const { return start_; }
  uint8_t first_settled() const { return first_settled_; }
  uint8_t next(uint8_t state, uint8_t byte) const { return next_[uint32_t{state} << 8 | byte]; }
  bool accepts(uint8_t state) const { return accepts_[state] != 0; }
  // Whether no further byte leads away from the state. Such states come last.
  bool settled(uint8_t state) const { return state >= first_settled_; }

  uint8_t run(uint8_t state, std::string_view bytes) const {
    for (const char byte : bytes) {
      if (settled(state)) break;
      state = next(state, static_cast<uint8_t>(byte));
    }
    return state;
  }
  bool matches(std::string_view text) const { return accepts(run(start_, text)); }
  // For devices: 256 next states for each state, then whether states accept.
  std::vector<uint8_t> table() const {
    std::vector<uint8_t> out = next_;
    out.insert(out.end(), accepts_.begin(), accepts_.end());
    return out;
  }
  // out[i] = 1 where row i matches, else 0; the rows lie one after the other at `bytes`.
  void match_rows(const char* bytes, std::span<const uint32_t> lengths, uint8_t* out) const;

 private:
  friend struct AutomatonBuilder;
  std::vector<uint8_t> next_;  // 256 for each state
  std::vector<uint8_t> accepts_;
  uint8_t start_ = 0;
  uint8_t first_settled_ = 0;
};

struct AutomatonOrReason {
  std::shared_ptr<const Automaton> automaton;  // nullptr: decode and look
  std::string reason;                          // why there is none
};
// The last ones are kept: who asks again soon gets the same automaton. Several threads may ask at once.
AutomatonOrReason make_automaton(const StringTest& test);

}  // namespace basalt
