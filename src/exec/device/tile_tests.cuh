// Range tests of one column's tile, and what of it is asked for early: values against literals without decoding them
// where the encoding allows it. Bit k of a lane's 32-bit mask stands for row 32·k + lane.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/answer.h"
#include "core/device/warp.h"
#include "core/float_key.h"
#include "core/packed_tile.h"
#include "exec/device/work.h"

namespace basalt::device {

// Readers of codec/galp/gpu/kernels.cuh, which only kernels over such columns include.
template <typename T, typename Integers>
class Galp;
template <typename T, typename IntegersView, typename Convert>
class GalpView;

// Stored bits → the column's logical type S → the type V that the kernel computes with. Statistics have proven that V
// holds every value, so narrowing drops sign bits only.
template <typename V, typename S, typename Bits>
__device__ __forceinline__ V to_value(Bits bits) {
  if constexpr (SameType<S, float>::value) {
    return static_cast<V>(__uint_as_float(static_cast<uint32_t>(bits)));
  } else if constexpr (SameType<S, double>::value) {
    return static_cast<V>(__longlong_as_double(static_cast<long long>(bits)));
  } else {
    return static_cast<V>(static_cast<S>(bits));
  }
}

// What a tile's first loads bring, asked for before any column is tested, so that the columns' waits do not add up.
// This one asks for nothing.
class NoPrefetch {
 public:
  NoPrefetch() = default;
  __device__ __forceinline__ NoPrefetch(const uint64_t*, uint32_t) {}
  template <typename Reader>
  __device__ __forceinline__ void open(Reader& reader, const uint64_t* descriptor, uint32_t tile, void* scratch) const {
    reader.open(descriptor, tile, scratch);
  }
  __device__ __forceinline__ const NoPrefetch& codes() const { return *this; }
};
template <typename Reader>
class Prefetch : public NoPrefetch {
 public:
  using NoPrefetch::NoPrefetch;
};
template <typename T, typename UnrolledWidths>
class Prefetch<Packed<T, UnrolledWidths>> {
  using Reader = Packed<T, UnrolledWidths>;

 public:
  __device__ __forceinline__ Prefetch(const uint64_t* descriptor, uint32_t tile) {
    Reader reader;
    reader.bind(descriptor);
    entry_ = reader.entry_now(tile);
  }
  __device__ __forceinline__ void open(Reader& reader, const uint64_t* descriptor, uint32_t, void*) const {
    reader.bind(descriptor);
    reader.seek_known(entry_.descriptor, entry_.reference);
  }

 private:
  typename Reader::Entry entry_;
};
template <typename T, typename Codes, typename Entries>
class Prefetch<Dict<T, Codes, Entries>> {
  using Reader = Dict<T, Codes, Entries>;

 public:
  __device__ __forceinline__ Prefetch(const uint64_t* descriptor, uint32_t tile)
      : codes_(descriptor + Reader::kCodesWord, tile) {}
  __device__ __forceinline__ void open(Reader& reader, const uint64_t* descriptor, uint32_t tile, void* scratch) const {
    reader.open_by(descriptor, tile,
                   [&](Codes& codes) { codes_.open(codes, descriptor + Reader::kCodesWord, tile, scratch); });
  }
  __device__ __forceinline__ const Prefetch<Codes>& codes() const { return codes_; }

 private:
  Prefetch<Codes> codes_;
};

template <typename T, typename Integers>
class Prefetch<Galp<T, Integers>> {
  using Reader = Galp<T, Integers>;

 public:
  __device__ __forceinline__ Prefetch(const uint64_t* descriptor, uint32_t tile)
      : integers_(descriptor + Reader::kIntegersWord, tile), entry_(Reader::entry(descriptor, tile)) {}
  __device__ __forceinline__ void open(Reader& reader, const uint64_t* descriptor, uint32_t tile, void* scratch) const {
    reader.open_by(descriptor, tile, entry_,
                   [&](Integers& integers) { open_integers(integers, descriptor, tile, scratch); });
  }
  __device__ __forceinline__ void open_integers(Integers& integers, const uint64_t* descriptor, uint32_t tile,
                                                void* scratch) const {
    integers_.open(integers, descriptor + Reader::kIntegersWord, tile, scratch);
  }
  __device__ __forceinline__ const typename Reader::Entry& entry() const { return entry_; }

