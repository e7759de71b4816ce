// Work lists hold every tile that statistics leave, once and in order, and reports count the others.
#include "exec/tile_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/device/work.h"

namespace basalt::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Decision kUnknown = Decision::kUnknown;
constexpr Decision kNone = Decision::kNone;
constexpr Decision kAll = Decision::kAll;
constexpr uint32_t kZone = kTilesPerZone;

TEST(TileRuns, NeighboursThatAreDecidedAlikeAreOneRun) {
  TileCounts counts;
  EXPECT_THAT(tile_runs({kUnknown, kUnknown, kNone, kAll, kAll, kUnknown}, 6 * kZone - 3, counts),
              ElementsAre(TileRun{0, 2 * kZone, false}, TileRun{3 * kZone, 5 * kZone, true},
                          TileRun{5 * kZone, 6 * kZone - 3, false}));
  EXPECT_EQ(counts.skipped, kZone);
  EXPECT_EQ(counts.all_true, 2 * kZone);
  EXPECT_EQ(counts.decoded, 3 * kZone - 3);
}

TEST(TileRuns, AChunkThatIsRuledOutHasNone) {
  TileCounts counts;
  EXPECT_THAT(tile_runs({kNone, kNone}, kZone + 1, counts), IsEmpty());
  EXPECT_EQ(counts.skipped, kZone + 1);
}

TEST(TileRuns, WorkNamesSlotTileAndFlag) {
  const std::vector<TileRun> runs{{2, 4, false}, {7, 8, true}};
  std::vector<uint32_t> work(tiles_of(runs) + 1, 99);
  EXPECT_EQ(write_work(runs, 5, work.data()), work.data() + 3);
  EXPECT_THAT(work, ElementsAre(device::make_work(5, 2, false), device::make_work(5, 3, false),
                                device::make_work(5, 7, true), 99));
}

}  // namespace
}  // namespace basalt::exec
