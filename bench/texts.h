// Strings that benchmarks of text collect, as values for an encoder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/child_values.h"

namespace basalt::bench {

class Texts {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  const std::string& bytes() const { return bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  Values values() const { return text_values(bytes_.data(), offsets_); }

 private:
  std::string bytes_;
  std::vector<int64_t> offsets_{0};
};

}  // namespace basalt::bench
