// Tile reader of `galp`: integers from any reader become floats by one multiplication of integers, one conversion and
// one multiplication of floats. A tile's exceptions are read once, by the whole warp: each lane learns which of its 32
// rows are exceptions and the number of its first, so that a row is patched by a bit test and a count of bits. Tiles
// without exceptions are not asked about them row by row.
//
// validate() has made sure that schemes are known, that RD tiles have a dictionary, and that blocks of exceptions lie
// one after the other. What is cheap to check is checked again here, so that damage sets `bad` and never reads beyond a
// block.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/galp/layout.h"
#include "codec/galp/scale.h"
#include "core/device/warp.h"

namespace basalt::device {

// Which rows of a tile are exceptions, as one lane sees it.
class LaneExceptions {
 public:
  uint32_t rows = 0;   // bit k: the lane's row k is one
  uint32_t first = 0;  // number of the lane's first

  // By the whole warp, of a block that is_sound(). False: positions that no writer makes.
  __device__ __forceinline__ bool read(const galp::Exceptions& block) {
    const Found found = find(block.positions, block.count);
    rows = found.sound != 0 ? found.rows : 0;
    first = found.first;
    return found.sound != 0;
  }

  // Whether a block of `size` words is as long as its own first word wants it to be.
  __device__ __forceinline__ static bool is_sound(const uint32_t* block, uint32_t size, uint32_t bits) {
    const uint32_t head = load(block);
    const uint32_t count = head & 0x7FF;
    const uint32_t width = head >> 11;
    return count != 0 && count <= kTileRows && width <= bits && galp::block_words(count, width, bits) == size;
  }

 private:
  struct Found {
    uint32_t rows;
    uint32_t first;
    uint32_t sound;
  };
  // One copy for all columns of a kernel.
  __device__ __noinline__ static Found find(const uint32_t* positions, uint32_t count) {
    return count <= galp::kMaxListed ? of_list(positions, count) : of_masks(positions, count);
  }

  // The lane's entries end at the end mark whose number is that of the lane among those that have some.
  __device__ __forceinline__ static Found of_list(const uint32_t* positions, uint32_t count) {
    const uint32_t lane = lane_id();
    const uint32_t lanes = load(positions);
    const auto* entries = reinterpret_cast<const uint8_t*>(positions + 1);
    const auto is_end = [&](uint32_t i) { return i < count && (load(entries + i) & galp::kLastOfLane) != 0; };
    const uint32_t low = ballot(is_end(lane));
    const uint32_t high = ballot(is_end(lane + kLanes));
    const uint32_t before = lanes & ((1u << lane) - 1);
    const uint32_t last = nth_bit(low, high, population(before));
    const uint32_t end_before = shuffle(last, before == 0 ? 0 : highest_bit(before));
    Found found{0, before == 0 ? 0 : end_before + 1, population(lanes) == population(low) + population(high)};
    if (found.sound != 0 && (lanes >> lane & 1) != 0) {
      for (uint32_t i = found.first; i <= last; ++i) found.rows |= 1u << load(entries + i) % kRowsPerLane;
    }
    return found;
  }

  __device__ __forceinline__ static Found of_masks(const uint32_t* positions, uint32_t count) {
    const uint32_t rows = load(positions + lane_id());
    const uint32_t own = population(rows);
    const uint32_t first = sum_below(own);
    return {rows, first, shuffle(first + own, kLanes - 1) == count};
  }

