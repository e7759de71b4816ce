// Slots are kept chunk by chunk, and memory that has gone is never taken for another.
#include "exec/slot_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::exec {
namespace {

using testing::ElementsAre;

TEST(SlotTable, HasWhatWasPut) {
  SlotTable table(3, 2);
  const std::vector<uint64_t> first{1, 2};
  const std::vector<uint64_t> second{3, 4};
  table.put(2, first);
  EXPECT_FALSE(table.has(0));
  EXPECT_TRUE(table.has(2));
  EXPECT_THAT(table.slot(2), ElementsAre(1, 2));
  table.put(2, second);
  EXPECT_THAT(table.slot(2), ElementsAre(3, 4));
}

TEST(SlotTable, NamesEachMemoryOnce) {
  SlotTable table(1, 1);
  const auto block = std::make_shared<int>(1);
  const auto other = std::make_shared<int>(2);
  table.add_memory({1, 1}, block);
  table.add_memory({2, 2}, block);
  table.add_memory({3, 3}, other);
  ASSERT_EQ(table.memory().size(), 2u);
  EXPECT_EQ(table.memory()[0].key, (ChunkKey{1, 1}));
  EXPECT_EQ(table.memory()[1].block.lock(), other);
}

TEST(SlotTable, MemoryThatHasGoneStaysGone) {
  SlotTable table(1, 1);
  int place = 0;  // two blocks at one address
  auto block = std::shared_ptr<int>(&place, [](int*) {});
  table.add_memory({1, 1}, block);
  block = std::shared_ptr<int>(&place, [](int*) {});
  table.add_memory({1, 1}, block);
  ASSERT_EQ(table.memory().size(), 1u);
  EXPECT_EQ(table.memory()[0].block.lock(), nullptr);
}

}  // namespace
}  // namespace basalt::exec