 private:
  Prefetch<Integers> integers_;
  typename Reader::Entry entry_;
};

// What tests of a column of type S compare: the values, or the keys of floats, which give NaN and −0.0 their places.
template <typename S>
constexpr bool kIsReal = SameType<S, float>::value || SameType<S, double>::value;
template <typename S>
using TestKey = typename SelectType<kIsReal<S>, int64_t, S>::type;
template <typename S, typename Bits>
__device__ __forceinline__ TestKey<S> test_key(Bits bits) {
  if constexpr (kIsReal<S>) {
    return float_key_of_bits(bits);
  } else {
    return to_value<S, S>(bits);
  }
}

// Which side of a range a test has. Literals are of the column's own type, or keys.
enum class Test { kAtMost, kAtLeast, kBetween, kNotEqual };

template <Test kTest, typename Key>
__device__ __forceinline__ bool passes(Key key, Key first, Key last) {
  const bool inside = (kTest == Test::kAtMost || key >= first) && (kTest == Test::kAtLeast || key <= last);
  return inside != (kTest == Test::kNotEqual);
}
template <typename S, Test kTest, uint32_t kUnrolled, typename View>
__device__ __forceinline__ uint32_t test_rows(View& view, TestKey<S> first, TestKey<S> last) {
  uint32_t mask = 0;
#pragma unroll kUnrolled
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    mask |= static_cast<uint32_t>(passes<kTest>(test_key<S>(view.at(k)), first, last)) << k;
  }
  return mask;
}

// The lane's rows with first ≤ value ≤ last (or ≠ first); `how` rises to what it took.
template <typename S, Test kTest, typename Reader>
struct TileTest {
  __device__ __forceinline__ static uint32_t run(Reader& reader, uint32_t& how, TestKey<S> first, TestKey<S> last) {
    how = kByRows;
    uint32_t mask = 0;
    reader.visit([&](auto&& tile) { mask = test_rows<S, kTest, 4>(tile, first, last); });
    return mask;
  }
};

// Packed values of a tile that pass, in a range that is neither empty nor everything.
template <Test kTest, typename View>
__device__ __forceinline__ uint32_t raw_rows(const View& tile, uint64_t first, uint64_t last) {
  if constexpr (kTest == Test::kAtMost) {
    return tile.below(last + 1);
  } else if constexpr (kTest == Test::kAtLeast) {
    return ~tile.below(first);
  } else {
    return tile.within(first, last);
  }
}

// Packed tiles are compared without being widened, and not read at all when their reference and width decide.
template <typename S, Test kTest, typename T, typename UnrolledWidths>
struct TileTest<S, kTest, Packed<T, UnrolledWidths>> {
  static_assert(!kIsReal<S>, "packed values are integers");
  __device__ __forceinline__ static uint32_t run(Packed<T, UnrolledWidths>& reader, uint32_t& how, S first, S last) {
    constexpr bool kSigned = static_cast<S>(-1) < static_cast<S>(0);
    return run(reader, how, reader.template range<kSigned>(static_cast<T>(first), static_cast<T>(last)));
  }
  __device__ __forceinline__ static uint32_t run(Packed<T, UnrolledWidths>& reader, uint32_t& how,
                                                 const RawRange& range) {
    uint32_t mask = range.all ? ~0u : 0u;
    if (range.none || range.all) return kTest == Test::kNotEqual ? ~mask : mask;
    how = kByRows;
    reader.visit([&](auto&& tile) { mask = raw_rows<kTest>(tile, range.first, range.last); });
    return kTest == Test::kNotEqual ? ~mask : mask;
  }
};

// Number of sorted entries for which `before` holds, by the whole warp: 32 probes at a time.
template <typename Number, typename Before>
__device__ __forceinline__ Number partition_point(Number count, Before&& before) {
  Number low = 0;
  while (count > 0) {
    const Number step = count / kLanes + (count % kLanes != 0 ? 1 : 0);
    const Number probe = lane_id() * step;
    const uint32_t hits = population(__ballot_sync(kWholeWarp, probe < count && before(low + probe)));
    if (hits == 0) return low;
    const Number skip = (hits - 1) * step + 1;
    count = count - skip < step - 1 ? count - skip : step - 1;
    low += skip;
  }
  return low;
}

// The integers of a pair of galp that a test's literals stand for: number begin … end − 1, counted from −most. Those up
// to `most` are asked about, where decoding never falls from one to the next.
struct IntegerSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t most = 0;
};

// What a test's literals stand for, found for the first tile that a warp meets and kept for the others: codes of a
// chunk's dictionary, or integers of a pair of galp.
struct CodeRange {
  const uint64_t* of = nullptr;  // the chunk's descriptor
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t pair = ~0u;
  IntegerSpan span;
};

