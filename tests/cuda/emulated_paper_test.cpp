// What our learned integers are measured against, run on the CPU: the published layout decodes to the values that it
// was made of, and FP64 predictions over our own layout rebuild what stepping row by row says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "basalt/codec/codec.h"
#include "bench/paper/cut.h"
#include "core/dispatch.h"
#include "cuda/device_arrays.h"
#include "gen/l3.h"
//
#include "cuda/emulated_warp.h"
//
#include "bench/l3_fp64.h"
#include "bench/paper/kernels.cuh"

namespace basalt::test {
namespace {

using paper::Kind;

template <typename T>
void expect_published(const std::vector<int64_t>& values, const std::vector<paper::Part>& parts,
                      const std::string& place) {
  paper::Streams streams = paper::pack(values, parts);
  streams.payload.resize(streams.payload.size() + paper::kPaddingWords);
  for (const uint32_t warps : {1u, 4u}) {
    std::vector<T> out(values.size());
    std::vector<uint64_t> shared(paper::shared_bytes<T>(streams.most_runs) / sizeof(uint64_t) + 1);
    for (uint32_t p = 0; p < parts.size(); ++p) {
      EmulatedBlock::run(warps * kLanes, [&] {
        paper::decode_partition<T>({streams.records.data(), streams.params.data(), streams.payload.data()}, p,
                                   out.data(), shared.data());
      });
    }
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<T>(values[i])) << place << ", row " << i << ", warps " << warps;
    }
  }
}

Table rows_of(const L3Set& set, uint64_t rows) { return L3Generator(set, rows).next(rows); }

std::vector<int64_t> widened(const Table& table) {
  const Column& column = table.columns[0];
  std::vector<int64_t> out(table.rows);
  dispatch_typed(physical_of(column.type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      for (uint64_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(column.values.as<T>()[i]);
    }
  });
  return out;
}

TEST(EmulatedPaper, EverySetDecodes) {
  std::array<uint64_t, paper::kKinds> kinds{};
  for (const L3Set& set : l3_sets()) {
    const std::vector<int64_t> values = widened(rows_of(set, std::min<uint64_t>(set.rows, 20'100)));
    const std::vector<paper::Part> parts = paper::cut(values);
    for (const paper::Part& part : parts) ++kinds[static_cast<size_t>(part.kind)];
    // What sizes are stated by is what a reader needs.
    EXPECT_EQ(paper::size_of(parts).bytes, paper::pack(values, parts).bytes()) << set.name;
    if (set.type == TypeKind::kUInt64) {
      expect_published<uint64_t>(values, parts, set.name);
    } else {
      expect_published<uint32_t>(values, parts, set.name);
    }
  }
  const std::vector<int64_t> same(5000, 7);
  const std::vector<paper::Part> constants = paper::cut(same);
  for (const paper::Part& part : constants) ++kinds[static_cast<size_t>(part.kind)];
  expect_published<uint64_t>(same, constants, "one value");
  for (const uint64_t count : kinds) EXPECT_GT(count, 0u);  // every kind was met
}

TEST(EmulatedPaper, EveryWidthAndLength) {
  std::mt19937_64 random(3);
  for (uint32_t width = 0; width <= 64; ++width) {
    for (const uint32_t rows : {1u, 33u, 256u, 2048u, 2049u, 8192u}) {
      if (rows > 2048 && width % 8 > 1) continue;
      paper::Part part;
      part.rows = rows;
      part.width = width;
      part.base = -5;
      std::vector<int64_t> values;
      for (uint32_t i = 0; i < rows; ++i) {
        values.push_back(static_cast<int64_t>(static_cast<uint64_t>(part.base) + (random() & low_bits(width))));
      }
      const std::string place = std::to_string(width) + " bits, " + std::to_string(rows) + " rows";
      expect_published<uint64_t>(values, {part}, place);
      if (width == 0 || width > 50) continue;
      // Dyadic coefficients: predictions are exact, so the test can make the values.
      for (uint32_t degree = 1; degree <= 3; ++degree) {
        part.kind = static_cast<Kind>(degree);
        part.theta = {1000.25, 3.5, degree > 1 ? 0.125 : 0, degree > 2 ? -0.0625 : 0};
        for (uint32_t i = 0; i < rows; ++i) {
          const double x = i;
          const double y = 1000.25 + x * (3.5 + x * (part.theta[2] + x * part.theta[3]));
          const uint64_t residual = paper::extend(random() & low_bits(width), width);
          values[i] = static_cast<int64_t>(static_cast<uint64_t>(static_cast<int64_t>(std::rint(y))) + residual);
        }
        expect_published<uint64_t>(values, {part}, place + ", degree " + std::to_string(degree));
      }
    }
  }
}

// By strips, against one row at a time; says how many rows differ from the column's.
template <typename T, typename Predictions>
uint64_t expect_fp64(const std::vector<T>& values, const NodeView& node, const std::string& place) {
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  const auto rows = static_cast<uint32_t>(values.size());
  std::vector<T> out(values.size());
  static device::TileStripScratch<T> scratch;
  EmulatedWarp::run([&] {
    const uint32_t lane = device::lane_id();
    for (uint32_t first = 0; first < device::tiles_of(rows); first += device::kStripTiles) {
      const uint32_t count = std::min(device::tiles_of(rows) - first, device::kStripTiles);
      device::feed_strip<T, device::ResidualFetch::kPrefetch>(
          device::l3_chunk(descriptor.data()), {first, 1, count}, scratch, [&](uint32_t tile) {
            const uint32_t here = device::rows_of_tile(rows, tile);
            return device::StoreRows<T, Predictions>{out.data() + size_t{tile} * kTileRows + lane,
                                                     here > lane ? here - lane : 0};
          });
    }
  });
  uint64_t different = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    EXPECT_EQ(out[i], bench::SteppedInFp64<T>()(descriptor.data(), 0, i)) << place << ", row " << i;
    different += out[i] != values[i] ? 1 : 0;
  }
  return different;
}

TEST(EmulatedPaper, Fp64PredictionsOverOurLayout) {
  for (const char* name : {"linear", "normal", "books", "wiki", "libio", "osm", "cosmos", "polylog"}) {
    const L3Set& set = find_l3_set(name);
    const Table table = rows_of(set, std::min<uint64_t>(set.rows, 20'000));
    const auto test = [&](auto tag, Physical type) {
      using T = decltype(tag);
      const T* first = table.columns[0].values.as<T>();
      const std::vector<T> values(first, first + table.rows);
      const Node node = encoded(values, "l3", type);
      const uint64_t converted = expect_fp64<T, bench::Fp64<false>>(values, view_of(node), name);
      const uint64_t added = expect_fp64<T, bench::Fp64<true>>(values, view_of(node), name);
      EXPECT_EQ(converted, added) << name;
      // 53 bits instead of 64 seldom matter, and where they do a prediction passes a whole number.
      EXPECT_LT(converted, values.size() / 50) << name;
    };
    if (set.type == TypeKind::kUInt64) {
      test(uint64_t{}, Physical::kU64);
    } else {
      test(uint32_t{}, set.type == TypeKind::kInt32 ? Physical::kI32 : Physical::kU32);
    }
  }
}

}  // namespace
}  // namespace basalt::test
