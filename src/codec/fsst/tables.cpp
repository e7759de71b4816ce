// Sampling, and the choice of ranges.
#include "codec/fsst/tables.h"

namespace basalt::fsst {

namespace {

uint64_t code_bytes(const SymbolTable& table, std::span<const std::string_view> texts, Parse parse) {
  const auto matcher = std::make_unique<Matcher>(table);
  std::vector<uint8_t> codes(2 * kSamplePiece + 8);
  uint64_t bytes = 0;
  for (const std::string_view text : texts) {
    bytes += static_cast<uint64_t>(matcher->encode(parse, text.data(), text.size(), codes.data()) - codes.data());
  }
  return bytes;
}

uint64_t plain_bytes(const Values& values, Rows rows) {
  return static_cast<uint64_t>(values.offsets[rows.end] - values.offsets[rows.first]);
}

// What a few ranges of 2^shift tiles take under `whole`, and under tables of their own.
TestedSizes try_ranges(const Values& values, uint32_t shift, const SymbolTable& whole, const Plan& plan) {
  TestedSizes sizes;
  for (uint32_t i = 0; i < kTestRanges; ++i) {
    const Rows rows = tested_rows(values.count, shift, i);
    const auto test = sample_texts(values, rows, kTestBytes, kTestSalt);
    uint64_t tested = 0;
    for (const std::string_view text : test) tested += text.size();
    const SymbolTable own = train_rows(values, rows, test_plan(plan));
    sizes.add(plain_bytes(values, rows), tested, code_bytes(whole, test, plan.training.parse),
              code_bytes(own, test, plan.training.parse), own.bytes());
  }
  return sizes;
}

}  // namespace

Plan plan_of(Effort effort) {
  Plan plan{};
  plan.training.single_boost = 2;
  if (effort == Effort::kFast) {
    plan.training.rounds = 6;
    plan.sample_bytes = 16 << 10;
  } else if (effort == Effort::kBalanced) {
    plan.training.rounds = 10;
    plan.sample_bytes = 64 << 10;
    plan.ranges = 1;
    plan.range_bytes[0] = 4 << 20;
  } else {
    plan.training.rounds = 16;
    plan.training.parse = Parse::kOptimal;
    plan.train_greedily_too = true;
    plan.sample_bytes = 128 << 10;
    plan.ranges = 2;
    plan.range_bytes[0] = 4 << 20;
    plan.range_bytes[1] = 1 << 20;
  }
  return plan;
}

std::vector<std::string_view> sample_texts(const Values& values, Rows rows, uint32_t bytes, uint64_t salt) {
  std::vector<std::string_view> sample;
  if (rows.first == rows.end) return sample;
  const SamplePlan plan(values.offsets, rows, bytes, salt);
  for (uint64_t part = 0; part < plan.parts(); ++part) {
    plan.take_part(part, [&](int64_t at, uint32_t length) { sample.emplace_back(values.bytes + at, length); });
  }
  return sample;
}

SymbolTable train_rows(const Values& values, Rows rows, const Plan& plan) {
  const std::vector<std::string_view> sample = sample_texts(values, rows, plan.sample_bytes);
  SymbolTable table = train(sample, plan.training);
  if (!plan.train_greedily_too) return table;
  TrainOptions greedy = plan.training;
  greedy.parse = Parse::kGreedy;
  SymbolTable other = train(sample, greedy);
  const Parse parse = plan.training.parse;
  return code_bytes(other, sample, parse) < code_bytes(table, sample, parse) ? other : table;
}

Tables train_tables(const Values& values, const Plan& plan) {
  Tables out;
  if (values.count == 0) return out;
  const Rows all{0, values.count};
  const TableShifts shifts = table_shifts(values.count, plain_bytes(values, all), plan);
  out.tables.push_back(train_rows(values, all, plan));
  ShiftChoice choice(shifts.whole);
  for (uint32_t i = 0; i < shifts.count; ++i) {
    choice.offer(shifts.smaller[i], try_ranges(values, shifts.smaller[i], out.tables[0], plan));
  }
  out.shift = choice.shift;
  if (out.shift == shifts.whole) return out;
  out.tables.clear();
  const uint32_t count = table_count(tile_count(values.count), out.shift);
  for (uint32_t table = 0; table < count; ++table) {
    out.tables.push_back(train_rows(values, rows_of_table(values.count, out.shift, table), plan));
  }
  return out;
}

}  // namespace basalt::fsst
