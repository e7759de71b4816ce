// Readers of runs, run on the CPU lane by lane: tiles of runs of all lengths, runs expanded to memory, and damage that
// only the values show.
#include <gtest/gtest.h>

#include <array>

#include "cuda/emulated_trees.h"
//
#include "codec/delta/gpu/kernels.cuh"
#include "codec/delta/layout.h"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/dict/layout.h"
#include "codec/l3/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/expand.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "codec/rle/layout.h"
#include "codec/stride/gpu/kernels.cuh"

namespace basalt::test {
namespace {

using device::Delta;
using device::Dict;
using device::L3;
using device::Packed;
using device::Plain;
using device::Rle;
using device::Widths;

using Some = Widths<1, 6, 8, 10, 13, 33, 40>;

TEST(EmulatedRuns, Runs) {
  check_tree<Rle<uint32_t, Packed<uint32_t, Some>, Packed<uint32_t, Some>>>("rle(packed, packed)", Physical::kU32);
  check_tree<Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>>("rle(packed, packed)", Physical::kU64);
  check_tree<Rle<uint64_t, Packed<uint64_t, device::AllWidths>, Packed<uint32_t, device::AllWidths>>>(
      "rle(packed, packed)", Physical::kU64);
  check_tree<Rle<uint64_t, Plain<uint64_t>, Delta<uint32_t, Packed<uint32_t>>>>("rle(plain, delta(packed))",
                                                                                Physical::kU64);
  check_tree<Rle<uint32_t, Packed<uint32_t, Some>, Delta<uint32_t, Packed<uint32_t, Some>>>>(
      "rle(packed, delta(packed))", Physical::kU32);
  check_tree<Rle<uint16_t, Dict<uint16_t, Packed<uint32_t>, Plain<uint16_t>>, Delta<uint32_t, L3<uint32_t>>>>(
      "rle(dict(packed, plain), delta(l3))", Physical::kU16);
}

// Where runs begin is said by the tiles' entries, and ends that are sums start from there: entries that the ends do not
// agree with are reported, by the tile or by the one before it.
TEST(EmulatedRuns, EntriesOfSummedRunsAreChecked) {
  Random random(17);
  int kept = 0;
  for (int round = 0; round < 300; ++round) {
    const uint64_t longest = std::array<uint64_t, 4>{2, 4, 30, 3000}[static_cast<size_t>(round) % 4];
    const std::vector<uint32_t> values = runs<uint32_t>(random, 9000, longest, 1000);
    Node node = encoded(values, "rle(packed, delta(packed))", Physical::kU32);
    Buffer& damaged = round % 3 == 0   ? node.streams[rle::kTileEntries]
                      : round % 3 == 1 ? node.children[rle::kRunEnds].streams[delta::kCheckpoints]
                                       : node.children[rle::kRunEnds].children[delta::kDeltas].streams.back();
    if (damaged.empty()) continue;
    damaged.data()[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const NodeView view = view_of(node);
    try {
      validate_tree(view);
    } catch (const Error&) {
      continue;
    }
    ++kept;
    const std::unique_ptr<Reader> reader = open_reader(view);
    std::vector<uint32_t> expected(device::tiles_of(static_cast<uint32_t>(values.size())) * kTileRows);
    for (uint32_t tile = 0; tile * kTileRows < values.size(); ++tile) {
      reader->decode_tile(tile, expected.data() + size_t{tile} * kTileRows);
    }
    std::vector<uint32_t> out(values.size());
    uint32_t bad = 0;
    EmulatedWarp::run([&] {
      device::decode_array<Rle<uint32_t, Packed<uint32_t>, Delta<uint32_t, Packed<uint32_t>>>>(
          descriptor_of(view).data(), out.data(), &bad);
    });
    EXPECT_TRUE(bad != 0 || !reader->corrupt()) << "round " << round;
    if (bad != 0) continue;
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(out[i], expected[i]) << "round " << round << ", row " << i;
  }
  EXPECT_GT(kept, 100);
}

// A code beyond the entries shows when its row is read, below other codecs, too.
TEST(EmulatedRuns, DamageBelowIsReported) {
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 3000; ++i) values.push_back(1000 * i + i * 7919 % 50);
  Node node = encoded(values, "stride(dict(packed, plain))", Physical::kU64);
  Node& dictionary = node.children[0];
  const auto* entries = reinterpret_cast<const uint64_t*>(dictionary.children[dict::kEntries].streams[0].data());
  const std::vector<uint64_t> fewer(entries, entries + dictionary.children[dict::kEntries].count - 1);
  using Reader = device::Stride<uint64_t, Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>>;
  const auto is_bad = [&] {
    std::vector<uint64_t> out(values.size());
    uint32_t bad = 0;
    const NodeView view = view_of(node);
    EmulatedWarp::run([&] { device::decode_array<Reader>(descriptor_of(view).data(), out.data(), &bad); });
    return bad != 0;
  };
  EXPECT_FALSE(is_bad());
  dictionary.children[dict::kEntries] = encoded(fewer, "plain", Physical::kU64);
  EXPECT_TRUE(is_bad());
}

// Decodes every tile with the expander that decodes to memory; says whether it found the runs wrong.
template <typename T>
bool expand(const NodeView& node, std::vector<T>& out) {
  using Expander = device::RunExpander<T, device::WidthsUpTo<32>, device::WidthsUpTo<20>>;
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  alignas(16) static unsigned char scratch[Expander::kScratchBytes];
  alignas(16) static T tile_rows[kTileRows];
  out.resize(node.count);
  bool bad = false;
  for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
    const uint32_t rows = rows_in_tile(node.count, tile);
    EmulatedWarp::run([&] {
      Expander expander(descriptor.data(), scratch);
      if (expander.expand(tile, rows, tile_rows)) bad = true;
    });
    std::copy_n(tile_rows, rows, out.begin() + static_cast<std::ptrdiff_t>(tile) * kTileRows);
  }
  return bad;
}

template <typename T>
void check_expander(Physical type) {
  Random random(6);
  for (const size_t rows : {size_t{1}, size_t{1023}, size_t{1024}, size_t{5000}}) {
    for (const uint64_t longest : {1, 3, 12, 40, 300, 2000}) {
      const std::vector<T> values = runs<T>(random, rows, longest, uint64_t{1} << 40);
      const Node node = encoded(values, "rle(packed, packed)", type);
      std::vector<T> out;
      const std::string place = std::to_string(rows) + " rows, runs up to " + std::to_string(longest);
      EXPECT_FALSE(expand(view_of(node), out)) << place;
      EXPECT_TRUE(out == values) << place;
    }
  }
}

TEST(EmulatedRuns, RunsExpandedToMemory) {
  check_expander<uint32_t>(Physical::kU32);
  check_expander<uint64_t>(Physical::kU64);
}

// Behind the last run, the children have rows that mean nothing; the tile before the last comes close to them, too.
TEST(EmulatedRuns, RunsNearTheEndOfTheirChildren) {
  Random random(8);
  for (uint64_t count = 1024; count < 1400; count += 17) {
    std::vector<uint32_t> values;
    for (uint64_t run = 0; run < count; ++run) values.insert(values.end(), 1 + below(random, 14), run * 7 % 1001);
    const Node node = encoded(values, "rle(packed, packed)", Physical::kU32);
    std::vector<uint32_t> out;
    EXPECT_FALSE(expand(view_of(node), out)) << count;
    EXPECT_TRUE(out == values) << count;
  }
}

// Run ends in any other order, equal ones, and ends that leave their tile are found out, as by the tile reader.
TEST(EmulatedRuns, ExpandedRunsMustAscend) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const uint64_t longest = std::array<uint64_t, 4>{1, 4, 30, 300}[static_cast<size_t>(round) % 4];
    const std::vector<uint32_t> values = runs<uint32_t>(random, 3000, longest, 1000);
    Node node = encoded(values, "rle(packed, packed)", Physical::kU32);
    std::vector<uint32_t> ends(node.children[1].count);
    if (ends.size() < 2) continue;
    std::array<uint32_t, kTileRows> decoded;
    for (uint32_t tile = 0; tile < tile_count(ends.size()); ++tile) {
      open_reader(view_of(node.children[1]))->decode_tile(tile, decoded.data());
      std::copy_n(decoded.data(), rows_in_tile(ends.size(), tile),
                  ends.begin() + static_cast<std::ptrdiff_t>(tile) * kTileRows);
    }
    const size_t at = random() % (ends.size() - 1);
    switch (random() % 3) {
      case 0: std::swap(ends[at], ends[random() % ends.size()]); break;
      case 1: ends[at] = ends[at + 1]; break;
      default: ends[at] = static_cast<uint32_t>(random() % 4000);
    }
    node.children[1] = encoded(ends, "packed", Physical::kU32);
    const NodeView view = view_of(node);
    uint32_t bad = 0;
    std::vector<uint32_t> out(values.size());
    EmulatedWarp::run([&] {
      device::decode_array<Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>>(descriptor_of(view).data(), out.data(),
                                                                              &bad);
    });
    EXPECT_EQ(expand(view, out), bad != 0) << "round " << round;
  }
}

}  // namespace
}  // namespace basalt::test
