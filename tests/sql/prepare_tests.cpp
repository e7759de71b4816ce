// Queries that are prepared all at once: each ran with the session's views and settings, and says what was wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Prepare : public ::testing::TestWithParam<Device> {
 protected:
  Prepare() : session_(session_options(GetParam())) {
    session_.convert("select i as id, i % 7 as few, 'name ' || (i % 5) as name from range(30000) t(i)", file_);
    session_.execute("create view v as from '" + file_ + "'");
  }

  ScratchFolder folder_;
  std::string file_ = folder_.file("a.basalt");
  Session session_;
};

TEST_P(Prepare, ManyQueriesAtOnce) {
  std::vector<std::string> queries;
  for (int i = 0; i < 40; ++i) {
    queries.push_back("select sum(id + " + std::to_string(i % 4) + "), count(*) from v where few < " +
                      std::to_string(i % 8));
  }
  for (const PreparedQuery& prepared : session_.prepare(queries)) EXPECT_EQ(prepared.error, "");
  for (const PreparedQuery& prepared : session_.prepare(queries)) EXPECT_EQ(prepared.compile_ms, 0);
  EXPECT_THAT(rows_of(session_, queries[2]), ElementsAre("128580000|8572"));
}

TEST_P(Prepare, SaysWhatIsWrongWithAQuery) {
  session_.execute("set basalt_strict = true");
  const std::vector<PreparedQuery> prepared =
      session_.prepare({"select count(*) from v where few = 3", "select nothing from v",
                        "select ntile(3) over (order by few) from v", "select max(id * 9000000000000000000) from v"});
  ASSERT_EQ(prepared.size(), 4U);
  EXPECT_EQ(prepared[0].error, "");
  EXPECT_THAT(prepared[1].error, HasSubstr("nothing"));
  EXPECT_THAT(prepared[2].error, HasSubstr("--strict"));
  EXPECT_THAT(prepared[3].error, HasSubstr("verflow"));
  EXPECT_TRUE(session_.prepare({}).empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, Prepare, ::testing::ValuesIn(test_devices()),
                         [](const auto& device) { return device.param == Device::kCpu ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace basalt::testing
