// Groups of sorted keys as generated kernels put them together, run on the CPU lane by lane, against plain maps: runs
// of any length, across tiles and launches, rows that a filter drops, tables and rooms that are too small.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "cuda/emulated_group_rows.h"
#include "exec/device/run_groups.cuh"

namespace basalt::test {
namespace {

using device::StateWord;
using device::Words;

// Rows in the order of their keys, which are `distance` apart; `length` rows on average have the same.
std::vector<GroupRow> sorted_rows(size_t count, uint64_t length, uint64_t distance) {
  Random random(count + length);
  std::vector<GroupRow> rows(count);
  uint64_t key = 3;
  for (GroupRow& row : rows) {
    if (below(random, length) == 0) key += distance;
    row.key = key;
    row.value = static_cast<int64_t>(random());
    row.real = below(random, 50) == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(row.value) / 7;
  }
  return rows;
}

// What the host gives to kernels: a table, then room for runs.
class RunMemory {
 public:
  static constexpr uint64_t kBesideTable = 2;
  static constexpr uint32_t kWindow = kLanes;

  RunMemory(uint64_t table_slots, uint64_t windows, uint32_t words)
      : table_slots_(table_slots),
        words_(words),
        keys_(table_slots + kBesideTable + (windows + 1) * kWindow, device::NarrowKeys::kNoKey),
        states_(keys_.size() * words, kGarbage) {
    std::fill_n(states_.begin(), (table_slots + kBesideTable) * words, 0);
  }
  device::Parameters parameters(uint64_t hash_mask = ~uint64_t{0}) {
    device::Parameters p{};
    p.groups = states_.data();
    p.group_keys = {keys_.data(), table_slots_ - 1, hash_mask, &full[0]};
    const uint64_t first = table_slots_ + kBesideTable;
    p.runs = {keys_.data() + first,
              states_.data() + first * words_,
              keys_.size() - first - kWindow,
              kWindow,
              &taken,
              &full[1]};
    return p;
  }
  // Groups that have rows; each may be there once.
  StateMap groups() const {
    StateMap found;
    const uint64_t used = std::min<uint64_t>(table_slots_ + kBesideTable + taken, keys_.size() - kWindow);
    for (uint64_t slot = 0; slot < used; ++slot) {
      const auto begin = states_.begin() + static_cast<int64_t>(slot * words_);
      if (*begin == 0) continue;
      EXPECT_TRUE(found.emplace(keys_[slot], std::vector<uint64_t>(begin, begin + words_)).second) << keys_[slot];
    }
    return found;
  }

  uint64_t taken = 0;
  std::array<uint32_t, 2> full{};

 private:
  static constexpr uint64_t kGarbage = 0xDEAD;  // whoever takes room clears what it leaves
  uint64_t table_slots_;
  uint32_t words_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> states_;
};

// A launch of one block of two warps over all tiles; `give` adds what a row gives that counts. `leaves_out`: steps of
// which no row does.
template <typename Groups, typename Counts, typename Give>
void launch(const device::Parameters& p, const std::vector<GroupRow>& rows, const Counts& counts, const Give& give,
            bool leaves_out = false) {
  EmulatedBlock::run(2 * kLanes, [&] {
    Groups groups(p, nullptr, nullptr);
    for (size_t tile = threadIdx.x / kLanes; tile * kTileRows < rows.size(); tile += 2) {
      uint32_t rows_here = 0;
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        rows_here |= (tile * kTileRows + k * kLanes + threadIdx.x % kLanes < rows.size() ? 1u : 0u) << k;
      }
      groups.begin(rows_here);
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        const size_t i = tile * kTileRows + k * kLanes + threadIdx.x % kLanes;
        const bool present = i < rows.size();
        typename Groups::Row group;
        const bool live = present && counts(i);
        if (leaves_out && !device::any_lane(live)) continue;
        if (live) give(group, i);
        groups.take(static_cast<typename Groups::Key>(present ? rows[i].key : 77), group, present);
      }
      groups.end();
    }
    groups.finish(p, {}, nullptr, 0);
  });
}

StateMap expected_of(const std::vector<GroupRow>& rows, const std::function<bool(size_t)>& counts) {
  std::vector<GroupRow> counted;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (counts(i)) counted.push_back(rows[i]);
  }
  return expected_states(counted);
}

template <typename Key>
void expect_groups(const std::vector<GroupRow>& rows, const std::function<bool(size_t)>& counts,
                   const std::string& what) {
  using Groups = device::RunGroups<Key, AllWords>;
  for (const bool leaves_out : {false, true}) {
    RunMemory memory(256, 250, kAllWords);
    launch<Groups>(
        memory.parameters(), rows, counts, [&](auto& group, size_t i) { give(group, rows[i]); }, leaves_out);
    EXPECT_EQ(memory.groups(), expected_of(rows, counts)) << what;
    EXPECT_EQ(memory.full, (std::array<uint32_t, 2>{})) << what;
  }
}

TEST(EmulatedRunGroups, HoldTheStatesOfRunsOfAnyLength) {
  for (const uint64_t length : {1, 2, 4, 31, 32, 33, 300, 1024, 5000}) {
    for (const size_t count : {1, 31, 33, 1000, 1024, 1025, 5 * 1024, 7000}) {
      const std::vector<GroupRow> rows = sorted_rows(count, length, 1);
      const std::string what = std::to_string(count) + " rows in runs of " + std::to_string(length);
      expect_groups<uint32_t>(
          rows, [](size_t) { return true; }, what);
    }
  }
}

