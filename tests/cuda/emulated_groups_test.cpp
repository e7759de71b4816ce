// States of groups and tables of keys as generated kernels use them, run on the CPU lane by lane, against plain maps;
// tables also by real threads at once, with as many collisions as can be had.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "cuda/emulated_group_rows.h"

namespace basalt::test {
namespace {

using device::KeyPlace;
using device::KeyTable;
using device::NarrowKeys;
using device::StateWord;
using device::Words;

// A block of two warps adds the rows to groups of this rung. `key_of`: a row's key as the rung wants it.
template <typename Groups, typename KeyOf>
void add_rows(const std::vector<GroupRow>& rows, device::Parameters& p, const KeyOf& key_of) {
  constexpr uint32_t kWarps = 2;
  constexpr uint32_t kWarpBytes = Groups::kBytesPerWarp + 16;
  alignas(16) static unsigned char warps[kWarps * kWarpBytes];
  alignas(16) static unsigned char block[Groups::kBytesPerBlock + 16];
  uint32_t bad = 0;
  EmulatedBlock::run(kWarps * kLanes, [&] {
    Groups groups(p, warps + threadIdx.x / kLanes * kWarpBytes, block);
    for (size_t i = threadIdx.x; i < rows.size(); i += blockDim.x) {
      const auto key = key_of(rows[i].key);
      if constexpr (requires { groups.takes(key); }) {
        if (!groups.takes(key)) continue;
      }
      auto group = groups.at(key, bad);
      give(group, rows[i]);
    }
    groups.finish(p, AllWords(), warps, kWarpBytes);
  });
  EXPECT_EQ(bad, 0u);
}

StateMap states_of_array(const std::vector<uint64_t>& words, uint64_t slots) {
  StateMap found;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const auto begin = words.begin() + static_cast<int64_t>(slot * kAllWords);
    if (*begin != 0) found.emplace(slot, std::vector<uint64_t>(begin, begin + kAllWords));
  }
  return found;
}

constexpr auto kSameKey = [](uint64_t key) { return key; };

TEST(EmulatedGroups, LanesBlocksAndArraysHoldTheSameStates) {
  constexpr uint32_t kSlots = 9;
  const std::vector<GroupRow> rows = random_rows(kSlots, 5000);
  const StateMap expected = expected_states(rows);
  const auto states_in = [&](auto* rung) {
    std::vector<uint64_t> words(kSlots * kAllWords, 0);
    device::Parameters p{};
    p.groups = words.data();
    p.group_slots = kSlots;
    // Two launches.
    const auto half = rows.begin() + static_cast<int64_t>(rows.size() / 2);
    using Groups = std::remove_pointer_t<decltype(rung)>;
    add_rows<Groups>({rows.begin(), half}, p, kSameKey);
    add_rows<Groups>({half, rows.end()}, p, kSameKey);
    return states_of_array(words, kSlots);
  };
  EXPECT_EQ(states_in(static_cast<device::LaneGroups<kSlots, kAllWords>*>(nullptr)), expected);
  EXPECT_EQ(states_in(static_cast<device::BlockGroups<kSlots, kAllWords>*>(nullptr)), expected);
  EXPECT_EQ(states_in(static_cast<device::DenseGroups<kAllWords>*>(nullptr)), expected);
}

TEST(EmulatedGroups, KeysBeyondTheSlotsAreReported) {
  std::vector<uint64_t> words(2 * kAllWords, 0);
  device::Parameters p{};
  p.groups = words.data();
  p.group_slots = 2;
  uint32_t bad = 0;
  device::DenseGroups<kAllWords> groups(p, nullptr, nullptr);
  EXPECT_EQ(groups.at(2, bad).number(), 0u);
  EXPECT_EQ(bad, 1u);
}

TEST(EmulatedGroups, HashTablesHoldTheSameStates) {
  constexpr uint64_t kSlots = 256;
  const std::vector<GroupRow> rows = random_rows(100, 5000);
  const StateMap expected = expected_states(rows);
  for (const uint64_t hash_mask : {~uint64_t{0}, kPoorHash}) {
    TableMemory keys = TableMemory::narrow(kSlots);
    keys.hash_mask = hash_mask;
    std::vector<uint64_t> words((kSlots + 2) * kAllWords, 0);
    device::Parameters p{};
    p.groups = words.data();
    p.group_keys = keys.table();
    // Key 7 is the one that marks free slots.
    const auto key_of = [](uint64_t key) { return key == 7 ? NarrowKeys::kNoKey : key * 0x123456789ull; };
    add_rows<device::HashGroups<kAllWords>>(rows, p, key_of);
    StateMap found;
    for (uint64_t slot = 0; slot <= kSlots; ++slot) {
      const auto begin = words.begin() + static_cast<int64_t>(slot * kAllWords);
      if (*begin == 0) continue;
      const uint64_t key = slot == kSlots ? 7 : keys.slots[slot] / 0x123456789ull;
      EXPECT_TRUE(found.emplace(key, std::vector<uint64_t>(begin, begin + kAllWords)).second) << key;
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(keys.full, 0u);
  }
}

TEST(EmulatedGroups, WideKeysHoldTheSameStates) {
  constexpr uint64_t kSlots = 256;
  constexpr uint32_t kStride = 1 + 3 + kAllWords;
  const std::vector<GroupRow> rows = random_rows(100, 5000);
  const StateMap expected = expected_states(rows);
  for (const uint64_t hash_mask : {~uint64_t{0}, kPoorHash}) {
    TableMemory keys = TableMemory::wide(kSlots, kStride);
    keys.hash_mask = hash_mask;
    device::Parameters p{};
    p.group_keys = keys.table();
    // Keys that differ in one word only, zeros and ones in the others.
    const auto key_of = [](uint64_t key) { return Words<3>{{key % 5, key / 5, ~uint64_t{0}}}; };
    add_rows<device::WideGroups<3, kAllWords>>(rows, p, key_of);
    StateMap found;
    for (uint64_t slot = 0; slot < kSlots; ++slot) {
      const auto begin = keys.slots.begin() + static_cast<int64_t>(slot * kStride);
      if (begin[4] == 0) continue;
      EXPECT_GT(begin[0], 1u) << "a slot that is still being written";
      EXPECT_EQ(begin[3], ~uint64_t{0});
      EXPECT_TRUE(found.emplace(begin[2] * 5 + begin[1], std::vector<uint64_t>(begin + 4, begin + kStride)).second);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(keys.full, 0u);
  }
}

// Each partition's table holds groups of its own, and all of them together every group.
TEST(EmulatedGroups, PartitionsTogetherHoldAllGroups) {
  constexpr uint64_t kSlots = 128;
  constexpr uint32_t kStride = 1 + 2 + kAllWords;
  constexpr uint32_t kPartitions = 4;
  const std::vector<GroupRow> rows = random_rows(100, 5000);
  const StateMap expected = expected_states(rows);
  for (const uint64_t hash_mask : {~uint64_t{0}, kPoorHash}) {
    StateMap narrow;
    StateMap wide;
    for (uint32_t partition = 0; partition < kPartitions; ++partition) {
      device::Parameters p{};
      p.partition = partition;
      p.partition_mask = kPartitions - 1;
      TableMemory keys = TableMemory::narrow(kSlots);
      keys.hash_mask = hash_mask;
      std::vector<uint64_t> words((kSlots + 2) * kAllWords, 0);
      p.groups = words.data();
      p.group_keys = keys.table();
      add_rows<device::HashGroups<kAllWords>>(rows, p, kSameKey);
      for (uint64_t slot = 0; slot < kSlots; ++slot) {
        const auto begin = words.begin() + static_cast<int64_t>(slot * kAllWords);
        if (*begin == 0) continue;
        EXPECT_TRUE(narrow.emplace(keys.slots[slot], std::vector<uint64_t>(begin, begin + kAllWords)).second);
      }
      TableMemory wide_keys = TableMemory::wide(kSlots, kStride);
      wide_keys.hash_mask = hash_mask;
      p.group_keys = wide_keys.table();
      add_rows<device::WideGroups<2, kAllWords>>(rows, p, [](uint64_t key) { return Words<2>{{key, 5}}; });
      for (uint64_t slot = 0; slot < kSlots; ++slot) {
        const auto begin = wide_keys.slots.begin() + static_cast<int64_t>(slot * kStride);
        if (begin[3] == 0) continue;
        EXPECT_TRUE(wide.emplace(begin[1], std::vector<uint64_t>(begin + 3, begin + kStride)).second);
      }
      EXPECT_EQ(keys.full + wide_keys.full, 0u);
      EXPECT_LT(narrow.size(), expected.size() * (partition + 2) / kPartitions) << "as many as others";
    }
    EXPECT_EQ(narrow, expected);
    EXPECT_EQ(wide, expected);
  }
}

TEST(EmulatedGroups, SmallTablesSayThatTheyAreFull) {
  TableMemory narrow = TableMemory::narrow(2);
  TableMemory wide = TableMemory::wide(2, 3);
  const KeyTable narrow_table = narrow.table();
  const KeyTable wide_table = wide.table();
  NarrowKeys keys(narrow_table);
  device::WideKeys<2, 3> wide_keys(wide_table);
  for (uint64_t key = 0; key < 2; ++key) {
    EXPECT_TRUE(keys.find(key).added);
    EXPECT_TRUE(wide_keys.find({{key, 1}}).added);
  }
  EXPECT_TRUE(keys.find(NarrowKeys::kNoKey).added) << "it needs no slot";
  EXPECT_EQ(narrow.full, 0u);
  EXPECT_EQ(wide.full, 0u);
  const KeyPlace lost = keys.find(2);
  EXPECT_FALSE(lost.added);
  EXPECT_EQ(lost.number, 3u) << "behind the slot of the key that marks free ones";
  EXPECT_EQ(wide_keys.find({{2, 1}}).number, 2u) << "behind the last slot";
  EXPECT_EQ(narrow.full, 1u);
  EXPECT_EQ(wide.full, 1u);
  for (uint64_t key = 0; key < 2; ++key) {
    EXPECT_FALSE(keys.find(key).added);
    EXPECT_LT(wide_keys.find({{key, 1}}).number, 2u);
  }
}

// Every key is new once, whatever the order in which lanes bring it.
TEST(EmulatedGroups, DistinctValuesAreNewOnce) {
  TableMemory narrow = TableMemory::narrow(512);
  TableMemory wide = TableMemory::wide(512, 3);
  narrow.hash_mask = wide.hash_mask = kPoorHash;
  const KeyTable narrow_table = narrow.table();
  const KeyTable wide_table = wide.table();
  uint64_t narrow_added = 0;
  uint64_t wide_added = 0;
  EmulatedBlock::run(2 * kLanes, [&] {
    NarrowKeys keys(narrow_table);
    device::WideKeys<2, 3> wide_keys(wide_table);
    for (uint64_t i = threadIdx.x % 7; i < 200; ++i) {
      narrow_added += keys.find(NarrowKeys::kNoKey - i).added ? 1 : 0;
      wide_added += wide_keys.find({{i % 2, i / 2}}).added ? 1 : 0;
    }
  });
  EXPECT_EQ(narrow_added, 200u);
  EXPECT_EQ(wide_added, 200u);
}

// Real threads insert the same keys in different orders: each is new for one of them and has one place.
template <typename Keys, typename KeyOf>
void insert_at_once(TableMemory& memory, const KeyOf& key_of) {
  constexpr uint64_t kKeys = 3000;
  constexpr uint32_t kThreads = 4;
  const KeyTable table = memory.table();
  std::vector<std::vector<KeyPlace>> places(kThreads, std::vector<KeyPlace>(kKeys));
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Keys keys(table);
      for (uint64_t i = 0; i < kKeys; ++i) {
        const uint64_t key = t % 2 == 0 ? i : kKeys - 1 - i;
        places[t][key] = keys.find(key_of(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> numbers;
  for (uint64_t key = 0; key < kKeys; ++key) {
    uint32_t added = 0;
    for (uint32_t t = 0; t < kThreads; ++t) {
      added += places[t][key].added ? 1 : 0;
      ASSERT_EQ(places[t][key].number, places[0][key].number) << key;
    }
    EXPECT_EQ(added, 1u) << key;
    EXPECT_TRUE(numbers.insert(places[0][key].number).second) << key;
  }
  EXPECT_EQ(memory.full, 0u);
}

TEST(EmulatedGroups, TablesTakeKeysOfManyThreads) {
  for (int round = 0; round < 20; ++round) {
    TableMemory narrow = TableMemory::narrow(8192);
    insert_at_once<NarrowKeys>(narrow, [](uint64_t key) { return key - 5; });
    TableMemory wide = TableMemory::wide(8192, 4);
    // Tags collide and runs are long.
    wide.hash_mask = uint64_t{3} << 32 | 0x1FF0;
    insert_at_once<device::WideKeys<3, 4>>(wide, [](uint64_t key) { return Words<3>{{key % 3, key / 3, 0}}; });
  }
}

TEST(EmulatedGroups, RecordsKeepTheLargestOfManyThreads) {
  constexpr uint32_t kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> state(4, 0);
    Words<3> largest{{0, 0, 0}};
    std::vector<std::vector<Words<3>>> given(kThreads);
    for (uint32_t t = 0; t < kThreads; ++t) {
      Random random(static_cast<uint64_t>(round) * kThreads + t);
      for (int i = 0; i < 5000; ++i) {
        const Words<3> record{{below(random, 5), below(random, 5), random()}};
        given[t].push_back(record);
        if (std::ranges::lexicographical_compare(largest.words, record.words)) largest = record;
      }
    }
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (const Words<3>& record : given[t]) device::SharedState(state.data(), 0).record(0, record);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(state, (std::vector<uint64_t>{0, largest.words[0], largest.words[1], largest.words[2]}));
  }
}

// Records of blocks come together with their guards; those without a row change nothing.
TEST(EmulatedGroups, RecordsOfBlocksComeTogether) {
  using Kinds = device::StateWords<StateWord::kAdd, StateWord::kGuard, StateWord::kPart, StateWord::kPart,
                                   StateWord::kGuard, StateWord::kPart, StateWord::kPart, StateWord::kPart>;
  using Groups = device::BlockGroups<3, 8>;
  const std::vector<GroupRow> rows = random_rows(2, 3000);
  std::vector<uint64_t> words(3 * 8, 0);
  device::Parameters p{};
  p.groups = words.data();
  alignas(16) static unsigned char block[Groups::kBytesPerBlock];
  uint32_t bad = 0;
  const auto scaled = [](const GroupRow& row) { return static_cast<int128_t>(row.value) * 1'000'000; };
  for (int launch = 0; launch < 2; ++launch) {
    EmulatedBlock::run(2 * kLanes, [&] {
      Groups groups(p, nullptr, block);
      for (size_t i = threadIdx.x; i < rows.size(); i += blockDim.x) {
        auto group = groups.at(rows[i].key, bad);
        group.add(0, 1);
        if (rows[i].value % 2 == launch) group.record(1, device::least_words(scaled(rows[i])));
        group.record(4, Words<3>{{device::first_row(i, true), i, i + 1}});
      }
      groups.finish(p, Kinds(), nullptr, 0);
    });
  }
  for (uint64_t key = 0; key < 2; ++key) {
    const uint64_t* state = words.data() + key * 8;
    int128_t smallest = static_cast<int128_t>(1) << 120;
    size_t first = rows.size();
    for (size_t i = rows.size(); i-- > 0;) {
      if (rows[i].key != key) continue;
      first = i;
      if (rows[i].value % 2 == 0 || rows[i].value % 2 == 1) smallest = std::min(smallest, scaled(rows[i]));
    }
    const Words<2> image = device::least_words(smallest);
    EXPECT_EQ(state[2], image.words[0]) << key;
    EXPECT_EQ(state[3], image.words[1]) << key;
    EXPECT_EQ(state[5], device::first_row(first, true)) << key;
    EXPECT_EQ(state[6], first) << key;
    EXPECT_EQ(state[7], first + 1) << key;
  }
  EXPECT_EQ(words[16], 0u) << "a group without rows";
}

}  // namespace
}  // namespace basalt::test
