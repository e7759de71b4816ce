#include "cuda/query/joins/key_reader.h"

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"

namespace basalt::cuda {

namespace {

// The largest code of a key, of integers.
uint64_t most_code(const DeviceColumn& build, uint64_t rows, Physical type) {
  const Statistics stats = statistics_of(build, rows);
  const exec::Bounds bounds = exec::bounds_of(column_reference(0, type), {&stats});
  const auto most = static_cast<uint128_t>(bounds.high.integer) - static_cast<uint128_t>(bounds.low.integer);
  return most > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(most);
}

}  // namespace

exec::KeyLayout layout_of(const std::vector<JoinKey>& keys, const KeySide& build) {
  if (keys.size() > device::kMostJoinKeys) throw Error(ErrorCode::kUnsupported, "more than 16 keys");
  exec::KeyLayout layout;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Physical type = keys[i].build.type;
    const Statistics stats = statistics_of(*build.columns[i], build.rows);
    layout.add(column_reference(0, type), {is_integer(type) ? &stats : nullptr}, keys[i].nulls_equal);
  }
  if (layout.words() > device::kMostKeyWords) throw Error(ErrorCode::kUnsupported, "keys of more than 64 bytes");
  return layout;
}

device::JoinKeyReader reader_of(const std::vector<JoinKey>& keys, const exec::KeyLayout& layout, const KeySide& build,
                                const KeySide& side) {
  device::JoinKeyReader reader{};
  reader.count = static_cast<uint32_t>(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const exec::KeyPart& part = layout.parts()[i];
    const Physical type = keys[i].build.type;
    device::JoinKeyPart& out = reader.parts[i];
    out.values = side.columns[i]->values.data();
    out.validity = side.columns[i]->validity.as<uint8_t>();
    out.width = type == Physical::kBytes ? sizeof(uint32_t) : width_of(type);
    out.word = part.word;
    out.shift = part.shift;
    out.null_word = part.null_word;
    out.null_shift = part.null_shift;
    out.is_signed = is_signed(type);
    out.is_float = is_float(type);
    out.two_words = part.two_words;
    out.nulls_equal = keys[i].nulls_equal;
    out.null_code = part.null_code;
    out.null_flag = part.null_flag;
    out.most = UINT64_MAX;
    if (is_integer(type) && !part.two_words) {
      out.base_low = static_cast<uint64_t>(part.base);
      out.base_high = static_cast<uint64_t>(part.base >> 64);
      out.most = most_code(*build.columns[i], build.rows, type);
    }
  }
  return reader;
}

}  // namespace basalt::cuda
