// Several sessions at once, each with all queries of TPC-H and literals of its own: no result is another's, one that is
// interrupted or refused disturbs nobody, and all come to an end.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "sql/generated_tables.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

class JoinsOfManySessions : public ::testing::TestWithParam<Device> {};

// Texts that differ in a literal only, so that sessions share kernels and not rows.
std::string counted(const std::string& query, int session) {
  std::string text = query;
  while (!text.empty() && (text.back() == ';' || text.back() == '\n')) text.pop_back();
  return "select count(*) + " + std::to_string(session) + " as n from (" + text + ") rows_of_query";
}

std::vector<std::string> texts_of(int session) {
  std::vector<std::string> texts;
  for (int number = 1; number <= 22; ++number) {
    texts.push_back(Session::tpch_query(number));
    texts.push_back(counted(texts.back(), session));
  }
  // Each session is elsewhere in them.
  std::rotate(texts.begin(), texts.begin() + session * 5 % static_cast<int>(texts.size()), texts.end());
  return texts;
}

TEST_P(JoinsOfManySessions, GiveTheirOwnRows) {
  constexpr int kSessions = kQuick ? 4 : 8;
  GeneratedTables tables([](Session& session) { session.generate_tpch(0.01); });
  Session native(session_options(Device::kCpu));
  tables.create_views(native);
  rows_of(native, "set basalt_lowering = false");

  struct One {
    std::vector<std::string> texts;
    std::vector<std::vector<std::string>> expected;
    std::vector<std::string> failures;
  };
  std::vector<One> all(kSessions);
  for (int i = 0; i < kSessions; ++i) {
    all[i].texts = texts_of(i);
    for (const std::string& text : all[i].texts) all[i].expected.push_back(rows_of(native, text));
  }
  const auto run = [&](One& one, bool disturbs) {
    Session session(session_options(GetParam()));
    tables.create_views(session);
    for (size_t i = 0; i < one.texts.size(); ++i) {
      try {
        if (disturbs) {
          std::thread other([&] { session.interrupt(); });
          try {
            rows_of(session, one.texts[i]);
          } catch (const Error& error) {
            if (error.code() != ErrorCode::kCancelled) one.failures.push_back(error.what());
          }
          other.join();
        }
        if (rows_of(session, one.texts[i]) != one.expected[i]) one.failures.push_back("other rows: " + one.texts[i]);
      } catch (const Error& error) {
        one.failures.push_back(std::string(error.what()) + ": " + one.texts[i]);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kSessions; ++i) threads.emplace_back(run, std::ref(all[i]), i % 4 == 3);
  for (std::thread& thread : threads) thread.join();
  for (const One& one : all) EXPECT_EQ(one.failures, std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Sql, JoinsOfManySessions, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
