// A whole kernel that writes rows, run on the CPU: word for word the text that the generator writes. It counts, writes
// all rows in the order of the table, and writes parts of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cuda/kernel_input.h"
#include "cuda/query/sample_pipelines.h"
//
#include "cuda/emulated_warp.h"
//
#define basalt_scan rows_scan  // other tests have kernels of that name
#include "cuda/rows_kernel.txt"

namespace basalt::test {
namespace {

struct Input {
  std::vector<int32_t> day;
  std::vector<int64_t> price;
  std::vector<uint8_t> price_valid;
  std::vector<double> weight;
  std::vector<int128_t> total;
};

Input random_input(size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  Input out;
  for (size_t i = 0; i < rows; ++i) {
    // Of the second tile no row passes.
    out.day.push_back(i / kTileRows == 1 ? 9131 : static_cast<int32_t>(8036 + random() % 2000));
    out.price.push_back(static_cast<int64_t>(random() % 1000));
    out.price_valid.push_back(random() % 4 != 0);
    out.weight.push_back(static_cast<double>(random() % 1000) / 8);
    out.total.push_back((int128_t{1} << 80) + static_cast<int128_t>(random() >> 2));
  }
  return out;
}

struct Output {
  explicit Output(size_t rows)
      : number(rows), day(rows), price(rows), price_valid(rows), weight(rows), total(rows), cheap(rows), known(rows) {}

  std::vector<uint64_t> addresses(const device::RowsPlan& plan) {
    std::vector<uint64_t> out(plan.outputs(), 0);
    const auto put = [&](uint32_t output, auto& values) { out[output] = reinterpret_cast<uint64_t>(values.data()); };
    put(device::RowsPlan::kNumbers, number);
    put(plan.value_output(0), day);
    put(plan.value_output(1), price);
    put(plan.value_output(1) + 1, price_valid);
    put(plan.value_output(2), weight);
    put(plan.value_output(3), total);
    put(plan.value_output(4), cheap);
    put(plan.value_output(4) + 1, known);
    return out;
  }

  std::vector<uint64_t> number;
  std::vector<int32_t> day;
  std::vector<int64_t> price;
  std::vector<uint8_t> price_valid;
  std::vector<double> weight;
  std::vector<int128_t> total;
  std::vector<uint8_t> cheap;
  std::vector<uint8_t> known;
};

TEST(EmulatedRowsKernel, AsGenerated) {
  const samples::Sample sample = samples::rows();
  const device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.slot_words, device::kSlotWords);
  constexpr size_t kRows = 4 * kTileRows - 100;
  constexpr uint64_t kFirstRow = 5'000'000'000;
  const Input input = random_input(kRows, 7);
  const Node nodes[] = {encoded(input.day, "packed", Physical::kI32), encoded(input.price, "packed", Physical::kI64),
                        encoded(input.weight, "plain", Physical::kF64),
                        encoded(input.total, "packed", Physical::kI128)};
  const Node validity = encoded(input.price_valid, "packed", Physical::kU8);
  KernelInput kernel(plan, kRows);
  device::Parameters& parameters = kernel.parameters;
  kernel.set_word(plan.first_row_at, kFirstRow);
  for (size_t i = 0; i < 4; ++i) kernel.place(plan.columns[i].value_at, 0, nodes[i]);
  kernel.place(plan.columns[1].validity_at, 1, validity);

  std::vector<uint64_t> starts;
  std::vector<size_t> passing;
  std::vector<uint32_t> expected_counts;
  for (uint32_t tile = 0; tile < tile_count(kRows); ++tile) {
    starts.push_back(passing.size());
    for (size_t i = size_t{tile} * kTileRows; i < std::min<size_t>(kRows, (tile + 1) * size_t{kTileRows}); ++i) {
      if (input.day[i] < 9131) passing.push_back(i);
    }
    expected_counts.push_back(static_cast<uint32_t>(passing.size() - starts.back()));
  }
  std::vector<uint32_t> counts(kernel.tiles(), 0);
  std::vector<uint32_t> masks(size_t{kernel.tiles()} * kLanes, ~uint32_t{0});
  parameters.rows.counts = counts.data();
  const auto count = [&](uint32_t* to) {
    std::ranges::fill(counts, 0);
    parameters.rows.mode = device::RowsMode::kCount;
    parameters.rows.masks = to;
    EmulatedWarp::run([&] { device::rows_scan(parameters); });
    EXPECT_EQ(counts, expected_counts);
    EXPECT_EQ(kernel.record[device::kRecordRows], passing.size());
  };

  ASSERT_GT(passing.size(), 1500u);
  struct Window {
    uint64_t begin, end;
    bool asks_again;
  };
  const uint64_t all = passing.size();
  for (const auto& [begin, end, asks_again] :
       {Window{0, all, true}, Window{0, all, false}, Window{700, 701, true}, Window{700, 701, false},
        Window{900, 1500, true}, Window{900, 1500, false}, Window{0, 1, true}}) {
    count(asks_again ? nullptr : masks.data());
    const std::vector<uint64_t> counted(std::begin(kernel.record), std::end(kernel.record));
    Output output(end - begin);
    const std::vector<uint64_t> addresses = output.addresses(*plan.rows);
    parameters.rows.mode = device::RowsMode::kWrite;
    parameters.rows.starts = starts.data();
    parameters.rows.begin = begin;
    parameters.rows.end = end;
    parameters.rows.outputs = addresses.data();
    EmulatedWarp::run([&] { device::rows_scan(parameters); });
    EXPECT_EQ(kernel.record[device::kRecordFlags], 0u);
    EXPECT_EQ(std::vector<uint64_t>(std::begin(kernel.record), std::end(kernel.record)), counted);
    for (uint64_t i = begin; i < end; ++i) {
      const size_t row = passing[i];
      const size_t at = i - begin;
      ASSERT_EQ(output.number[at], kFirstRow + row) << "place " << at;
      ASSERT_EQ(output.day[at], input.day[row]) << "place " << at;
      ASSERT_EQ(output.price_valid[at], input.price_valid[row]) << "place " << at;
      ASSERT_EQ(output.price[at], input.price_valid[row] != 0 ? input.price[row] + 1 : 0) << "place " << at;
      ASSERT_EQ(output.weight[at], input.weight[row]) << "place " << at;
      ASSERT_TRUE(output.total[at] == input.total[row]) << "place " << at;
      ASSERT_EQ(output.known[at], input.price_valid[row]) << "place " << at;
      ASSERT_EQ(output.cheap[at], input.price_valid[row] != 0 && input.price[row] < 500 ? 1 : 0) << "place " << at;
    }
  }
}

}  // namespace
}  // namespace basalt::test
