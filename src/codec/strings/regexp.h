// Regular expressions as automata over bytes that may be in several states at once. What is understood means what it
// means to RE2, DuckDB's library, without options: literals, `.`, classes, groups, `|`, `* + ? {m,n}` (greedy or not,
// which decides nothing here), `^`, `$`, `\d \w \s` and their opposites. Everything else is refused with a reason.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace basalt::strings {

class Regexp {
 public:
  static constexpr uint32_t kMostNodes = 2000;

  enum class Kind : uint8_t {
    kByte,   // takes a byte between `low` and `high`
    kSplit,  // goes on at both `next` and `other`
    kBegin,  // holds where the text begins
    kEnd,    // holds where it ends
    kMatch,
  };
  struct Node {
    Kind kind;
    uint8_t low = 0;
    uint8_t high = 0;
    uint32_t next = 0;
    uint32_t other = 0;
  };

  // Throws Error(kUnsupported) if the pattern is wrong, not understood, or too large.
  explicit Regexp(std::string_view pattern);

  const std::vector<Node>& nodes() const { return nodes_; }
  uint32_t start() const { return start_; }

 private:
  std::vector<Node> nodes_;
  uint32_t start_ = 0;
};

}  // namespace basalt::strings
