// Values of a tile as codes in the words of their keys (see group_keys.h). `words` has `stride` words for each row of
// the list, all zero before the first key is put there.
#pragma once

#include "core/float_key.h"
#include "exec/group_keys.h"
#include "exec/vector.h"

namespace basalt::exec {

// code(row) of each row, NULLs as the part says.
template <typename Code>
void put_codes(const KeyPart& part, const uint8_t* valid, const uint16_t* rows, uint32_t count, uint64_t* words,
               uint32_t stride, const Code& code) {
  const uint64_t mask = part.mask();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    uint64_t* out = words + size_t{i} * stride;
    if (valid != nullptr && valid[row] == 0) {
      if (part.null_flag) out[part.null_word] |= uint64_t{1} << part.null_shift;
      continue;
    }
    out[part.word] |= ((code(row) + (part.null_code ? 1 : 0)) & mask) << part.shift;
  }
}

inline void put_integers(const KeyPart& part, const Vector& vector, const uint16_t* rows, uint32_t count,
                         uint64_t* words, uint32_t stride) {
  const auto put = [&](const auto* values) {
    const auto base = static_cast<uint64_t>(part.base);
    put_codes(part, vector.valid, rows, count, words, stride,
              [&](uint32_t row) { return static_cast<uint64_t>(values[row]) - base; });
    if (!part.two_words) return;
    for (uint32_t i = 0; i < count; ++i) {
      if (vector.valid != nullptr && vector.valid[rows[i]] == 0) continue;
      words[size_t{i} * stride + part.word + 1] =
          static_cast<uint64_t>(static_cast<uint128_t>(static_cast<int128_t>(values[rows[i]])) >> 64);
    }
  };
  switch (vector.lane) {
    case Lane::kI32: return put(vector.as<int32_t>());
    case Lane::kI64: return put(vector.as<int64_t>());
    case Lane::kBool: return put(vector.as<uint8_t>());
    default: return put(vector.as<int128_t>());
  }
}

inline void put_floats(const KeyPart& part, const Vector& vector, const uint16_t* rows, uint32_t count, uint64_t* words,
                       uint32_t stride) {
  const auto put = [&](const auto* values) {
    put_codes(part, vector.valid, rows, count, words, stride,
              [&](uint32_t row) { return static_cast<uint64_t>(float_key(values[row])); });
  };
  return vector.lane == Lane::kF32 ? put(vector.as<float>()) : put(vector.as<double>());
}

}  // namespace basalt::exec
