// A device that has no more memory at any one allocation, or from one on, and a user who gives up at any of them:
// joins, windows and what follows them give DuckDB's rows or say what is missing, keep nothing, and run again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emulated_gpu/memory.h"
#include "sql/generated_tables.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

// Of the emulated device; nullptr where the tests run on none.
EmulatedMemory* emulated_memory() {
  const char* path = std::getenv("BASALT_CUDA_LIBRARY");
  if (path == nullptr || gpu().backend == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto find = reinterpret_cast<EmulatedMemory* (*)()>(dlsym(library, "basalt_emulated_memory"));
  return find == nullptr ? nullptr : find();
}

std::vector<EmulatedMemory*> emulated_memories() {
  EmulatedMemory* memory = emulated_memory();
  return memory == nullptr ? std::vector<EmulatedMemory*>() : std::vector{memory};
}

class FailingMemoryOfJoins : public ::testing::TestWithParam<EmulatedMemory*> {
 protected:
  FailingMemoryOfJoins() : memory_(*GetParam()), session_(session_options(Device::kCuda)) {
    table("fact",
          "select i as id, case i % 19 when 0 then null else (hash(i) % 2400)::int - 200 end as k, 'f' || (i % 7) as "
          "word, (i % 1000)::decimal(15,2) as price, (i % 300)::smallint as few from range(20000) t(i)");
    table("dim",
          "select case when i % 31 = 0 then null else (i - 200)::int end as id, i * 3 as three, i % 10 as digit, "
          "'text ' || (i % 90) as text, (i % 400)::smallint as few from range(2000) t(i)");
  }
  ~FailingMemoryOfJoins() override { memory_.grants = nullptr; }

  void table(const std::string& name, const std::string& rows) {
    make_table(session_, scratch_, name, rows, kSmallChunks);
  }

  // How the statement ends while `grants` is asked; nothing when it gives these rows.
  std::optional<ErrorCode> ends(const std::string& query, const std::vector<std::string>& expected,
                                const std::function<bool(uint64_t)>& grants) {
    std::optional<ErrorCode> code;
    const uint64_t first = memory_.allocations;
    memory_.grants = [&](uint64_t number) { return grants(number - first); };
    try {
      EXPECT_EQ(rows_of(session_, query), expected);
    } catch (const Error& error) {
      code = error.code();
    }
    memory_.grants = nullptr;
    EXPECT_EQ(memory_.blocks, before_) << "memory is kept";
    return code;
  }

  // Runs the queries with every third allocation as `number`, from this one on; in quick builds with fewer.
  void at_allocations(uint64_t from,
                      const std::function<void(const std::string& query, const std::vector<std::string>& expected,
                                               uint64_t number)>& try_out) {
    before_ = memory_.blocks;
    for (const std::string& query : queries()) {
      SCOPED_TRACE(query);
      rows_of(session_, "set basalt_lowering = false");
      const std::vector<std::string> expected = rows_of(session_, query);
      ASSERT_FALSE(expected.empty());
      rows_of(session_, "set basalt_lowering = true; set basalt_strict = true");
      ASSERT_EQ(ends(query, expected, [](uint64_t) { return true; }), std::nullopt);
      const uint64_t first = memory_.allocations;
      ASSERT_EQ(ends(query, expected, [](uint64_t) { return true; }), std::nullopt);
      const uint64_t count = memory_.allocations - first;
      ASSERT_GT(count, 3);
      for (uint64_t number = from; number < count; number += kQuick ? 12 : 3) {
        SCOPED_TRACE("allocation " + std::to_string(number) + " of " + std::to_string(count));
        try_out(query, expected, number);
        if (HasFailure()) return;
      }
      ASSERT_EQ(ends(query, expected, [](uint64_t) { return true; }), std::nullopt);
      rows_of(session_, "set basalt_strict = false");
    }
  }

  static std::vector<std::string> queries() {
    return {
        "select digit, count(*), sum(price), min(word) from fact join dim on k = dim.id group by 1 order by all",
        "select fact.id, three, text from fact left join dim on k = dim.id and fact.few < dim.few order by all",
        "select word, text, count(*) from fact full join dim on k = dim.id group by all order by all",
        "select word, count(*) from fact where k not in (select id from dim where id is not null and digit < 7) "
        "group by 1 order by all",
        "select count(*), sum(f.price) from fact f join dim d on f.few = d.few join dim e on e.id = f.k",
        "select id, r, s from (select id, row_number() over (partition by few order by price, id) r, sum(price) over "
        "(partition by word order by id rows 3 preceding) s from fact) where r < 4 order by all",
        "select fact.id, word from fact semi join dim on k = dim.id union all select dim.id, text from dim anti join "
        "fact on dim.id = fact.k order by all",
    };
  }

  EmulatedMemory& memory_;
  ScratchFolder scratch_;
  Session session_;
  int64_t before_ = 0;
};

TEST_P(FailingMemoryOfJoins, OnceAtAnAllocation) {
  at_allocations(0, [&](const std::string& query, const std::vector<std::string>& expected, uint64_t number) {
    const auto code = ends(query, expected, [=](uint64_t now) { return now != number; });
    EXPECT_TRUE(!code || *code == ErrorCode::kOutOfMemory) << static_cast<int>(*code);
  });
}

TEST_P(FailingMemoryOfJoins, FromAnAllocationOn) {
  at_allocations(1, [&](const std::string& query, const std::vector<std::string>& expected, uint64_t number) {
    EXPECT_EQ(ends(query, expected, [=](uint64_t now) { return now < number; }), ErrorCode::kOutOfMemory);
  });
}

// Where it is not asked to be strict, a statement that the device has no memory for is the CPU's.
TEST_P(FailingMemoryOfJoins, TheCpuTakesOver) {
  at_allocations(2, [&](const std::string& query, const std::vector<std::string>& expected, uint64_t number) {
    rows_of(session_, "set basalt_strict = false");
    EXPECT_EQ(ends(query, expected, [=](uint64_t now) { return now < number; }), std::nullopt);
    rows_of(session_, "set basalt_strict = true");
  });
}

TEST_P(FailingMemoryOfJoins, InterruptsAtAnAllocation) {
  at_allocations(0, [&](const std::string& query, const std::vector<std::string>& expected, uint64_t number) {
    const auto code = ends(query, expected, [&](uint64_t now) {
      if (now == number) session_.interrupt();
      return true;
    });
    // One that was nearly done may end as it would.
    EXPECT_TRUE(!code || *code == ErrorCode::kCancelled) << static_cast<int>(*code);
  });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FailingMemoryOfJoins);
INSTANTIATE_TEST_SUITE_P(Sql, FailingMemoryOfJoins, ::testing::ValuesIn(emulated_memories()),
                         [](const auto&) { return std::string("cuda"); });

}  // namespace
}  // namespace basalt::testing
