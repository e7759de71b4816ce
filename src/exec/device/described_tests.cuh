// Range tests of columns of which all chunks are galp(packed): the lanes of a warp describe 32 tiles at once, with the
// literals moved to where they lie in each, so that a tile waits for its words and for its exceptions only, which are
// asked for together.
#pragma once

#include "codec/galp/kernels.cuh"
#include "exec/device/tile_tests.cuh"
#include "exec/device/totals.cuh"

namespace basalt::device {

template <typename S, Test kTest, typename Reader>
class DescribedTest;

template <typename S, Test kTest, typename T, typename UnrolledWidths>
class DescribedTest<S, kTest, Galp<T, Packed<T, UnrolledWidths>>> {
  using Reader = Galp<T, Packed<T, UnrolledWidths>>;
  using Shape = ShapeTest<S, kTest, Reader>;
  // Which integers pass where they need not be read, which their width says otherwise; kAnything: not known.
  enum Decided : uint32_t { kNone = kMaxPackedWidth + 1, kAll, kAnything };
  struct alignas(16) Tile {
    const uint32_t* words;  // of lane 0
    const uint32_t* rows;   // of listed exceptions; or else the block
    T first, last;          // packed values that pass, if some do
    T base, mask;           // an exception is the base and those bits of what is stored
    uint32_t width;         // of integers, or `Decided`
    uint32_t count;         // of exceptions
    uint32_t value_width;
    uint32_t lanes;  // that have exceptions
  };
  static constexpr uint32_t kNoPair = ~0u;

 public:
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    SharedExceptions exceptions;
    IntegerSpan span;  // of `pair`
    uint32_t pair;
  };
  static_assert(sizeof(Scratch) <= galp::kDescribedBytes);

  // Once, before tiles are described.
  __device__ __forceinline__ static void begin(Scratch& scratch) {
    if (lane_id() == 0) scratch.pair = kNoPair;
  }

