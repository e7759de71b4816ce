// Patterns of LIKE: reading them, and matching decoded texts directly.
#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "core/utf8.h"

namespace basalt {

namespace {

constexpr char kEscape = '\\';

}  // namespace

LikePattern::LikePattern(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    Element element{Kind::kByte, pattern[i]};
    if (pattern[i] == kEscape) {
      if (++i == pattern.size()) {
        throw Error(ErrorCode::kInvalidArgument, "the pattern of LIKE ends with a backslash that escapes nothing");
      }
      element.byte = pattern[i];
    } else if (pattern[i] == '%') {
      element = {Kind::kAny, 0};
      if (!elements_.empty() && elements_.back() == element) continue;
    } else if (pattern[i] == '_') {
      element = {Kind::kOne, 0};
    }
    elements_.push_back(element);
  }
}

std::string LikePattern::prefix() const {
  std::string out;
  for (const Element& element : elements_) {
    if (element.kind != Kind::kByte) break;
    out += element.byte;
  }
  return out;
}

bool LikePattern::is_prefix_only() const {
  return !elements_.empty() && elements_.back().kind == Kind::kAny && prefix().size() + 1 == elements_.size();
}

bool LikePattern::matches(std::string_view text) const {
  // What follows a `%` is tried from every byte, the last `%` only: what an earlier one could still take, it can.
  constexpr size_t kNone = ~size_t{0};
  size_t at = 0;
  size_t element = 0;
  size_t retry_element = kNone;
  size_t retry_at = 0;
  while (at < text.size() || element < elements_.size()) {
    if (element < elements_.size()) {
      const Element& wanted = elements_[element];
      if (wanted.kind == Kind::kAny) {
        retry_element = ++element;
        retry_at = at;
        continue;
      }
      if (at < text.size() && (wanted.kind == Kind::kOne || wanted.byte == text[at])) {
        ++at;
        while (wanted.kind == Kind::kOne && at < text.size() && is_continuation(static_cast<uint8_t>(text[at]))) ++at;
        ++element;
        continue;
      }
    }
    if (retry_element == elements_.size()) return true;
    if (retry_element == kNone || retry_at >= text.size()) return false;
    at = ++retry_at;
    element = retry_element;
  }
  return true;
}

std::string LikePattern::escape(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte == kEscape || byte == '%' || byte == '_') out += kEscape;
    out += byte;
  }
  return out;
}

}  // namespace basalt
