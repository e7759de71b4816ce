// Range tests of columns of which all chunks are galp(packed): the lanes of a warp describe 16 tiles at once, with the
// literals moved to where they lie in each, and test their exceptions, so that a tile waits for its words only.
#pragma once

#include "codec/galp/gpu/kernels_listed.cuh"
#include "exec/device/tile_groups.cuh"
#include "exec/device/tile_tests.cuh"

namespace basalt::device {

template <typename S, Test kTest, typename Reader>
class TileGroupTest;

template <typename S, Test kTest, typename T, typename UnrolledWidths>
class TileGroupTest<S, kTest, Galp<T, Packed<T, UnrolledWidths>>> {
  using Reader = Galp<T, Packed<T, UnrolledWidths>>;
  using Shape = ShapeTest<S, kTest, Reader>;
  // Which integers pass where they need not be read, which their width says otherwise; kAnything: not known.
  enum Decided : uint32_t { kNone = kMaxPackedWidth + 1, kAll, kAnything };
  struct alignas(16) Tile {
    const uint32_t* words;  // of lane 0
    T first, last;          // packed values that pass, if some do
    ListedExceptions<T> exceptions;
    uint32_t width;  // of integers, or `Decided`
    uint32_t rows;
  };
  static constexpr uint32_t kNoPair = ~0u;
  static constexpr uint32_t kMostEarly = 16;  // exceptions that are tested as their tile is described

 public:
  static constexpr uint32_t kTiles = galp::kTileGroup;  // at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    RowsOfTiles<kTiles> excepted;  // exceptions, if they are tested early
    RowsOfTiles<kTiles> passed;    // those of them that pass
    SharedExceptions exceptions;
    FloatKeyRange<T> range;
    IntegerSpan span;  // of `pair`
    uint32_t pair;
  };
  static_assert(sizeof(Scratch) <= galp::kTileGroupBytes);

  // Once, before tiles are described.
  __device__ __forceinline__ static void begin(Scratch& scratch, int64_t first, int64_t last) {
    if (lane_id() != 0) return;
    scratch.pair = kNoPair;
    scratch.range =
        FloatKeyRange<T>(kTest == Test::kAtMost ? -kNanKey : first, kTest == Test::kAtLeast ? kNanKey : last);
  }

