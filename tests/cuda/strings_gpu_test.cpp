// Strings decoded on the GPU, in all their encodings: every kind of text comes back, long rows included, and damage is
// reported.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>

#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "basalt/file/reader.h"
#include "codec/fsst/layout.h"
#include "codec/fsst_texts.h"
#include "codec/tokens/layout.h"
#include "cuda/gpu.h"
#include "cuda/string_arrays.h"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

const DataType kBinary{TypeKind::kBinary};

void expect_texts(const std::vector<std::string>& texts, const std::string& tree, Effort effort) {
  const testing::Array array = make_texts(texts);
  const Node node = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes), effort);
  EXPECT_EQ(gpu().backend->why_not_decode(view_of(node)), "") << tree;
  const Column decoded = gpu().backend->decode(view_of(node), kBinary);
  ASSERT_EQ(decoded.length, texts.size());
  for (uint64_t i = 0; i < texts.size(); ++i) ASSERT_EQ(decoded.string_at(i), texts[i]) << "row " << i;
}

TEST(GpuFsst, DecodesEveryKindOfBytes) {
  BASALT_NEEDS_GPU();
  for (const TextCase& one : text_cases()) {
    for (const char* tree : {"strings(packed, fsst)", "strings(plain, fsst(delta))"}) {
      for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
        SCOPED_TRACE(std::string(one.name) + ", " + tree);
        expect_texts(one.texts, tree, effort);
      }
    }
  }
}

TEST(GpuFsst, DecodesLongStrings) {
  BASALT_NEEDS_GPU();
  std::vector<std::string> texts = sentences(3000, 7);
  for (const size_t row : {size_t{0}, size_t{1500}, size_t{1501}, size_t{2999}}) {
    std::string text;
    while (text.size() < 30'000'000) text += texts[text.size() % 1400 + 1];
    texts[row] = text;
  }
  expect_texts(texts, "strings(packed, fsst)", Effort::kFast);
}

