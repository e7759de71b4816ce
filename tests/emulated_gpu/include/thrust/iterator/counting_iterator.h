#pragma once

#include <cstdint>

namespace thrust {

template <typename T>
struct counting_iterator {
  T first;
  explicit counting_iterator(T begin) : first(begin) {}
  T operator[](int64_t i) const { return static_cast<T>(first + static_cast<T>(i)); }
};

}  // namespace thrust