// Opens one reader and tests its tile, or lets the reader answer.
template <typename S, Test kTest, typename Reader>
struct ShapeTest {
  template <typename Asked>
  __device__ __forceinline__ static uint32_t run(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                 uint32_t& bad, uint32_t& how, const Asked& prefetch, CodeRange&,
                                                 TestKey<S> first, TestKey<S> last) {
    using T = typename Reader::value_type;
    uint32_t mask = 0;
    if constexpr (requires { Reader::answer(descriptor, tile, scratch, T{0}, T{0}); }) {
      if (first <= last) {
        const auto begin = static_cast<T>(first);
        const TileAnswer answer =
            Reader::answer(descriptor, tile, scratch, begin, static_cast<T>(static_cast<T>(last) - begin));
        mask = answer.mask;
        raise_to(how, answer.how);
        bad |= answer.bad;
      }
      if constexpr (kTest == Test::kNotEqual) mask = ~mask;
    } else {
      Reader reader;
      prefetch.open(reader, descriptor, tile, scratch);
      mask = TileTest<S, kTest, Reader>::run(reader, how, first, last);
      if (reader.bad) bad = 1;
    }
    return mask;
  }
};

// A dictionary is sorted, so a range of values is a range of codes: the literals are looked up, not the rows. That
// every code has an entry is checked when a chunk is loaded (cuda/query/staging.cpp).
template <typename S, Test kTest, typename T, typename Codes, typename Entries>
struct ShapeTest<S, kTest, Dict<T, Codes, Entries>> {
  using Reader = Dict<T, Codes, Entries>;
  template <typename Asked>
  __device__ __forceinline__ static uint32_t run(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                 uint32_t& bad, uint32_t& how, const Asked& prefetch, CodeRange& range,
                                                 TestKey<S> first, TestKey<S> last) {
    if constexpr (kIsReal<S>) {
      // NaNs with a sign are the first entries, though keys put them last.
      Reader reader;
      prefetch.open(reader, descriptor, tile, scratch);
      const uint32_t mask = TileTest<S, kTest, Reader>::run(reader, how, first, last);
      if (reader.bad) bad = 1;
      return mask;
    } else {
      return run_on_codes(descriptor, tile, scratch, bad, how, prefetch, range, first, last);
    }
  }

 private:
  template <typename Asked>
  __device__ __forceinline__ static uint32_t run_on_codes(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                          uint32_t& bad, uint32_t& how, const Asked& prefetch,
                                                          CodeRange& range, S first, S last) {
    if (range.of != descriptor) {
      range.of = descriptor;
      Entries entries;
      entries.bind(descriptor + Reader::kEntriesWord);
      const uint32_t count = row_count(descriptor + Reader::kEntriesWord);
      range.begin = 0;
      range.end = count;
      if constexpr (kTest != Test::kAtMost) {
        range.begin = partition_point(count, [&](uint32_t i) { return to_value<S, S>(entries.row(i)) < first; });
      }
      if constexpr (kTest != Test::kAtLeast) {
        range.end = partition_point(count, [&](uint32_t i) { return to_value<S, S>(entries.row(i)) <= last; });
      }
      if (entries.bad) bad = 1;
    }
    // A range that is open at one end stays so: a code is at most the last one anyway.
    const bool empty = range.begin >= range.end;
    const uint32_t last_code = empty ? 0 : kTest == Test::kAtLeast ? ~0u : range.end - 1;
    CodeRange of_codes;
    return ShapeTest<uint32_t, kTest, Codes>::run(descriptor + Reader::kCodesWord, tile, scratch, bad, how,
                                                  prefetch.codes(), of_codes, empty ? 1 : range.begin, last_code);
  }
};

// The integers of a pair whose values have keys from first to last. One copy for all tests of a kernel.
template <typename GalpReader>
__device__ __noinline__ IntegerSpan integers_between(uint32_t pair, int64_t first, int64_t last) {
  const auto scale = GalpReader::scale_of(pair);
  const auto most = static_cast<uint64_t>(GalpReader::largest(scale));
  const auto key = [&](uint64_t i) {
    return float_key_of_bits(GalpReader::scaled(static_cast<typename GalpReader::value_type>(i - most), scale));
  };
  return {partition_point(2 * most + 1, [&](uint64_t i) { return key(i) < first; }),
          partition_point(2 * most + 1, [&](uint64_t i) { return key(i) <= last; }), most};
}

