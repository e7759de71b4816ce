// A whole kernel that writes the first rows of an order, run on the CPU: word for word the text that the generator
// writes. The words put rows in the order that their keys have, and rows behind the threshold are left out.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "cuda/kernel_input.h"
#include "cuda/query/sample_pipelines.h"
#include "exec/scalar.h"
//
#include "cuda/emulated_warp.h"
//
#define basalt_scan first_rows_scan  // other tests have kernels of that name
#include "cuda/first_rows_kernel.txt"

namespace basalt::test {
namespace {

struct Keys {
  std::vector<int64_t> at;
  std::vector<float> heat;
  std::vector<uint8_t> heat_valid;
  std::vector<int128_t> total;
};

Keys random_keys(size_t rows) {
  std::mt19937_64 random(3);
  const float heats[] = {0.0f,
                         -0.0f,
                         1.5f,
                         -7.25f,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  Keys out;
  for (size_t i = 0; i < rows; ++i) {
    out.at.push_back(static_cast<int64_t>(1'000'000'000 + random() % 20 * 5'000'000));
    out.heat.push_back(heats[random() % std::size(heats)]);
    out.heat_valid.push_back(random() % 5 != 0);
    // Within a tile they lie close together.
    out.total.push_back((static_cast<int128_t>(i / kTileRows % 2) << 90) + static_cast<int128_t>(random() % 3));
  }
  return out;
}

// The sample's order: at descending, heat ascending with NULLs first, total descending; then the order of the table.
bool comes_before(const Keys& keys, size_t a, size_t b) {
  if (keys.at[a] != keys.at[b]) return keys.at[a] > keys.at[b];
  if (keys.heat_valid[a] != keys.heat_valid[b]) return keys.heat_valid[a] == 0;
  if (keys.heat_valid[a] != 0 && !exec::sql_equal(keys.heat[a], keys.heat[b])) {
    return exec::sql_less(keys.heat[a], keys.heat[b]);
  }
  if (keys.total[a] != keys.total[b]) return keys.total[a] > keys.total[b];
  return a < b;
}

TEST(EmulatedFirstRowsKernel, AsGenerated) {
  const samples::Sample sample = samples::first_rows();
  const device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.slot_words, device::kSlotWords);
  constexpr size_t kRows = 3 * kTileRows - 500;
  const Keys keys = random_keys(kRows);
  const Node nodes[] = {encoded(keys.at, "packed", Physical::kI64), encoded(keys.heat, "plain", Physical::kF32),
                        encoded(keys.total, "packed", Physical::kI128)};
  const Node validity = encoded(keys.heat_valid, "packed", Physical::kU8);
  KernelInput kernel(plan, kRows);
  device::Parameters& parameters = kernel.parameters;
  for (size_t i = 0; i < 3; ++i) kernel.place(plan.columns[i].value_at, 0, nodes[i]);
  kernel.place(plan.columns[1].validity_at, 1, validity);
  const uint32_t words = plan.rows->words();
  std::vector<uint64_t> numbers(kRows);
  std::vector<std::vector<uint64_t>> columns(words, std::vector<uint64_t>(kRows));
  std::vector<uint64_t> addresses(plan.rows->outputs(), 0);
  addresses[device::RowsPlan::kNumbers] = reinterpret_cast<uint64_t>(numbers.data());
  for (uint32_t i = 0; i < words; ++i) {
    addresses[device::RowsPlan::word_output(i)] = reinterpret_cast<uint64_t>(columns[i].data());
  }
  uint64_t appended = 0;
  parameters.rows.mode = device::RowsMode::kAppend;
  parameters.rows.appended = &appended;
  parameters.rows.capacity = kRows;
  parameters.rows.threshold = ~uint64_t{0};
  parameters.rows.outputs = addresses.data();
  EmulatedWarp::run([&] { device::first_rows_scan(parameters); });
  EXPECT_EQ(kernel.record[device::kRecordFlags], 0u);
  ASSERT_EQ(appended, kRows);

  std::vector<size_t> by_keys(kRows);
  std::iota(by_keys.begin(), by_keys.end(), size_t{0});
  std::sort(by_keys.begin(), by_keys.end(), [&](size_t a, size_t b) { return comes_before(keys, a, b); });
  std::map<std::vector<uint64_t>, size_t> by_words;
  for (size_t i = 0; i < kRows; ++i) {
    std::vector<uint64_t> order;
    for (const std::vector<uint64_t>& column : columns) order.push_back(column[i]);
    by_words[order] = numbers[i];
  }
  ASSERT_EQ(by_words.size(), kRows) << "words of different rows are equal";
  size_t next = 0;
  for (const auto& [order, row] : by_words) {
    ASSERT_EQ(row, by_keys[next]) << "place " << next;
    ++next;
  }

  // Rows within the threshold, with room for some of them.
  const uint64_t threshold = by_words.begin()->first[0] + 1000;
  const std::vector<uint64_t> first_words = columns[0];
  const auto within = static_cast<uint64_t>(
      std::count_if(first_words.begin(), first_words.end(), [&](uint64_t word) { return word <= threshold; }));
  ASSERT_GT(within, 10u);
  ASSERT_LT(within, kRows);
  std::fill(numbers.begin(), numbers.end(), kRows);
  appended = 3;
  parameters.rows.capacity = 8;
  parameters.rows.threshold = threshold;
  EmulatedWarp::run([&] { device::first_rows_scan(parameters); });
  EXPECT_EQ(appended, within + 3);
  for (size_t i = 0; i < kRows; ++i) {
    if (i < 3 || i >= 8) {
      ASSERT_EQ(numbers[i], kRows) << "place " << i << " was not to be written";
    } else {
      ASSERT_LE(columns[0][i], threshold) << "place " << i;
    }
  }
}

}  // namespace
}  // namespace basalt::test
