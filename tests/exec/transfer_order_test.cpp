// Johnson's order is the best of all orders; the pipeline with a capped ring ends when one that is played step by step
// does.
#include "exec/transfer_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace basalt::exec {
namespace {

// Whole numbers of seconds: sums are exact.
std::vector<TransferBlock> random_blocks(std::mt19937_64& random, size_t count) {
  std::vector<TransferBlock> out(count);
  for (TransferBlock& block : out) {
    block = {static_cast<double>(random() % 10), static_cast<double>(random() % 10), 1 + random() % 8};
  }
  return out;
}

TransferOrder given_order(size_t count) {
  TransferOrder order(count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

double best_of_all(const std::vector<TransferBlock>& blocks, uint64_t cap) {
  TransferOrder order = given_order(blocks.size());
  double best = 1e300;
  do {
    best = std::min(best, pipeline_seconds(blocks, order, cap));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// The pipeline second after second: a copy and a kernel at work, and what the ring holds.
double played(const std::vector<TransferBlock>& blocks, const TransferOrder& order, uint64_t cap) {
  size_t copied = 0, done = 0, started = 0;
  double copy_left = 0, kernel_left = 0;
  bool copying = false, running = false;
  uint64_t held = 0;
  for (double now = 0;; ++now) {
    for (bool moved = true; moved;) {  // what takes no time
      moved = false;
      if (copying && copy_left == 0) copying = false, ++copied, moved = true;
      if (running && kernel_left == 0) running = false, held -= blocks[order[done++]].bytes, moved = true;
      if (!copying && started < order.size() && (held == 0 || held + blocks[order[started]].bytes <= cap)) {
        copy_left = blocks[order[started]].copy;
        held += blocks[order[started++]].bytes;
        copying = moved = true;
      }
      if (!running && done < copied) kernel_left = blocks[order[done]].kernel, running = moved = true;
    }
    if (done == order.size()) return now;
    copy_left -= copying ? 1 : 0;
    kernel_left -= running ? 1 : 0;
  }
}

TEST(TransferOrder, JohnsonsOrderIsTheBestOfAll) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 600; ++round) {
    const auto blocks = random_blocks(random, 1 + random() % 6);
    const TransferOrder order = johnson_order(blocks);
    TransferOrder sorted = order;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, given_order(blocks.size()));
    EXPECT_EQ(pipeline_seconds(blocks, order), best_of_all(blocks, kNoCap));
  }
}

TEST(TransferOrder, TheLastKernelEndsByTheFormula) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const auto blocks = random_blocks(random, 1 + random() % 12);
    const TransferOrder order = johnson_order(blocks);
    double longest = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      double seconds = 0;
      for (size_t i = 0; i <= k; ++i) seconds += blocks[order[i]].copy;
      for (size_t i = k; i < order.size(); ++i) seconds += blocks[order[i]].kernel;
      longest = std::max(longest, seconds);
    }
    EXPECT_EQ(pipeline_seconds(blocks, order), longest);
  }
}

TEST(TransferOrder, ACappedRingMakesCopiesWait) {
  const std::vector<TransferBlock> blocks = {{2, 5, 4}, {2, 1, 4}, {2, 1, 4}};
  const TransferOrder order = {0, 1, 2};
  EXPECT_EQ(pipeline_seconds(blocks, order), 9);      // 2, then kernels 5 + 1 + 1
  EXPECT_EQ(pipeline_seconds(blocks, order, 8), 10);  // the third copy waits for the first kernel: 7 + 2 + 1
  EXPECT_EQ(pipeline_seconds(blocks, order, 4), 13);  // no overlap
  EXPECT_EQ(pipeline_seconds(blocks, order, 1), 13);  // larger than the ring: alone in it
  EXPECT_EQ(pipeline_seconds({}, {}), 0);
}

TEST(TransferOrder, ThePipelineIsWhatPlayingItGives) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    const auto blocks = random_blocks(random, random() % 9);
    TransferOrder order = given_order(blocks.size());
    std::shuffle(order.begin(), order.end(), random);
    const uint64_t cap = 1 + random() % 24;
    EXPECT_EQ(pipeline_seconds(blocks, order, cap), played(blocks, order, cap)) << round;
  }
}

TEST(TransferOrder, IsNeverWorseThanTheOrderThatIsThere) {
  std::mt19937_64 random(4);
  int capped = 0;
  for (int round = 0; round < 500; ++round) {
    const auto blocks = random_blocks(random, 2 + random() % 5);
    const uint64_t cap = 4 + random() % 20;
    const double taken = pipeline_seconds(blocks, best_transfer_order(blocks, cap), cap);
    EXPECT_LE(taken, pipeline_seconds(blocks, given_order(blocks.size()), cap));
    EXPECT_GE(taken, best_of_all(blocks, kNoCap));
    capped += pipeline_seconds(blocks, johnson_order(blocks), cap) > taken ? 1 : 0;
  }
  EXPECT_GT(capped, 0);  // there are rings in which Johnson's order is not the better one
}

}  // namespace
}  // namespace basalt::exec