TEST(GpuFsst, DecodesManyStrings) {
  BASALT_NEEDS_GPU();
  expect_texts(sentences(1 << 20, 8), "strings(packed, fsst)", Effort::kBalanced);
  expect_texts(sentences(100'000, 9), "dict(packed, strings(packed, fsst))", Effort::kBalanced);
}

// Whether decoding the damaged rows ends in an error.
bool refused(const testing::Array& array, const char* tree, const std::function<void(Node&)>& damage) {
  Node node = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
  damage(node);
  try {
    gpu().backend->decode(view_of(node), kBinary);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return true;
  }
  return false;
}

uint32_t* numbers_of(Node& node) { return node.streams[0].as<uint32_t>(); }

TEST(GpuFsst, DamageIsReported) {
  BASALT_NEEDS_GPU();
  std::vector<std::string> texts = sentences(3000, 10);
  texts[100] = std::string(9000, 'x');
  const testing::Array array = make_texts(texts);
  const auto reported = [&](const std::function<void(Node&)>& damage) {
    return refused(array, "strings(plain, fsst(plain))", damage);
  };
  EXPECT_FALSE(reported([](Node&) {}));
  EXPECT_TRUE(reported([](Node& node) { ++numbers_of(node.children[0])[5]; }));
  EXPECT_TRUE(reported([](Node& node) { numbers_of(node.children[0])[5] = 4000000000u; }));
  EXPECT_TRUE(reported([](Node& node) { ++numbers_of(node.children[1].children[0])[50]; }));
  EXPECT_TRUE(reported([](Node& node) { ++node.children[1].streams[fsst::kPieces].as<uint16_t>()[1]; }));
}

TEST(GpuTokens, DecodesEveryKindOfBytes) {
  BASALT_NEEDS_GPU();
  for (const TextCase& one : text_cases()) {
    for (const char* tree :
         {"strings(packed, tokens)", "strings(delta(packed), tokens(l3, rle(packed, packed), strings(packed, fsst)))",
          "strings(plain, tokens(plain, plain, dict(packed, strings(packed, plain))))",
          "dict(packed, strings(packed, tokens))"}) {
      SCOPED_TRACE(std::string(one.name) + ", " + tree);
      expect_texts(one.texts, tree, Effort::kFast);
    }
  }
}

TEST(GpuTokens, DecodesManyAndLongStrings) {
  BASALT_NEEDS_GPU();
  expect_texts(sentences(1 << 20, 8), "strings(packed, tokens)", Effort::kBalanced);
  std::vector<std::string> texts = sentences(3000, 7);
  while (texts[1500].size() < 5'000'000) texts[1500] += texts[texts[1500].size() % 1400 + 1];
  expect_texts(texts, "strings(packed, tokens)", Effort::kFast);
}

TEST(GpuTokens, DamageIsReported) {
  BASALT_NEEDS_GPU();
  const testing::Array array = make_texts(sentences(3000, 10));
  const auto reported = [&](const std::function<void(Node&)>& damage) {
    return refused(array, "strings(plain, tokens(plain, plain, strings(plain, plain)))", damage);
  };
  const auto child = [](Node& node, uint32_t i) { return numbers_of(node.children[1].children[i]); };
  EXPECT_FALSE(reported([](Node&) {}));
  EXPECT_TRUE(reported([](Node& node) { ++numbers_of(node.children[0])[5]; }));
  EXPECT_TRUE(reported([](Node& node) { numbers_of(node.children[0])[5] = 4000000000u; }));
  EXPECT_TRUE(reported([&](Node& node) { child(node, tokens::kIds)[2000] = 4000000000u; }));
  EXPECT_TRUE(reported([&](Node& node) { ++child(node, tokens::kCounts)[50]; }));
  EXPECT_TRUE(reported([&](Node& node) {
    ++child(node, tokens::kCounts)[50];
    --child(node, tokens::kCounts)[51];
  }));
  EXPECT_TRUE(reported([](Node& node) {
    uint32_t* lengths = numbers_of(node.children[1].children[tokens::kEntries].children[0]);
    lengths[1] += lengths[0];
    lengths[0] = 0;
  }));
}

TEST(GpuNumbered, DecodesAndReportsDamage) {
  BASALT_NEEDS_GPU();
  for (const char* tree : {"numbered(packed)", "numbered(plain)", "numbered(delta(packed))"}) {
    SCOPED_TRACE(tree);
    expect_texts(numbered_texts(100'001, "Customer#", 9, 1), tree, Effort::kFast);
    expect_texts(numbered_texts(2000, std::string(4000, 'q'), 19, 2), tree, Effort::kFast);
    expect_texts({}, tree, Effort::kFast);
  }
  const testing::Array array = make_texts(numbered_texts(3000, "id", 5, 3));
  EXPECT_FALSE(refused(array, "numbered(plain)", [](Node&) {}));
  EXPECT_TRUE(
      refused(array, "numbered(plain)", [](Node& node) { node.children[0].streams[0].as<uint64_t>()[1500] = 100000; }));
}

// Whatever is damaged, the verdict is the CPU's, and so are the rows.
TEST(GpuStrings, DamageIsSeenAsTheCpuSeesIt) {
  BASALT_NEEDS_GPU();
  std::mt19937_64 random(9);
  const std::vector<std::string> texts = sentences(2100, 5);
  const std::vector<std::string> numbered = numbered_texts(2100, "Customer#", 4, 6);
  int errors = 0;
  for (const char* tree :
       {"strings(packed, tokens(packed, packed, strings(packed, plain)))",
        "strings(plain, tokens(plain, plain, strings(plain, plain)))", "strings(packed, plain)", "numbered(packed)",
        "dict(packed, strings(packed, tokens))", "dict(plain, strings(plain, plain))"}) {
    const testing::Array array = make_texts(std::string_view(tree).starts_with("numbered") ? numbered : texts);
    const Node intact = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
    for (int round = 0; round < 60; ++round) {
      Node node = intact;
      if (!testing::flip_a_bit(node, random)) continue;
      const auto verdict = [&](const auto& decode) -> std::optional<Column> {
        try {
          validate_tree(view_of(node));
          return decode();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << tree << ": " << error.what();
          return std::nullopt;
        }
      };
      const auto expected = verdict([&] { return decode_rows(view_of(node), kBinary, 0, node.count); });
      const auto got = verdict([&] { return gpu().backend->decode(view_of(node), kBinary); });
      EXPECT_EQ(got.has_value(), expected.has_value()) << tree << ", round " << round;
      if (got && expected) {
        EXPECT_TRUE(equal(*got, *expected)) << tree << ", round " << round;
      }
      errors += got ? 0 : 1;
    }
  }
  EXPECT_GT(errors, 50);
}

// Lengths and codes that do not fit what they name.
TEST(GpuStrings, DamageIsReported) {
  BASALT_NEEDS_GPU();
  const testing::Array array = make_texts(pick(sentences(50, 1), 5000, 2));
  const auto change = [](std::initializer_list<uint32_t> path, uint32_t place, uint32_t value) {
    return [path = std::vector<uint32_t>(path), place, value](Node& node) {
      Node* at = &node;
      for (const uint32_t i : path) at = &at->children[i];
      numbers_of(*at)[place] = value;
    };
  };
  EXPECT_FALSE(refused(array, "strings(plain, plain)", [](Node&) {}));
  EXPECT_TRUE(refused(array, "strings(plain, plain)", change({0}, 5, 4000000000u)));
  EXPECT_TRUE(refused(array, "strings(plain, plain)", change({0}, 4999, 1000)));
  EXPECT_FALSE(refused(array, "dict(plain, strings(plain, plain))", [](Node&) {}));
  EXPECT_TRUE(refused(array, "dict(plain, strings(plain, plain))", change({0}, 4000, 50)));
  EXPECT_TRUE(refused(array, "dict(plain, strings(plain, plain))", change({1, 0}, 3, 1)));
  const testing::Array equal = make_texts(std::vector<std::string>(3000, "DELIVER IN PERSON"));
  EXPECT_FALSE(refused(equal, "strings(plain, constant)", [](Node&) {}));
  EXPECT_TRUE(refused(equal, "strings(plain, constant)", change({0}, 2999, 16)));
}

}  // namespace
}  // namespace basalt::test
