// Compressed strings on the GPU: every kind of text decodes to the rows it was made from, long rows included.
#include <gtest/gtest.h>

#include "basalt/core/error.h"
#include "basalt/plan/tree.h"
#include "codec/fsst/layout.h"
#include "codec/fsst_texts.h"
#include "cuda/gpu.h"

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

TEST(GpuFsst, DamageIsReported) {
  BASALT_NEEDS_GPU();
  std::vector<std::string> texts = sentences(3000, 10);
  texts[100] = std::string(9000, 'x');
  const testing::Array array = make_texts(texts);
  const Tree tree = bind_tree(parse_tree("strings(plain, fsst(plain))"), Physical::kBytes);
  const auto refused = [&](const auto& damage) {
    Node node = encode_tree(array.values, tree);
    damage(node);
    try {
      gpu().backend->decode(view_of(node), kBinary);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](Node&) {}));
  EXPECT_TRUE(refused([](Node& node) { ++node.children[0].streams[0].as<uint32_t>()[5]; }));
  EXPECT_TRUE(refused([](Node& node) { node.children[0].streams[0].as<uint32_t>()[5] = 4000000000u; }));
  EXPECT_TRUE(refused([](Node& node) { ++node.children[1].children[0].streams[0].as<uint32_t>()[50]; }));
  EXPECT_TRUE(refused([](Node& node) { ++node.children[1].streams[fsst::kPieces].as<uint16_t>()[1]; }));
}

}  // namespace
}  // namespace basalt::test
