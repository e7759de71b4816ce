// Rows of groups for emulated kernels: what they give, the states that they make, and tables as the host prepares them.
// Include it behind emulated_warp.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "exec/device/groups.cuh"
#include "exec/fixed_sum.h"
#include "exec/random_expr.h"

namespace basalt::test {

// Memory of a table as the host prepares it.
struct TableMemory {
  std::vector<uint64_t> slots;
  uint32_t full = 0;
  uint64_t mask = 0;
  uint64_t hash_mask = ~uint64_t{0};

  static TableMemory narrow(uint64_t count) {
    return {std::vector<uint64_t>(count + 1, device::NarrowKeys::kNoKey), 0, count - 1};
  }
  static TableMemory wide(uint64_t count, uint32_t stride) {
    return {std::vector<uint64_t>((count + 1) * stride, 0), 0, count - 1};
  }
  device::KeyTable table() { return {slots.data(), mask, hash_mask, &full}; }
};

// Four places to begin at, and four tags.
constexpr uint64_t kPoorHash = uint64_t{3} << 32 | 3;

// What rows give their groups: a key, an integer for sums and extremes, a float.
struct GroupRow {
  uint64_t key;
  int64_t value;
  double real;
};
inline std::vector<GroupRow> random_rows(uint64_t keys, size_t count) {
  Random random(keys);
  std::vector<GroupRow> rows(count);
  for (GroupRow& row : rows) {
    row.key = below(random, 100) == 0 ? below(random, keys) : keys / 2;  // skewed: one key has nearly all
    row.value = static_cast<int64_t>(random());
    row.real = below(random, 50) == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(row.value) / 7;
  }
  return rows;
}

using AllWords = device::StateWords<device::StateWord::kAdd, device::StateWord::kAddLow, device::StateWord::kAddHigh,
                                    device::StateWord::kMost, device::StateWord::kMost, device::StateWord::kAddLow,
                                    device::StateWord::kAddHigh, device::StateWord::kMark>;
constexpr uint32_t kAllWords = 8;
constexpr int32_t kFraction = 40;

using StateMap = std::map<uint64_t, std::vector<uint64_t>>;

inline StateMap expected_states(const std::vector<GroupRow>& rows) {
  StateMap states;
  for (const GroupRow& row : rows) {
    std::vector<uint64_t>& state = states.try_emplace(row.key, kAllWords, 0).first->second;
    const auto add_wide = [&](size_t word, int128_t value) {
      const uint128_t sum =
          (static_cast<uint128_t>(state[word + 1]) << 64 | state[word]) + static_cast<uint128_t>(value);
      state[word] = static_cast<uint64_t>(sum);
      state[word + 1] = static_cast<uint64_t>(sum >> 64);
    };
    ++state[0];
    add_wide(1, static_cast<int128_t>(row.value) * row.value);
    const uint64_t image = static_cast<uint64_t>(row.value) ^ (uint64_t{1} << 63);
    state[3] = std::max(state[3], image);
    state[4] = std::max(state[4], ~image);
    if (exec::special_of(row.real) == 0) {
      add_wide(5, exec::to_fixed(row.real, kFraction));
    } else {
      state[7] |= exec::special_of(row.real);
    }
  }
  return states;
}

// What such a row gives to its group.
template <typename State>
void give(State& group, const GroupRow& row) {
  group.add(0, 1);
  group.add_wide(1, static_cast<int128_t>(row.value) * row.value);
  group.most(3, device::most_bits(row.value));
  group.most(4, device::least_bits(row.value));
  device::add_float(group, 5, row.real, kFraction);
}

}  // namespace basalt::test
