// Trees of any shape up to six levels are decoded on the device as on the CPU, or refused with a reason before.
#include "basalt/file/reader.h"
#include "codec/random_trees.h"
#include "cuda/gpu.h"

namespace basalt::test {
namespace {

DataType type_of(Physical type) {
  switch (type) {
    case Physical::kU8: return {TypeKind::kUInt8};
    case Physical::kI16: return {TypeKind::kInt16};
    case Physical::kI32: return {TypeKind::kInt32};
    case Physical::kU64: return {TypeKind::kUInt64};
    case Physical::kI128: return {TypeKind::kInt128};
    case Physical::kF32: return {TypeKind::kFloat32};
    case Physical::kF64: return {TypeKind::kFloat64};
    default: return {TypeKind::kBinary};
  }
}

TEST(GpuRandomTrees, DecodeLikeTheCpu) {
  BASALT_NEEDS_GPU();
  constexpr uint32_t kTrees = 150;
  uint32_t decoded = 0;
  testing::for_random_trees(2, kTrees, 6, 4000, [&](const testing::RandomNode& one) {
    SCOPED_TRACE(to_string(one.tree) + " of " + to_string(one.array.values.type));
    const NodeView view = view_of(one.node);
    if (!gpu().backend->why_not_decode(view).empty()) return;
    const DataType type = type_of(one.array.values.type);
    EXPECT_TRUE(equal(gpu().backend->decode(view, type), decode_rows(view, type, 0, view.count)));
    ++decoded;
  });
  EXPECT_GT(decoded, kTrees / 2);
}

}  // namespace
}  // namespace basalt::test