  // By each pair of lanes for a tile of its own, if it `exists`. Not inlined: what it takes in registers would not be
  // there for the words of tiles.
  __device__ __noinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile, Scratch& scratch,
                                               int64_t first, int64_t last) {
    Tile out{};
    out.width = kAnything;
    uint32_t pair = kNoPair;
    Packed<T> integers{};
    if (exists) {
      out.rows = row_count(descriptor) - tile * kTileRows;
      integers.open(descriptor + Reader::kIntegersWord, tile, nullptr);
      const typename Reader::Entry entry = Reader::entry(descriptor, tile);
      if (Reader::is_pair(entry.scheme) && out.exceptions.find(descriptor, entry)) pair = entry.scheme;
    }
    sync_warp();  // nobody reads the last tiles any more
    uint32_t known = scratch.pair;
    IntegerSpan span = scratch.span;
    for_each_distinct(pair, kNoPair, [&](uint32_t here, bool mine) {
      if (here != known) span = integers_between<Reader>(here, first, last);
      known = here;
      if (mine) place(out, integers, span);
    });
    const uint32_t count = out.width == kAnything ? 0 : out.exceptions.count();
    const bool early = count != 0 && count <= kMostEarly;
    if (any_lane(early)) {
      scratch.excepted.clear();
      scratch.passed.clear();
      sync_warp();
      const uint32_t unsound = early && !test_early(out.exceptions, scratch) ? 1 : 0;
      static_assert(kLanesPerTile == 2);
      if ((unsound | shuffle_xor(unsound, 1)) != 0) out.width = kAnything;
    }
    if (is_first_of_tile()) scratch.tiles[own_tile()] = out;
    sync_warp();
    if (lane_id() == 0) {
      scratch.pair = known;
      scratch.span = span;
    }
  }

  // The lane's rows that exist of the tile that was described as number i.
  __device__ __forceinline__ static uint32_t rows(uint32_t i, const Scratch& scratch) {
    return lane_rows(scratch.tiles[i].rows, 0);
  }

  // The lane's rows of that tile with keys from first to last.
  __device__ __forceinline__ static uint32_t mask(const uint64_t* descriptor, uint32_t tile, uint32_t i,
                                                  Scratch& scratch, uint32_t& bad, uint32_t& how, int64_t first,
                                                  int64_t last) {
    const Tile& here = scratch.tiles[i];
    if (here.width == kAnything) {
      how = kByRows;
      const auto tested = Shape::test_values(descriptor, tile, &scratch.exceptions, first, last);
      bad |= tested.bad;
      return tested.mask;
    }
    const uint32_t count = here.exceptions.count();
    const bool shared = count > kMostEarly && count <= galp::kMaxListed;
    typename ListedExceptions<T>::Asked asked{};
    if (shared) asked = here.exceptions.ask(lane_id());
    uint32_t mask = here.width == kAll ? ~0u : 0u;
    if (here.width < kNone) {
      how = kByRows;
      mask = compare(here);
    }
    if constexpr (kTest == Test::kNotEqual) mask = ~mask;
    if (count == 0) return mask;
    how = kByRows;
    const uint32_t lane = lane_id();
    if (count <= kMostEarly) return (mask & ~scratch.excepted.of(i, lane)) | scratch.passed.of(i, lane);
    if (shared) return test_shared(here.exceptions, asked, mask, scratch, bad);
    ExceptionWords words;
    words.ask(here.exceptions.rows, galp::block_words(count, here.exceptions.width(), Reader::kBits));
    const auto tested = Shape::test_exceptions(words.asked(), {mask, 0}, scratch.exceptions, first, last);
    bad |= tested.bad;
    return tested.mask;
  }

 private:
  static constexpr uint32_t kLanesPerTile = kLanes / kTiles;
  __device__ __forceinline__ static uint32_t own_tile() { return lane_id() / kLanesPerTile; }
  __device__ __forceinline__ static bool is_first_of_tile() { return lane_id() % kLanesPerTile == 0; }

  __device__ __forceinline__ static void place(Tile& out, const Packed<T>& integers, const IntegerSpan& span) {
    const GalpNumbers<kTest, T> numbers(integers.reference(), integers.width(), span);
    if (!numbers.sound) return;
    const RawRange range = numbers.within(span);
    out.width = range.none ? kNone : range.all ? kAll : integers.width();
    out.words = integers.words() - (integers.width() == 0 ? 0 : lane_id());
    out.first = static_cast<T>(range.first);
    out.last = static_cast<T>(range.last);
  }

  __device__ __forceinline__ static uint32_t compare(const Tile& here) {
    const uint32_t* words = here.words + lane_id();
    uint32_t mask = 0;
    const bool unrolled = for_width<8 * sizeof(T)>(UnrolledWidths{}, here.width, [&](auto width) {
      mask = raw_rows<kTest>(PackedTile<T, decltype(width)::value>(words, T{0}), here.first, here.last);
    });
    return unrolled ? mask : raw_within(words, here.width, here.first, here.last - here.first);
  }

  // By the lanes of a tile. False: positions that no writer makes.
  __device__ __forceinline__ static bool test_early(const ListedExceptions<T>& exceptions, Scratch& scratch) {
    // More words in flight would take registers from the loop over tiles.
    constexpr uint32_t kAtOnce = sizeof(T) == 8 ? 2 : 4;
    uint32_t rows = 0;
    uint32_t passed = 0;
    const auto test = [&](uint32_t lane, uint32_t row, bool ends, T value) {
      rows |= 1u << row;
      passed |= passes(value, scratch) ? 1u << row : 0;
      if (!ends) return;
      or_shared(&scratch.excepted.of(own_tile(), lane), rows);
      or_shared(&scratch.passed.of(own_tile(), lane), passed);
      rows = passed = 0;
    };
    return exceptions.template for_each<kAtOnce, kLanesPerTile>(lane_id() % kLanesPerTile, test);
  }

  // By all lanes, an exception each: bits that integers have set and exceptions do not, or the other way, are changed.
  __device__ __forceinline__ static uint32_t test_shared(const ListedExceptions<T>& exceptions,
                                                         const typename ListedExceptions<T>::Asked& asked,
                                                         uint32_t mask, Scratch& scratch, uint32_t& bad) {
    uint32_t* passed = scratch.exceptions.passed;
    passed[lane_id()] = mask;
    const bool sound = exceptions.share_out(
        asked, scratch.exceptions.lanes, [&](bool exists, uint32_t of_lane, uint32_t row, T value) {
          const uint32_t bit = exists ? 1u << row : 0;
          const uint32_t wrong = (shuffle(mask, of_lane) & bit) ^ (passes(value, scratch) ? bit : 0);
          if (wrong != 0) flip_shared(passed + of_lane, wrong);
        });
    if (!sound) bad = 1;
    sync_warp();
    return passed[lane_id()];
  }
  __device__ __forceinline__ static bool passes(T value, const Scratch& scratch) {
    return scratch.range.holds(galp::float_of(value)) != (kTest == Test::kNotEqual);
  }
};

// Such a test in generated kernels. kAt and kSlotWords: as of TileGroups.
template <typename S, Test kTest, uint32_t kAt, uint32_t kSlotWords, typename Reader>
class TileGroupFilter {
  using TileTest = TileGroupTest<S, kTest, Reader>;
  using Tiles = TileGroups<kAt, kSlotWords, TileTest>;

 public:
  static constexpr uint32_t kScratchBytes = Tiles::kScratchBytes;

  __device__ __forceinline__ TileGroupFilter(void* scratch, int64_t first, int64_t last) : tiles_(scratch) {
    TileTest::begin(tiles_.scratch, first, last);
  }

  // Goes to the tile at which `work` stands; once for every tile. Its rows that exist, of the lane.
  __device__ __forceinline__ uint32_t next(const Work& work, const uint64_t* slots, int64_t first, int64_t last) {
    number_ = tiles_.next(work, [&](bool exists, uint32_t item) {
      TileTest::describe(exists, Tiles::descriptor(slots, item), work_tile(item), tiles_.scratch, first, last);
    });
    return TileTest::rows(number_, tiles_.scratch);
  }
  // The lane's rows of that tile in the range; `how` rises to what it took.
  __device__ __forceinline__ uint32_t mask(const Work& work, const uint64_t* slots, uint32_t& bad, uint32_t& how,
                                           int64_t first, int64_t last) {
    return TileTest::mask(Tiles::descriptor(slots, work.item()), work.tile(), number_, tiles_.scratch, bad, how, first,
                          last);
  }

 private:
  Tiles tiles_;
  uint32_t number_ = 0;
};

}  // namespace basalt::device