TEST(EmulatedRunGroups, DoWithoutRowsThatDoNotCount) {
  for (const uint64_t length : {1, 4, 100}) {
    const std::vector<GroupRow> rows = sorted_rows(6000, length, uint64_t{1} << 40);
    const std::string what = "runs of " + std::to_string(length);
    expect_groups<uint64_t>(
        rows, [](size_t i) { return i % 3 == 1; }, what);
    expect_groups<uint64_t>(
        rows, [](size_t i) { return i % 1500 < 40; }, what);
    expect_groups<uint64_t>(
        rows, [](size_t i) { return i == 3000; }, what);
    expect_groups<uint64_t>(
        rows, [](size_t) { return false; }, what);
  }
}

// Keys that fall are as good, and so is one that nearly all rows have.
TEST(EmulatedRunGroups, AskForNeighboursOnly) {
  std::vector<GroupRow> rows = sorted_rows(5000, 4, 1);
  std::ranges::reverse(rows);
  expect_groups<uint32_t>(
      rows, [](size_t) { return true; }, "falling");
  rows = sorted_rows(8000, 1, 1);
  for (size_t i = 40; i < 7960; ++i) rows[i].key = rows[40].key;
  for (size_t i = 7960; i < rows.size(); ++i) rows[i].key += 8000;
  expect_groups<uint32_t>(
      rows, [](size_t) { return true; }, "one key has 99 % of the rows");
}

// Runs go on in the next launch, whose groups come to the same table.
TEST(EmulatedRunGroups, LaunchesComeTogether) {
  using Groups = device::RunGroups<uint32_t, AllWords>;
  const std::vector<GroupRow> rows = sorted_rows(9000, 700, 5);
  RunMemory memory(64, 250, kAllWords);
  for (size_t first = 0; first < rows.size(); first += 2500) {
    const auto begin = rows.begin() + static_cast<int64_t>(first);
    const std::vector<GroupRow> part(begin, begin + static_cast<int64_t>(std::min<size_t>(2500, rows.size() - first)));
    launch<Groups>(
        memory.parameters(), part, [](size_t) { return true; }, [&](auto& group, size_t i) { give(group, part[i]); });
  }
  EXPECT_EQ(memory.groups(), expected_states(rows));
}

TEST(EmulatedRunGroups, CollidingHashesAndPartitionsChangeNothing) {
  using Groups = device::RunGroups<uint32_t, AllWords>;
  const std::vector<GroupRow> rows = sorted_rows(6000, 3, 1);
  for (const uint32_t partitions : {1, 4}) {
    StateMap found;
    for (uint32_t partition = 0; partition < partitions; ++partition) {
      RunMemory memory(64, 250, kAllWords);
      device::Parameters p = memory.parameters(kPoorHash);
      p.partition = partition;
      p.partition_mask = partitions - 1;
      launch<Groups>(
          p, rows, [](size_t) { return true; }, [&](auto& group, size_t i) { give(group, rows[i]); });
      found.merge(memory.groups());
    }
    EXPECT_EQ(found, expected_states(rows)) << partitions << " partitions";
  }
}

TEST(EmulatedRunGroups, SayWhatIsTooSmall) {
  using Groups = device::RunGroups<uint32_t, AllWords>;
  const std::vector<GroupRow> rows = sorted_rows(6000, 2, 1);
  const auto full = [&](uint64_t table_slots, uint64_t windows) {
    RunMemory memory(table_slots, windows, kAllWords);
    launch<Groups>(
        memory.parameters(), rows, [](size_t) { return true; }, [&](auto& group, size_t i) { give(group, rows[i]); });
    return memory.full;
  };
  EXPECT_EQ(full(2, 250), (std::array<uint32_t, 2>{1, 0}));
  EXPECT_EQ(full(64, 2), (std::array<uint32_t, 2>{0, 1}));
  EXPECT_EQ(full(64, 250), (std::array<uint32_t, 2>{0, 0}));
}

// Sums of few bits of both signs, records of two and three words, an odd number of words.
TEST(EmulatedRunGroups, HoldShortSumsAndRecords) {
  using Kinds =
      device::StateWords<StateWord::kAddShort, StateWord::kAddShort, StateWord::kGuard, StateWord::kPart,
                         StateWord::kPart, StateWord::kGuard, StateWord::kPart, StateWord::kPart, StateWord::kPart>;
  using Groups = device::RunGroups<uint32_t, Kinds>;
  constexpr uint32_t kWords = 9;
  const std::vector<GroupRow> rows = sorted_rows(7000, 6, 1);
  const auto small = [&](size_t i) { return rows[i].value % 1'000'000; };
  RunMemory memory(256, 250, kWords);
  launch<Groups>(
      memory.parameters(), rows, [](size_t i) { return i % 5 != 0; },
      [&](auto& group, size_t i) {
        group.add(0, 1);
        group.add(1, small(i));
        group.record(2, Words<2>{{device::last_row(i, true), i}});
        group.record(5, Words<3>{{rows[i].key % 3, static_cast<uint64_t>(small(i) + 1'000'000), i}});
      });
  StateMap expected;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % 5 == 0) continue;
    std::vector<uint64_t>& state = expected.try_emplace(rows[i].key, kWords, 0).first->second;
    state[0] += 1;
    state[1] += static_cast<uint64_t>(small(i));
    state[3] = device::last_row(i, true);
    state[4] = i;
    const std::vector<uint64_t> record = {rows[i].key % 3, static_cast<uint64_t>(small(i) + 1'000'000), i};
    if (std::ranges::lexicographical_compare(state.begin() + 6, state.end(), record.begin(), record.end())) {
      std::ranges::copy(record, state.begin() + 6);
    }
  }
  EXPECT_EQ(memory.groups(), expected);
}

}  // namespace
}  // namespace basalt::test
