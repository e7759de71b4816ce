// Strings that are collected one by one, as values for an encoder.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt::gen {

class Texts {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  uint64_t rows() const { return offsets_.size() - 1; }
  uint64_t bytes() const { return bytes_.size(); }
  const std::string& all() const { return bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  Values values() const { return view(0, rows()); }
  std::string_view at(uint64_t row) const { return view(row, 1).string(0); }
  Values view(uint64_t first, uint64_t count) const {
    Values values;
    values.type = Physical::kBytes;
    values.count = count;
    values.offsets = offsets_.data() + first;
    values.bytes = bytes_.data();
    return values;
  }
  // Of so many rows, the last one of fewer; without a number, chunks as a file has them.
  std::vector<Values> chunks(uint64_t chunk_rows = kMaxChunkRows) const {
    std::vector<Values> out;
    for (uint64_t first = 0; first < rows(); first += chunk_rows) {
      out.push_back(view(first, std::min(chunk_rows, rows() - first)));
    }
    return out;
  }

 private:
  std::string bytes_;
  std::vector<int64_t> offsets_{0};
};

// A string per line. Throws if there are none, or only empty ones.
Texts read_lines(const std::string& path);

}  // namespace basalt::gen
