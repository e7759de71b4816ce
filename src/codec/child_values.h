// Arrays that encoders have built, as values for a child's encoder. The vectors must outlive them.
#pragma once

#include <type_traits>
#include <vector>

#include "basalt/codec/codec.h"
#include "core/dispatch.h"

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

// All values of a fixed-width array. `corrupt` becomes true where they break the rules of their encoding.
inline Buffer decoded_values(const NodeView& node, bool& corrupt) {
  const uint64_t tile_bytes = uint64_t{kTileRows} * width_of(node.type);
  Buffer out(tile_count(node.count) * tile_bytes);
  const std::unique_ptr<Reader> reader = open_reader(node);
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
    reader->decode_tile(tile, out.data() + tile * tile_bytes);
  }
  corrupt = corrupt || reader->corrupt();
  return out;
}
// The same of an array that was just encoded.
inline Buffer decoded_values(const NodeView& node) {
  bool corrupt = false;
  return decoded_values(node, corrupt);
}

// Integers of up to 64 bits, sign- or zero-extended to int64_t.
inline Buffer widened(const Values& values) {
  Buffer numbers(values.count * sizeof(int64_t));
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) {
      for (uint64_t i = 0; i < values.count; ++i) numbers.as<int64_t>()[i] = static_cast<int64_t>(values.as<T>()[i]);
    }
  });
  return numbers;
}

}  // namespace basalt
