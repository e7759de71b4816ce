// Regular expressions as automata over bytes that may be in several states at once. What is understood means what it
// means to RE2, DuckDB's library, without options: literals, `.`, classes, groups, `|`, `* + ? {m,n}` (greedy or not,
// which decides nothing here), `^`, `$`, `\d \w \s` and their opposites. Everything else is refused with a reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/strings/regexp_match.h"

namespace basalt::strings {

class Regexp {
 public:
  static constexpr uint32_t kMostNodes = 2000;
  static constexpr uint32_t kMostGroups = 9;

  using Kind = RegexpNode::Kind;
  using Node = RegexpNode;
  enum class For : uint8_t {
    kTest,     // whether a text matches: no kSave, no kRun
    kMatches,  // which part of it does, and what its groups hold
  };

  // Throws Error(kUnsupported) if the pattern is wrong, not understood, or too large.
  explicit Regexp(std::string_view pattern, For wanted = For::kTest);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ByteSet>& sets() const { return sets_; }
  uint32_t start() const { return start_; }
  uint32_t groups() const { return groups_; }
  RegexpView view() const { return {nodes_.data(), sets_.data(), static_cast<uint32_t>(nodes_.size()), start_}; }

 private:
  std::vector<Node> nodes_;
  std::vector<ByteSet> sets_;
  uint32_t start_ = 0;
  uint32_t groups_ = 0;
};

// Throws Error(kUnsupported) if a replacement has a backslash before anything but a backslash or the number of one of
// `groups`, which RE2 refuses, too.
void check_replacement(std::string_view replacement, uint32_t groups);

// Appends a text with a replacement for its first match, or for all. Throws Error(kOutOfRange) where a very long text
// would take too much memory.
void append_replaced(const Regexp& regexp, std::string_view text, std::string_view replacement, bool all,
                     std::string& out);

}  // namespace basalt::strings
