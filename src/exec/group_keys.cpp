#include "exec/group_keys.h"

#include <bit>
#include <cstring>
#include <limits>

#include "core/float_key.h"

namespace basalt::exec {

namespace {

uint32_t bits_of(uint128_t most) {
  const auto high = static_cast<uint64_t>(most >> 64);
  return high != 0 ? 64 + static_cast<uint32_t>(std::bit_width(high))
                   : static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(most)));
}

}  // namespace

void KeyLayout::place(uint32_t bits, uint32_t& word, uint32_t& shift) {
  for (uint32_t i = 0; i < used_.size(); ++i) {
    if (used_[i] + bits > 64) continue;
    word = i;
    shift = bits == 0 ? 0 : used_[i];  // a full word has room for what takes none
    used_[i] += bits;
    return;
  }
  word = static_cast<uint32_t>(used_.size());
  shift = 0;
  used_.push_back(bits);
}

void KeyLayout::add_number(uint32_t bits) {
  KeyPart part;
  part.bits = bits;
  place(bits, part.word, part.shift);
  parts_.push_back(part);
}

void KeyLayout::add(const Expr& key, const StatisticsList& stats, bool nulls) {
  Bounds bounds = bounds_of(key, stats);
  bounds.may_null = bounds.may_null && nulls;
  KeyPart part;
  part.type = key.type;
  if (key.type == Physical::kBytes) {
    part.kind = KeyKind::kText;
    part.bits = kTextBits;
    part.null_code = nulls;
  } else if (is_float(key.type)) {
    part.kind = KeyKind::kFloat;
    part.null_flag = bounds.may_null;
  } else {
    part.base = bounds.low.integer;
    // Unsigned: the difference may not fit 128 bits with a sign.
    const uint128_t most = static_cast<uint128_t>(bounds.high.integer) - static_cast<uint128_t>(bounds.low.integer);
    const bool room = most < std::numeric_limits<uint64_t>::max();
    part.null_code = bounds.may_null && room;
    part.null_flag = bounds.may_null && !room;
    part.bits = bits_of(most + (part.null_code ? 1 : 0));
    part.two_words = part.bits > 64;
    if (most < (uint128_t{1} << 62)) part.codes = static_cast<uint64_t>(most) + (part.null_code ? 2 : 1);
  }
  if (part.two_words) {
    part.base = 0;
    part.bits = 64;
    part.word = static_cast<uint32_t>(used_.size());
    used_.insert(used_.end(), {64, 64});
  } else {
    place(part.bits, part.word, part.shift);
  }
  if (part.null_flag) place(1, part.null_word, part.null_shift);
  parts_.push_back(part);
}

std::optional<uint64_t> KeyLayout::combinations(uint64_t most) const {
  uint64_t product = 1;
  for (const KeyPart& part : parts_) {
    if (part.codes == 0 || part.codes > most / product) return std::nullopt;
    product *= part.codes;
  }
  return product;
}

int128_t integer_of_code(const KeyPart& part, uint64_t low, uint64_t high) {
  if (part.two_words) return static_cast<int128_t>(static_cast<uint128_t>(high) << 64 | low);
  const uint128_t above = static_cast<uint128_t>(low) - (part.null_code ? 1 : 0);
  return static_cast<int128_t>(static_cast<uint128_t>(part.base) + above);
}

double float_of_key(int64_t key, Physical type) {
  if (key == kNanKey) return std::numeric_limits<double>::quiet_NaN();
  const auto size = static_cast<uint64_t>(key < 0 ? -key : key);
  if (type == Physical::kF32) {
    const auto bits = static_cast<uint32_t>(size) | (key < 0 ? uint32_t{1} << 31 : 0);
    return static_cast<double>(std::bit_cast<float>(bits));
  }
  return std::bit_cast<double>(size | (key < 0 ? uint64_t{1} << 63 : 0));
}

}  // namespace basalt::exec
