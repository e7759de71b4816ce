// Ranges of floats as ranges of a pair's integers. Decoding never falls from one integer to the next, as long as the
// product with 10^f does not wrap, so a range of values is a range of integers, whose ends a search finds exactly.
#pragma once

#include "codec/galp/scale.h"
#include "core/float_key.h"

namespace basalt::galp {

// Integers −largest…largest are decoded without wrapping.
template <typename T>
int64_t largest_integer(const Scale<T>& scale) {
  return static_cast<int64_t>((~BitsOf<T>{0} >> 1) / scale.whole_times);
}

struct IntegerRange {
  int64_t low = 0;
  int64_t high = -1;  // below `low`: nothing lies there
};

// The first integer of −most…most whose value's key is `key` at least; most + 1 if there is none, for which `most`
// leaves room.
template <typename T>
int128_t first_at_least(int128_t key, int64_t most, const Scale<T>& scale) {
  int128_t low = -static_cast<int128_t>(most);
  int128_t high = static_cast<int128_t>(most) + 1;
  while (low < high) {
    const int128_t middle = low + (high - low) / 2;
    if (float_key(decode(static_cast<IntOf<T>>(middle), scale)) >= key) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The integers whose values have keys from `low` to `high`.
template <typename T>
IntegerRange integers_between(int128_t low, int128_t high, const Scale<T>& scale) {
  const int64_t most = largest_integer(scale);
  const int128_t first = first_at_least(low, most, scale);
  const int128_t end = first_at_least(high + 1, most, scale);
  if (first >= end) return {};
  return {static_cast<int64_t>(first), static_cast<int64_t>(end - 1)};
}

}  // namespace basalt::galp
