// Arrays that encoders have built, as values for a child's encoder. The vectors must outlive them.
#pragma once

#include <type_traits>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

// Of uint32_t or uint64_t.
template <typename T>
Values number_values(const std::vector<T>& numbers) {
  static_assert(std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>);
  Values values;
  values.type = sizeof(T) == 8 ? Physical::kU64 : Physical::kU32;
  values.count = numbers.size();
  values.data = numbers.data();
  return values;
}

// Text i is bytes[offsets[i] .. offsets[i+1]).
inline Values text_values(const char* bytes, const std::vector<int64_t>& offsets) {
  Values values;
  values.type = Physical::kBytes;
  values.count = offsets.size() - 1;
  values.offsets = offsets.data();
  values.bytes = bytes;
  return values;
}

}  // namespace basalt