  // Where set bit number n of 64 lies; with fewer bits, somewhere.
  __device__ __forceinline__ static uint32_t nth_bit(uint32_t low, uint32_t high, uint32_t n) {
    const uint32_t in_low = population(low);
    const bool upper = n >= in_low;
    uint32_t bits = upper ? high : low;
    uint32_t at = upper ? kLanes : 0;
    n -= upper ? in_low : 0;
#pragma unroll
    for (uint32_t step = kLanes / 2; step > 0; step /= 2) {
      const uint32_t below = population(bits & ((1u << step) - 1));
      if (n < below) continue;
      n -= below;
      bits >>= step;
      at += step;
    }
    return at;
  }
};

// What galp readers give to the caller of visit(): a view of the integers, and values made of them by `convert`.
template <typename T, typename IntegersView, typename Convert>
class GalpView {
 public:
  using value_type = T;
  __device__ __forceinline__ GalpView(const IntegersView& integers, const Convert& convert)
      : integers_(integers), convert_(convert) {}
  __device__ __forceinline__ T at(uint32_t k) const { return convert_(k, integers_.at(k)); }

  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    integers_.for_each_between(first, last, [&](uint32_t k, T number) { f(k, convert_(k, number)); });
  }

 private:
  const IntegersView& integers_;
  const Convert& convert_;
};

template <typename T, typename IntegersView, typename Convert>
__device__ __forceinline__ GalpView<T, IntegersView, Convert> galp_view(const IntegersView& integers,
                                                                        const Convert& convert) {
  return GalpView<T, IntegersView, Convert>(integers, convert);
}

template <typename T, typename IntegersView, typename Convert>
struct WantsConstants<GalpView<T, IntegersView, Convert>> {
  static constexpr bool value = WantsConstants<IntegersView>::value;
};

// T: the bits of a float or a double.
template <typename T, typename Integers>
class Galp {
 public:
  using value_type = T;
  using Float = typename SelectType<sizeof(T) == 8, double, float>::type;
  using Int = galp::IntOf<Float>;
  using Scale = galp::Scale<Float>;
  static constexpr uint32_t kBits = 8 * sizeof(T);
  static constexpr uint32_t kIntegersWord = 1 + galp::kStreams;
  static constexpr uint32_t kDescriptorWords = kIntegersWord + Integers::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Integers::kScratchBytes;
  static constexpr bool kPointAccess = Integers::kPointAccess;
  static constexpr bool kRowsInShared = false;
  static_assert(sizeof(typename Integers::value_type) == sizeof(T), "integers are as wide as the values");