  // By each lane for a tile of its own, if it `exists`. Not inlined: what it takes in registers would not be there for
  // the words of tiles.
  __device__ __noinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile, Scratch& scratch,
                                               int64_t first, int64_t last) {
    Tile out{};
    out.width = kAnything;
    uint32_t pair = kNoPair;
    Packed<T> integers;
    if (exists) {
      integers.open(descriptor + Reader::kIntegersWord, tile, nullptr);
      const typename Reader::Entry entry = Reader::entry(descriptor, tile);
      if (Reader::is_pair(entry.scheme) && take_exceptions(out, descriptor, entry)) pair = entry.scheme;
    }
    sync_warp();  // nobody reads the last tiles any more
    uint32_t known = scratch.pair;
    IntegerSpan span = scratch.span;
#pragma unroll 1
    for (uint32_t open = ballot(pair != kNoPair); open != 0;) {
      const uint32_t here = shuffle(pair, lowest_bit(open));
      if (here != known) span = integers_between<Reader>(here, first, last);
      known = here;
      if (pair == here) place(out, integers, span);
      open &= ~ballot(pair == here);
    }
    scratch.tiles[lane_id()] = out;
    sync_warp();
    if (lane_id() == 0) {
      scratch.pair = known;
      scratch.span = span;
    }
  }

  // The lane's rows of the tile that was described as number i with keys from first to last.
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
    const uint32_t count = here.count;
    const bool listed = count != 0 && count <= galp::kMaxListed;
    Fetched fetched{};
    if (listed) fetched = fetch(here, lane_id());
    uint32_t mask = here.width == kAll ? ~0u : 0u;
    if (here.width < kNone) {
      how = kByRows;
      mask = compare(here);
    }
    if constexpr (kTest == Test::kNotEqual) mask = ~mask;
    if (count == 0) return mask;
    how = kByRows;
    if (listed) return test_listed(here, fetched, mask, scratch.exceptions, bad, first, last);
    ExceptionWords words;
    words.ask(here.rows, galp::block_words(count, here.value_width, Reader::kBits));
    const auto tested = Shape::test_exceptions(words.asked(), {mask, 0}, scratch.exceptions, first, last);
    bad |= tested.bad;
    return tested.mask;
  }

 private:
  // False: exceptions that no writer makes.
  __device__ __forceinline__ static bool take_exceptions(Tile& out, const uint64_t* descriptor,
                                                         const typename Reader::Entry& entry) {
    if (entry.exceptions_begin == entry.exceptions_end) return true;
    if (entry.exceptions_begin > entry.exceptions_end || entry.exceptions_end > last_stream_words(descriptor)) {
      return false;
    }
    const uint32_t* words = stream<uint32_t>(descriptor, 1 + galp::kExceptions) + entry.exceptions_begin;
    if (!galp::header_fits(words[0], entry.exceptions_end - entry.exceptions_begin, Reader::kBits)) return false;
    const auto block = galp::Exceptions::of(words, Reader::kBits);
    out.rows = block.listed() ? block.positions + 1 : words;
    out.lanes = block.positions[0];
    out.base = static_cast<T>(block.base);
    out.mask = static_cast<T>(low_bits(block.width));
    out.count = block.count;
    out.value_width = block.width;
    return true;
  }

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

  // What a lane asks for of an exception: the word that its row lies in, and those of its value.
  struct Fetched {
    uint32_t row;
    uint32_t words[sizeof(T) / 4 + 1];
  };
  // Of exception i, or the last.
  __device__ __forceinline__ static Fetched fetch(const Tile& here, uint32_t i) {
    const uint32_t count = here.count;
    i = i < count ? i : count - 1;
    const uint32_t width = here.value_width;
    const uint32_t bit = i * width;
    // Values of no bits are their base, whatever is read for them.
    const uint32_t values = width == 0 ? 0 : galp::position_words(count) - 1;
    const uint32_t first = values + bit / 32;
    const uint32_t last = values + (bit + width - (width == 0 ? 0 : 1)) / 32;
    Fetched out;
    out.row = load_now(here.rows + i / 4);
    out.words[0] = load_now(here.rows + first);
    if constexpr (sizeof(T) == 8) out.words[1] = load_now(here.rows + (first + 1 < last ? first + 1 : last));
    out.words[sizeof(T) / 4] = load_now(here.rows + last);
    return out;
  }

  // Sets the bits of exceptions as they pass, one per lane: an exception's lane is the one that has as many before it
  // among those that have some as there are end marks before the exception.
  __device__ __forceinline__ static uint32_t test_listed(const Tile& here, Fetched fetched, uint32_t mask,
                                                         SharedExceptions& shared, uint32_t& bad, int64_t first,
                                                         int64_t last) {
    const uint32_t lane = lane_id();
    const uint32_t below = (1u << lane) - 1;
    const uint32_t lanes = here.lanes;
    const uint32_t count = here.count;
    shared.passed[lane] = mask;
    if ((lanes >> lane & 1) != 0) shared.lanes[population(lanes & below)] = static_cast<uint8_t>(lane);
    sync_warp();
    uint32_t ended = 0;
#pragma unroll 1
    for (uint32_t i = lane;;) {
      const uint32_t row = fetched.row >> i % 4 * 8;
      const uint32_t marks = ballot(i < count && (row & galp::kLastOfLane) != 0);
      const uint32_t of_lane = shared.lanes[(ended + population(marks & below)) % kLanes] % kLanes;
      const bool inside = passes<kTest>(test_key<S>(value(here, i, fetched)), first, last);
      const uint32_t bit = i < count ? 1u << row % kRowsPerLane : 0;
      const uint32_t wrong = (shuffle(mask, of_lane) & bit) ^ (inside ? bit : 0);
      if (wrong != 0) flip_shared(shared.passed + of_lane, wrong);
      ended += population(marks);
      i += kLanes;
      if (i - lane >= count) break;
      fetched = fetch(here, i);
    }
    if (ended != population(lanes)) bad = 1;
    sync_warp();
    return shared.passed[lane];
  }

  __device__ __forceinline__ static T value(const Tile& here, uint32_t i, const Fetched& fetched) {
    const uint32_t shift = i * here.value_width;
    T stored = funnel_right(fetched.words[0], fetched.words[1], shift);
    if constexpr (sizeof(T) == 8) {
      stored |= static_cast<T>(funnel_right(fetched.words[1], fetched.words[2], shift)) << 32;
    }
    return here.base + (stored & here.mask);
  }
};

// Such a test in generated kernels. kAt and kSlotWords: as of DescribedTiles.
template <typename S, Test kTest, uint32_t kAt, uint32_t kSlotWords, typename Reader>
class DescribedTests {
  using TileTest = DescribedTest<S, kTest, Reader>;
  using Tiles = DescribedTiles<kAt, kSlotWords, TileTest>;

 public:
  static constexpr uint32_t kScratchBytes = Tiles::kScratchBytes;

  __device__ __forceinline__ explicit DescribedTests(void* scratch) : tiles_(scratch) {
    TileTest::begin(tiles_.scratch);
  }

  // Goes to the tile at which `work` stands; once for every tile.
  __device__ __forceinline__ void next(const Work& work, const uint64_t* slots, int64_t first, int64_t last) {
    number_ = tiles_.next(work, slots, [&](bool exists, const uint64_t* descriptor, uint32_t tile) {
      TileTest::describe(exists, descriptor, tile, tiles_.scratch, first, last);
    });
  }
  // The lane's rows of that tile in the range; `how` rises to what it took.
  __device__ __forceinline__ uint32_t mask(const Work& work, const uint64_t* slots, uint32_t& bad, uint32_t& how,
                                           int64_t first, int64_t last) {
    return TileTest::mask(Tiles::descriptor(slots, work.slot()), work.tile(), number_, tiles_.scratch, bad, how, first,
                          last);
  }

 private:
  Tiles tiles_;
  uint32_t number_ = 0;
};

}  // namespace basalt::device
