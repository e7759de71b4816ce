// Values by text, of which the oldest goes.
#include "core/bounded_map.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(BoundedMap, TheOldestGoes) {
  BoundedMap<int> map(2);
  map.put("a", std::make_unique<int>(1));
  map.put("b", std::make_unique<int>(2));
  EXPECT_EQ(map.put("c", std::make_unique<int>(3)), 3);
  EXPECT_EQ(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("b"), 2);
  EXPECT_EQ(map.size(), 2u);
}

TEST(BoundedMap, AKeyThatIsThereIsReplaced) {
  BoundedMap<int> map(2);
  map.put("a", std::make_unique<int>(1));
  map.put("b", std::make_unique<int>(2));
  map.put("a", std::make_unique<int>(3));
  EXPECT_EQ(*map.find("a"), 3);
  EXPECT_EQ(*map.find("b"), 2);
  map.erase("a");
  map.erase("none");
  map.put("c", std::make_unique<int>(4));
  EXPECT_EQ(*map.find("b"), 2);
  map.clear();
  EXPECT_EQ(map.find("b"), nullptr);
  EXPECT_EQ(map.size(), 0u);
}

}  // namespace
}  // namespace basalt