  bool bad = false;  // an index beyond the dictionary, exceptions that no writer makes, or bad integers

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    bind_own(descriptor);
    integers_.bind(descriptor + kIntegersWord);
  }

  // What a tile's first loads bring.
  struct Entry {
    uint32_t scheme;
    uint32_t exceptions_begin;
    uint32_t exceptions_end;
  };
  __device__ __forceinline__ static Entry entry(const uint64_t* descriptor, uint32_t tile) {
    Galp reader;
    reader.bind_own(descriptor);
    return reader.entry(tile);
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    const Entry tile_entry = entry(tile);
    integers_.seek(tile, scratch);
    opened(tile, tile_entry);
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    open_by(descriptor, tile, entry(descriptor, tile),
            [&](Integers& integers) { integers.open(descriptor + kIntegersWord, tile, scratch); });
  }
  // The same for a caller that has read the tile's entry and opens the integers itself.
  template <typename OpenIntegers>
  __device__ __forceinline__ void open_by(const uint64_t* descriptor, uint32_t tile, const Entry& tile_entry,
                                          OpenIntegers&& open_integers) {
    bind_own(descriptor);
    open_integers(integers_);
    opened(tile, tile_entry);
  }

  __device__ __forceinline__ T at(uint32_t k) {
    const T number = integers_.at(k);
    bad = bad | integers_.bad;
    return converted(k, number);
  }

  __device__ __forceinline__ T row(uint32_t i) {
    const uint32_t tile = i / kTileRows;
    const T number = integers_.row(i);
    bad = bad | integers_.bad;
    const Entry tile_entry = entry(tile);
    take_scheme(tile, tile_entry.scheme);
    uint32_t exception = kNone;
    if (take_block(tile_entry)) {
      exception = galp::find_exception(block_, i % kTileRows);
      if (exception >= block_.count) exception = kNone;
    }
    if (scheme_ < galp::kRd && exception == kNone) {
      return scaled(number, Scale::of(galp::pair_of(known_pair())));
    }
    return taken(pattern(dictionary_, number, exception, block_.values, block_.width, block_.base, true));
  }
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    Galp reader;
    reader.bind(descriptor);
    return reader.row(i);
  }

  // For tests that ask the integers: whether the tile's rows are decimals but for exceptions; the integers, and the
  // exceptions among the lane's rows.
  __device__ __forceinline__ bool has_pair() const { return scheme_ < galp::pairs_of(kBits); }
  __device__ __forceinline__ uint32_t pair() const { return scheme_; }
  __device__ __forceinline__ const Scale& scale() const { return scale_; }
  __device__ __forceinline__ static T scaled(T number, const Scale& scale) {
    return galp::bits_of(galp::decode<Float>(static_cast<Int>(number), scale));
  }
  // Products of integers up to here do not wrap.
  __device__ __forceinline__ static int64_t largest(const Scale& scale) { return static_cast<int64_t>(scale.limit); }
  __device__ __forceinline__ Integers& integers() { return integers_; }
  __device__ __forceinline__ uint32_t exception_rows() const { return exceptions_.rows; }
  __device__ __forceinline__ T exception(uint32_t k) { return converted(k, T{0}); }

  // In the integers' own form, apart for decimals without exceptions.
  template <typename F>
  __device__ __forceinline__ void visit(F&& f) {
    if (all_scaled_) {
      integers_.visit([&](auto&& integers) {
        const auto convert = [this](uint32_t, T number) { return scaled(number, scale_); };
        f(galp_view<T>(integers, convert));
      });
    } else {
      integers_.visit([&](auto&& integers) {
        const auto convert = [this](uint32_t k, T number) { return converted(k, number); };
        f(galp_view<T>(integers, convert));
      });
    }
    bad = bad | integers_.bad;
  }
  // In pairs: a row is long code.
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) {
    for_groups<2>(first, last, [&](uint32_t k) { f(k, at(k)); });
  }

 private:
  __device__ __forceinline__ void bind_own(const uint64_t* descriptor) {
    count_ = row_count(descriptor);
    block_words_ = last_stream_words(descriptor);
    schemes_ = stream<uint8_t>(descriptor, 1 + galp::kSchemes);
    dictionaries_ = stream<galp::Dictionary>(descriptor, 1 + galp::kDictionaries);
    starts_ = stream<void>(descriptor, 1 + galp::kExceptionStarts);
    blocks_ = stream<uint32_t>(descriptor, 1 + galp::kExceptions);
  }

  __device__ __forceinline__ Entry entry(uint32_t tile) const {
    Entry out{load(schemes_ + tile), 0, 0};
    if (block_words_ != 0) {
      const bool is_short = block_words_ <= galp::kMaxShortStarts;
      out.exceptions_begin = galp::exception_start(starts_, is_short, tile);
      out.exceptions_end = galp::exception_start(starts_, is_short, tile + 1);
    }
    return out;
  }

  // By the whole warp.
  __device__ __forceinline__ void opened(uint32_t tile, const Entry& tile_entry) {
    const uint32_t lane = lane_id();
    const uint32_t first = tile * kTileRows + lane;
    rows_left_ = first < count_ ? count_ - first : 0;
    bad = bad | integers_.bad;
    take_scheme(tile, tile_entry.scheme);
    // pair_of(), by all lanes at once.
    const uint32_t e = population(ballot((lane + 1) * (lane + 2) / 2 <= known_pair()));
    scale_ = Scale::of({e, known_pair() - galp::pair_number({e, 0})});
    exceptions_ = LaneExceptions{};
    all_scaled_ = scheme_ < galp::kRd;
    if (take_block(tile_entry)) {
      all_scaled_ = false;
      bad = bad | !exceptions_.read(block_);
    }
    patterns_ = scheme_ < galp::kRd ? exceptions_.rows : ~0u;
  }

  __device__ __forceinline__ uint32_t known_pair() const { return scheme_ < galp::pairs_of(kBits) ? scheme_ : 0; }
  __device__ __forceinline__ void take_scheme(uint32_t tile, uint32_t scheme) {
    bad = bad | (scheme >= galp::pairs_of(kBits) && scheme < galp::kRd);
    scheme_ = scheme;
    dictionary_ = scheme == galp::kRd ? dictionaries_ + tile / galp::kGroupTiles : nullptr;
  }

  // Whether the tile has exceptions, and such that can be read.
  __device__ __forceinline__ bool take_block(const Entry& entry) {
    if (entry.exceptions_begin == entry.exceptions_end) return false;
    const uint32_t* words = blocks_ + entry.exceptions_begin;
    const uint32_t bits = scheme_ == galp::kRd ? galp::kMaxLeftBits : kBits;
    const bool sound = entry.exceptions_begin < entry.exceptions_end && entry.exceptions_end <= block_words_ &&
                       scheme_ != galp::kRaw &&
                       LaneExceptions::is_sound(words, entry.exceptions_end - entry.exceptions_begin, bits);
    bad = bad | !sound;
    if (sound) block_ = galp::Exceptions::of(words, bits);
    return sound;
  }

  __device__ __forceinline__ T converted(uint32_t k, T number) {
    if ((patterns_ >> k & 1) == 0) return scaled(number, scale_);
    const uint32_t exception =
        (exceptions_.rows >> k & 1) == 0 ? kNone : exceptions_.first + population(exceptions_.rows & ((1u << k) - 1));
    return taken(
        pattern(dictionary_, number, exception, block_.values, block_.width, block_.base, k * kLanes < rows_left_));
  }

  // Values that are no products: exceptions and bit patterns. One copy for all rows of a kernel: unrolled, what is
  // seldom done would be most of the code.
  struct Pattern {
    T bits;
    uint32_t bad;
  };
  static constexpr uint32_t kNone = ~0u;
  __device__ __noinline__ static Pattern pattern(const galp::Dictionary* dictionary, T number, uint32_t exception,
                                                 const uint32_t* values, uint32_t width, uint64_t base,
                                                 bool row_exists) {
    uint64_t value = number;
    if (exception != kNone) {
      galp::Exceptions block;
      block.values = values;
      block.width = width;
      block.base = base;
      value = block.value(exception);
    }
    if (dictionary == nullptr) return {static_cast<T>(value), 0};
    const uint32_t left_bits = load(&dictionary->left_bits);
    const bool sound = left_bits >= 1 && left_bits <= galp::kMaxLeftBits;
    const uint32_t right_bits = kBits - (sound ? left_bits : 1);
    bool bad = !sound;
    if (exception == kNone) {
      // Integers behind the last row may be anything.
      const uint64_t index = value >> right_bits;
      bad = bad | ((index >= load(&dictionary->size)) & row_exists);
      value = load(dictionary->entries + (index & (galp::kMaxEntries - 1)));
    }
    const T right = static_cast<T>(number & static_cast<T>(low_bits(right_bits)));
    return {static_cast<T>(static_cast<T>(value) << right_bits | right), bad};
  }
  __device__ __forceinline__ T taken(const Pattern& pattern) {
    bad = bad | (pattern.bad != 0);
    return pattern.bits;
  }

  Integers integers_;
  const uint8_t* schemes_;
  const galp::Dictionary* dictionaries_;
  const void* starts_;
  const uint32_t* blocks_;
  uint32_t count_;
  uint32_t block_words_;
  // Of the open tile.
  galp::Exceptions block_;
  LaneExceptions exceptions_;
  Scale scale_;
  const galp::Dictionary* dictionary_ = nullptr;  // of an RD tile
  uint32_t scheme_ = 0;
  uint32_t patterns_ = 0;   // bit k: the lane's row k is no product
  uint32_t rows_left_ = 0;  // of the array, from the lane's first row of the tile
  bool all_scaled_ = false;
};

}  // namespace basalt::device
