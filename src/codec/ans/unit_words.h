// The words of a unit, in the order in which lanes take them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

#include "codec/ans/layout.h"

namespace basalt::ans {

// Those that a step may take can always be read, taken or not; words behind the last one are zero.
class UnitWords {
 public:
  explicit UnitWords(std::span<const uint32_t> words)
      : at_(reinterpret_cast<const uint16_t*>(words.data())), end_(at_ + 2 * words.size()) {
    if (left() < std::ptrdiff_t{kLanes}) move_last();
  }

  const uint16_t* at() const { return at_; }
  void take(uint32_t count) {
    at_ += count;
    if (left() >= std::ptrdiff_t{kLanes}) [[likely]]
      return;
    if (!moved_) {
      move_last();
    } else if (at_ > end_) {
      at_ = end_;
      overrun_ = true;
    }
  }
  // Whether all were taken but for what fills the last word of 32 bits.
  bool used_up() const { return !overrun_ && (left() == 0 || (left() == 1 && *at_ == 0)); }

 private:
  std::ptrdiff_t left() const { return end_ - at_; }
  void move_last() {
    const std::ptrdiff_t left = end_ - at_;
    std::copy_n(at_, left, last_);
    std::fill(last_ + left, std::end(last_), uint16_t{0});
    at_ = last_;
    end_ = last_ + left;
    moved_ = true;
  }

  const uint16_t* at_;
  const uint16_t* end_;
  uint16_t last_[2 * kLanes];
  bool moved_ = false;
  bool overrun_ = false;
};

}  // namespace basalt::ans
