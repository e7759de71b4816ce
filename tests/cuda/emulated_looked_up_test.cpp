// A whole kernel with joins that are looked up, run on the CPU: word for word the text that the generator writes,
// against a plain loop over the rows.
#include <gtest/gtest.h>

#include <map>

#include "cuda/kernel_input.h"
#include "cuda/query/sample_pipelines.h"
#include "exec/scalar.h"
#include "exec/tables.h"
//
#include "cuda/emulated_warp.h"
//
#define basalt_scan looked_up_scan  // other tests have kernels of that name
#include "cuda/looked_up_kernel.txt"

namespace basalt::test {
namespace {

// Numbers from `least` on, of which some are in the set.
struct KeySet {
  int64_t least = 0;
  std::vector<uint32_t> bits;

  KeySet(int64_t first, int64_t count, uint32_t one_in) : least(first), bits((static_cast<size_t>(count) + 31) / 32) {
    for (int64_t i = 0; i < count; i += one_in) bits[static_cast<size_t>(i) / 32] |= 1u << i % 32;
  }
  bool has(int64_t value) const {
    const auto at = static_cast<size_t>(value - least);
    return value >= least && at < bits.size() * 32 && (bits[at / 32] >> at % 32 & 1) != 0;
  }
  exec::SetPlace place() const {
    return {least, static_cast<int64_t>(bits.size() * 32), reinterpret_cast<int64_t>(bits.data())};
  }
};

struct Rows {
  std::vector<uint32_t> customer;
  std::vector<uint32_t> supplier;
  std::vector<uint32_t> day;
  std::vector<uint32_t> amount;
};

// Runs of one to seven rows, as orders have lines, and a long one.
Rows random_rows(size_t count) {
  Random random(23);
  Rows out;
  while (out.customer.size() < count) {
    const auto customer = static_cast<uint32_t>(1 + random() % 60000);
    const auto day = static_cast<uint32_t>(19920101 + random() % 60000);
    const size_t lines = out.customer.size() / 2000 == 1 ? 700 : 1 + random() % 7;
    for (size_t line = 0; line < lines && out.customer.size() < count; ++line) {
      out.customer.push_back(customer);
      out.day.push_back(day);
      out.supplier.push_back(static_cast<uint32_t>(1 + random() % 4000));
      out.amount.push_back(static_cast<uint32_t>(random() % 9'000'000));
    }
  }
  return out;
}

// `one_in`: of the suppliers that are looked for, which decides how many rows of a tile are left for the next join.
void expect_groups(uint32_t one_in) {
  const samples::Sample sample = samples::looked_up_joins();
  const device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.slot_words, device::kSlotWords);
  constexpr size_t kRows = 5 * kTileRows - 300;
  const Rows rows = random_rows(kRows);
  const KeySet suppliers(1, 4000, one_in);
  const KeySet days(19920101, 60000, 3);
  const KeySet customers(-40, 60032, 2);
  std::vector<uint32_t> nations(60032);
  for (size_t i = 0; i < nations.size(); ++i) nations[i] = static_cast<uint32_t>(i * 7 % 8);
  std::vector<int16_t> years(60000);
  for (size_t i = 0; i < years.size(); ++i) years[i] = static_cast<int16_t>(1992 + i / 10000);
  const std::vector<exec::SetPlace> places = {
      suppliers.place(),
      days.place(),
      customers.place(),
      {-40, static_cast<int64_t>(nations.size()), reinterpret_cast<int64_t>(nations.data())},
      {19920101, static_cast<int64_t>(years.size()), reinterpret_cast<int64_t>(years.data())}};

  std::map<size_t, std::pair<uint64_t, uint64_t>> expected;
  uint64_t left = 0;
  for (size_t i = 0; i < kRows; ++i) {
    if (!suppliers.has(rows.supplier[i]) || !days.has(rows.day[i]) || !customers.has(rows.customer[i])) continue;
    const size_t year = static_cast<size_t>(years[rows.day[i] - 19920101]) - 1992;
    auto& group = expected[nations[rows.customer[i] + 40] * size_t{7} + year];
    ++group.first;
    group.second += rows.amount[i];
    ++left;
  }
  ASSERT_GT(left, 0u);

  const Node nodes[] = {encoded(rows.customer, "rle(packed, delta(packed))", Physical::kI32),
                        encoded(rows.supplier, "packed", Physical::kI32),
                        encoded(rows.day, "rle(dict(packed, plain), delta(packed))", Physical::kI32),
                        encoded(rows.amount, "packed", Physical::kI32)};
  KernelInput kernel(plan, kRows);
  for (size_t i = 0; i < 4; ++i) kernel.place(plan.columns[i].value_at, 0, nodes[i]);
  for (const device::SetLiteral& set : plan.sets) {
    const exec::SetPlace place =
        set.bits == 0 ? places.at(set.set) : exec::within_32_bits(places.at(set.set), set.bits);
    const int64_t parts[] = {place.least, place.count, place.address};
    kernel.parameters.literals[set.literal] = {static_cast<uint64_t>(parts[set.part]), 0};
  }
  std::vector<uint64_t> groups(plan.groups->slots * plan.groups->words());
  kernel.parameters.groups = groups.data();
  kernel.parameters.group_slots = plan.groups->slots;
  EmulatedWarp::run([&] { device::looked_up_scan(kernel.parameters); });
  EXPECT_EQ(kernel.record[device::kRecordFlags], 0u);
  EXPECT_EQ(kernel.record[device::kRecordRows], left);
  for (size_t slot = 0; slot < plan.groups->slots; ++slot) {
    const auto& [count, sum] = expected[slot];
    ASSERT_EQ(groups[2 * slot], count) << "group " << slot;
    ASSERT_EQ(groups[2 * slot + 1], sum) << "group " << slot;
  }
}

TEST(EmulatedLookedUpJoins, ManyRowsAreLeftForTheNextJoin) { expect_groups(2); }
TEST(EmulatedLookedUpJoins, FewRowsAreLeftForTheNextJoin) { expect_groups(40); }

}  // namespace
}  // namespace basalt::test