// What a tile's integers can be, counted as in a span.
template <Test kTest, typename T>
struct GalpNumbers {
  T first;
  T widest;    // the largest less the first
  bool sound;  // they lie in −most…most
  __device__ __forceinline__ GalpNumbers(T reference, uint32_t width, const IntegerSpan& span)
      : first(static_cast<T>(reference + static_cast<T>(span.most))),
        widest(static_cast<T>(low_bits(width))),
        sound(first <= static_cast<T>(2 * span.most) && widest <= static_cast<T>(2 * span.most) - first) {}

  __device__ __forceinline__ RawRange within(const IntegerSpan& span) const {
    RawRange out{0, widest, false, false};
    const T last = first + widest;
    if constexpr (kTest != Test::kAtMost) {
      const auto begin = static_cast<T>(span.begin);
      out.none = begin > last;
      if (begin > first) out.first = begin - first;
    }
    if constexpr (kTest != Test::kAtLeast) {
      const auto end = static_cast<T>(span.end);
      out.none = out.none || end <= first;
      if (end <= last) out.last = end - 1 - first;
    }
    out.none = out.none || out.first > out.last;
    out.all = !out.none && out.first == 0 && out.last == widest;
    return out;
  }
};

// Decimals are compared as the integers they are stored as, exceptions apart: one per lane, in the order in which they
// are stored; the lanes whose rows they are learn the results in shared memory.
template <typename S, Test kTest, typename T, typename UnrolledWidths>
struct ShapeTest<S, kTest, Galp<T, Packed<T, UnrolledWidths>>> {
  using Integers = Packed<T, UnrolledWidths>;
  using Reader = Galp<T, Integers>;
  using Int = typename SelectType<sizeof(T) == 8, int64_t, int32_t>::type;
  template <typename Asked>
  __device__ __forceinline__ static uint32_t run(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                 uint32_t& bad, uint32_t& how, const Asked& prefetch, CodeRange& range,
                                                 int64_t first, int64_t last) {
    if constexpr (SameType<Asked, NoPrefetch>::value) {
      const Prefetch<Reader> asked(descriptor, tile);
      return run(descriptor, tile, scratch, bad, how, asked, range, first, last);
    } else {
      const typename Reader::Entry entry = prefetch.entry();
      typename Reader::Words words;
      bool is_bad = false;
      Reader::ask(descriptor, entry, words, is_bad);
      if (is_bad) bad = 1;
      Integers integers;
      prefetch.open_integers(integers, descriptor, tile, scratch);
      if (Reader::is_pair(entry.scheme) && range.pair != entry.scheme) {
        range.span = integers_between<Reader>(entry.scheme, first, last);
        range.pair = entry.scheme;
      }
      const GalpNumbers<kTest, T> numbers(integers.reference(), integers.width(), range.span);
      if (!Reader::is_pair(entry.scheme) || !numbers.sound) {
        how = kByRows;
        const Tested tested = test_values(descriptor, tile, scratch, first, last);
        bad |= tested.bad;
        return tested.mask;
      }
      Tested tested{TileTest<T, kTest, Integers>::run(integers, how, numbers.within(range.span)),
                    integers.bad ? 1u : 0u};
      if (!words.is_empty()) {
        how = kByRows;
        tested = test_exceptions(words.asked(), tested, *static_cast<typename Reader::Shared*>(scratch), first, last);
      }
      bad |= tested.bad;
      return tested.mask;
    }
  }

  // One copy of what is long, for all places of a kernel that test like this.
  struct Tested {
    uint32_t mask;
    uint32_t bad;
  };
  __device__ __noinline__ static Tested test_values(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                    int64_t first, int64_t last) {
    Reader reader;
    reader.open(descriptor, tile, scratch);
    const uint32_t mask = test_rows<S, kTest, 1>(reader, first, last);
    return {mask, reader.bad ? 1u : 0u};
  }

  // Sets the bits of exceptions as they pass.
  __device__ __noinline__ static Tested test_exceptions(typename Reader::Words::Asked asked, Tested tested,
                                                        typename Reader::Shared& shared, int64_t first, int64_t last) {
    typename Reader::Words words(asked);
    if (!words.take(Reader::kBits)) return {tested.mask, 1};
    const uint32_t lane = lane_id();
    shared.passed[lane] = tested.mask;
    const bool sound = words.template for_each<T>(shared.lanes, [&](uint32_t row, T value, uint32_t) {
      uint32_t* passed = shared.passed + row % kLanes;
      const uint32_t bit = 1u << row / kLanes;
      if (passes<kTest>(test_key<S>(value), first, last)) {
        or_shared(passed, bit);
      } else {
        clear_shared(passed, bit);
      }
    });
    sync_warp();
    return {shared.passed[lane], tested.bad | (sound ? 0 : 1)};
  }
};

}  // namespace basalt::device
