// A whole kernel with tests of strings, run on the CPU: word for word the text that the generator writes, over chunks
// of different encodings, with NULLs, on tables as the host makes them.
#include <gtest/gtest.h>

#include <string>

#include "codec/fsst_texts.h"
#include "cuda/device_arrays.h"
#include "cuda/query/sample_pipelines.h"
//
#include "cuda/emulated_warp.h"
//
#define basalt_scan strings_scan  // other tests have kernels of that name
// The generator writes whether a condition is NULL also where nothing asks for it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "cuda/strings_kernel.txt"
#pragma GCC diagnostic pop

namespace basalt::test {
namespace {

Node encoded_texts(const std::vector<std::string>& texts, const std::string& tree) {
  const testing::Array array = testing::make_texts(texts);
  return encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
}

struct Rows {
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<std::string> c;
  std::vector<int32_t> d;
  std::vector<uint8_t> a_valid;
  std::vector<uint8_t> b_valid;
};

Rows random_rows(size_t rows, uint64_t seed, bool one_mode) {
  static const char* const kModes[] = {"AIR", "MAIL", "RAIL", "SHIP", "TRUCK"};
  static const char* const kColours[] = {"green", "blue", "forest green", "lace", "dark greenish"};
  std::mt19937_64 random(seed);
  Rows out;
  out.a = testing::sentences(rows, seed);
  for (size_t i = 0; i < rows; ++i) {
    out.b.emplace_back(one_mode ? "TRUCK" : kModes[random() % std::size(kModes)]);
    out.c.push_back(std::string(kColours[random() % std::size(kColours)]) + " part " + std::to_string(random() % 50));
    out.d.push_back(static_cast<int32_t>(random() % 1000));
    out.a_valid.push_back(random() % 5 != 0);
    out.b_valid.push_back(random() % 7 != 0);
  }
  return out;
}

// The sample's filter: b = 'TRUCK' and c like '%green%' and (a < 'middle' or b in ('RAIL', 'AIR') or d > 500 or b is
// null).
bool passes(const Rows& rows, size_t i) {
  return rows.b_valid[i] != 0 && rows.b[i] == "TRUCK" && rows.c[i].find("green") != std::string::npos &&
         ((rows.a_valid[i] != 0 && rows.a[i] < "middle") || rows.d[i] > 500);
}

TEST(EmulatedStringsKernel, AsGenerated) {
  const samples::Sample sample = samples::tests_of_strings();
  const device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.slot_words, device::kSlotWords);
  constexpr size_t kRows = 3 * kTileRows - 100;
  std::vector<Node> nodes;
  nodes.reserve(16);
  std::vector<Buffer> tables;
  std::vector<uint64_t> slots(2 * size_t{device::kSlotWords}, 0);
  std::vector<uint32_t> work;
  uint64_t rows = 0;
  uint64_t counted = 0;
  int128_t sum = 0;
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    const Rows data = random_rows(kRows, 5 + chunk, chunk == 1);
    uint64_t* slot = slots.data() + size_t{chunk} * device::kSlotWords;
    slot[0] = kRows;
    const auto place = [&](uint32_t at, uint64_t shape, Node node) {
      nodes.push_back(std::move(node));
      slot[at] = shape;
      const std::vector<uint64_t> words = descriptor_of(view_of(nodes.back()));
      std::copy(words.begin(), words.end(), slot + at + 1);
      return view_of(nodes.back());
    };
    const NodeView texts[] = {
        place(plan.columns[0].value_at, chunk,
              encoded_texts(data.a, chunk == 0 ? "strings(packed, plain)" : "strings(packed, fsst(packed))")),
        place(
            plan.columns[1].value_at, chunk,
            encoded_texts(data.b, chunk == 0 ? "dict(packed, strings(packed, plain))" : "strings(constant, constant)")),
        place(plan.columns[2].value_at, 0,
              encoded_texts(data.c, "strings(packed, tokens(packed, packed, strings(packed, plain)))"))};
    place(plan.columns[3].value_at, 0, encoded(data.d, "packed", Physical::kI32));
    place(plan.columns[0].validity_at, 1, encoded(data.a_valid, "packed", Physical::kU8));
    place(plan.columns[1].validity_at, 1, encoded(data.b_valid, "packed", Physical::kU8));
    for (const device::TextPlan& text : plan.texts) {
      const NodeView& node = texts[text.column];
      tables.push_back(node.codec->text_alphabet(node)->table(*text.automaton));
      slot[text.table_at] = reinterpret_cast<uint64_t>(tables.back().data());
    }
    for (uint32_t tile = 0; tile < tile_count(kRows); ++tile) work.push_back(device::make_work(chunk, tile, false));
    for (size_t i = 0; i < kRows; ++i) {
      if (!passes(data, i)) continue;
      ++rows;
      sum += data.d[i];
      counted += data.a_valid[i];
    }
  }
  uint64_t record[device::kRecordHead + 3 * device::kRecordAggregate] = {};
  device::Parameters parameters{};
  parameters.work = work.data();
  parameters.work_count = static_cast<uint32_t>(work.size());
  parameters.slots = slots.data();
  parameters.partials = record;
  std::copy(plan.literals.begin(), plan.literals.end(), parameters.literals);
  EmulatedWarp::run([&] { device::strings_scan(parameters); });
  EXPECT_GT(rows, 100u);
  EXPECT_EQ(record[device::kRecordRows], rows);
  EXPECT_EQ(record[device::kRecordFlags], 0u);
  EXPECT_EQ(record[device::kRecordTexts], work.size());
  const uint64_t* own = record + device::kRecordHead;
  EXPECT_EQ(own[0], rows);
  EXPECT_TRUE(static_cast<int128_t>(static_cast<uint128_t>(own[6]) << 64 | own[5]) == sum);
  EXPECT_EQ(own[8], counted);
}

}  // namespace
}  // namespace basalt::test
