// Timing and tuning of decoders on a GPU: what they say of kernels, that searches keep to their probes, and that what
// is found is launched. Times themselves are for benchmarks.
#include <cstdlib>
#include <filesystem>

#include "basalt/core/error.h"
#include "cuda/gpu.h"
#include "gen/zipflow.h"

namespace basalt::test {
namespace {

constexpr uint64_t kRows = 3 * kMaxChunkRows - 12345;

std::vector<Node> encoded_runs(const char* tree, std::vector<int64_t>& rows) {
  rows = gen::rows_of_runs(gen::zipflow_run_lengths()[7], kRows);
  for (int64_t& row : rows) row %= 4000;  // a dictionary that `ans` can number
  std::vector<Node> nodes;
  for (uint64_t begin = 0; begin < kRows; begin += kMaxChunkRows) {
    Values values;
    values.type = Physical::kI64;
    values.count = std::min<uint64_t>(kMaxChunkRows, kRows - begin);
    values.data = rows.data() + begin;
    nodes.push_back(encode_tree(values, bind_tree(parse_tree(tree), values.type)));
  }
  return nodes;
}

std::vector<NodeView> views_of(const std::vector<Node>& nodes) {
  std::vector<NodeView> out;
  for (const Node& node : nodes) out.push_back(view_of(node));
  return out;
}

TEST(TimedArrays, FusedAndUnfusedDecodersGiveTheSameValues) {
  BASALT_NEEDS_GPU();
  const struct {
    const char* tree;
    uint32_t kernels, unfused;
  } kTrees[] = {
      {"packed", 1, 1},
      {"dict(packed, packed)", 1, 2},
      {"dict(ans, packed)", 2, 3},
      {"rle(packed, packed)", 1, 3},
      {"rle(delta(packed), delta(packed))", 1, 3},
      {"delta(rle(packed, packed))", 1, 2},
  };
  for (const auto& one : kTrees) {
    SCOPED_TRACE(one.tree);
    std::vector<int64_t> rows;
    const std::vector<Node> nodes = encoded_runs(one.tree, rows);
    // Both compare what they decode.
    const DecodeTiming fused = gpu().backend->time_decode(views_of(nodes), false, 1);
    const DecodeTiming unfused = gpu().backend->time_decode(views_of(nodes), true, 1);
    EXPECT_EQ(fused.kernels, one.kernels);
    EXPECT_EQ(unfused.kernels, one.unfused);
    EXPECT_GT(fused.seconds, 0);
    EXPECT_GT(unfused.seconds, 0);
  }
}

TEST(TimedArrays, RefuseWhatTheyCannotTime) {
  BASALT_NEEDS_GPU();
  std::vector<int64_t> rows;
  const std::vector<Node> packed = encoded_runs("packed", rows), delta = encoded_runs("delta(packed)", rows);
  EXPECT_THROW(gpu().backend->time_decode({}, false, 1), Error);
  const std::vector<NodeView> mixed = {view_of(packed[0]), view_of(delta[0])};
  EXPECT_THROW(gpu().backend->time_decode(mixed, false, 1), Error);
  EXPECT_THROW(gpu().backend->tune_decoder(views_of(packed), false), Error) << "precompiled";
}

TEST(TimedArrays, TunedShapesAreNearTheFastestAndKept) {
  BASALT_NEEDS_GPU();
  std::vector<int64_t> rows;
  const std::vector<Node> nodes = encoded_runs("delta(rle(packed, packed))", rows);
  // Not into the cache of whoever runs the tests.
  std::string folder = (std::filesystem::temp_directory_path() / "basalt-tuned-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const TunedDecoder tuned = gpu().backend->tune_decoder(views_of(nodes), true);
  EXPECT_FALSE(std::filesystem::is_empty(folder));
  before == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", saved.c_str(), 1);
  std::filesystem::remove_all(folder);
  EXPECT_LE(tuned.probes, 10u);
  EXPECT_GT(tuned.all_probes, tuned.probes);
  EXPECT_LE(tuned.found_seconds, tuned.before_seconds);
  // Few rows and other work beside: that the search is not lost, not that it is right to 3 %.
  EXPECT_LE(tuned.found_seconds, 1.5 * tuned.fastest_seconds);
  // Launched in the new shape, it decodes the same.
  EXPECT_GT(gpu().backend->time_decode(views_of(nodes), false, 1).seconds, 0);
}

TEST(TimedArrays, TransfersAreTimedInEachOrder) {
  BASALT_NEEDS_GPU();
  std::vector<int64_t> rows;
  const std::vector<Node> packed = encoded_runs("packed", rows), runs = encoded_runs("rle(packed, packed)", rows);
  const std::vector<std::vector<NodeView>> blocks = {views_of(packed), views_of(runs)};
  const TransferTiming timing = gpu().backend->time_transfers(blocks, 3);
  ASSERT_EQ(timing.copies.size(), 2u);
  ASSERT_EQ(timing.kernels.size(), 2u);
  EXPECT_GT(timing.copies[0], timing.copies[1]);
  for (const double seconds : {timing.in_turn, timing.as_given, timing.reordered}) {
    EXPECT_GE(seconds, 0.8 * (timing.copies[0] + timing.copies[1]));
  }
}

}  // namespace
}  // namespace basalt::test
