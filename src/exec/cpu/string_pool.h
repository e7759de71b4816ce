// Texts as numbers: equal ones have the same. Texts stay where they are until the pool goes.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/dict/distinct.h"

namespace basalt::exec {

class StringPool {
 public:
  uint32_t number_of(std::string_view text) {
    const uint32_t number = table_.number_of(key_of(text), [&](uint32_t known) { return same(known, text); });
    if (number == texts_.size()) texts_.push_back(keep(text));
    return number;
  }
  // The number that a text was given, if it was.
  std::optional<uint32_t> find(std::string_view text) const {
    return table_.find(key_of(text), [&](uint32_t known) { return same(known, text); });
  }
  std::string_view at(uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  static constexpr size_t kBlock = 256 << 10;

  // Nothing behind the text may be read.
  static TextKey key_of(std::string_view text) { return {text, text.data() + text.size()}; }
  bool same(uint32_t known, std::string_view text) const {
    return text.size() <= TextKey::kWhole || texts_[known] == text;
  }

  std::string_view keep(std::string_view text) {
    if (left_ < text.size()) {
      left_ = std::max(kBlock, text.size());
      blocks_.push_back(std::make_unique<char[]>(left_));
      next_ = blocks_.back().get();
    }
    if (!text.empty()) std::memcpy(next_, text.data(), text.size());
    const std::string_view kept(next_, text.size());
    next_ += text.size();
    left_ -= text.size();
    return kept;
  }

  NumberTable<TextKey> table_;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace basalt::exec
