// Tile reader of `galp`: integers from any reader become floats by one multiplication of integers, one conversion and
// one multiplication of floats. A tile's exceptions are read once, by the whole warp. For rows in registers each lane
// learns which of its 32 rows are exceptions and the number of its first, so that a row is patched by a bit test and a
// count of bits; for rows in memory they are written over what stands there. Tiles without exceptions are not asked
// about them row by row.
//
// validate() has made sure that schemes are known, that RD tiles have a dictionary, and that blocks of exceptions lie
// one after the other. What is cheap to check is checked again here, so that damage sets `bad` and never reads beyond a
// block.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/galp/layout.h"
#include "codec/galp/scale.h"
#include "core/device/decode_tiles.h"
#include "core/device/warp.h"

namespace basalt::device {

// A tile's block of exceptions, asked for in one go: each lane holds one of its first 32 words, which are everything
// but the values where positions are listed.
class ExceptionWords {
 public:
  // What has been asked for.
  struct Asked {
    const uint32_t* block = nullptr;
    uint32_t size = 0;
    uint32_t word = 0;
  };
  ExceptionWords() = default;
  __device__ __forceinline__ explicit ExceptionWords(const Asked& asked)
      : block_(asked.block), size_(asked.size), word_(asked.word) {}
  __device__ __forceinline__ Asked asked() const { return {block_, size_, word_}; }
  __device__ __forceinline__ bool is_empty() const { return size_ == 0; }

  // By the whole warp; waits for nothing.
  __device__ __forceinline__ void ask(const uint32_t* block, uint32_t size) {
    const uint32_t lane = lane_id();
    block_ = block;
    size_ = size;
    word_ = lane < size ? load_now(block + lane) : 0;
  }
  // For what lies behind the first words.
  __device__ __forceinline__ void ask_for_rest() const {
    if (size_ > kLanes && lane_id() == 0) prefetch_around(block_, size_ * sizeof(uint32_t));
  }

  // Takes the first words apart. False: the block is none that a writer makes, with values of `bits` bits.
  __device__ __forceinline__ bool take(uint32_t bits) {
    const uint32_t head = shuffle(word_, 0);
    count_ = head & 0x7FF;
    width_ = head >> 11;
    if (!galp::header_fits(head, size_, bits)) {
      count_ = 0;
      return false;
    }
    positions_ = 1;
    base_ = 0;
    if (width_ < bits) {
      positions_ += galp::base_words(bits);
      base_ = shuffle(word_, 1);
      if (galp::base_words(bits) == 2) base_ |= static_cast<uint64_t>(shuffle(word_, 2)) << 32;
    }
    return true;
  }

  __device__ __forceinline__ bool listed() const { return count_ <= galp::kMaxListed; }
  __device__ __forceinline__ galp::Exceptions block() const {
    galp::Exceptions block;
    block.count = count_;
    block.width = width_;
    block.base = base_;
    block.positions = block_ + positions_;
    block.values = block.positions + galp::position_words(count_);
    return block;
  }

  // The words of value i, asked for now and put together later.
  struct Fetched {
    uint32_t words[3] = {0, 0, 0};
  };
  __device__ __forceinline__ Fetched fetch(uint32_t i) const {
    Fetched out;
    if (i >= count_ || width_ == 0) return out;
    const uint32_t shift = i * width_ % 32;
    const uint32_t* at = block().values + i * width_ / 32;
    out.words[0] = load_now(at);
    if (32 - shift < width_) out.words[1] = load_now(at + 1);
    if (64 - shift < width_) out.words[2] = load_now(at + 2);
    return out;
  }
  template <typename T>
  __device__ __forceinline__ T value(uint32_t i, const Fetched& fetched) const {
    const uint32_t shift = i * width_ % 32;
    T stored = funnel_right(fetched.words[0], fetched.words[1], shift);
    if constexpr (sizeof(T) == 8) {
      stored |= static_cast<T>(funnel_right(fetched.words[1], fetched.words[2], shift)) << 32;
    }
    return static_cast<T>(base_) + (stored & static_cast<T>(low_bits(width_)));
  }

  // By the whole warp, of a block that was taken: which of the lane's 32 rows are exceptions, and the number of its
  // first.
  struct Lane {
    uint32_t rows = 0;
    uint32_t first = 0;
    bool sound = true;  // false: positions that no writer makes
  };
  __device__ __forceinline__ Lane of_lane() const { return find(asked(), positions_, count_); }

  // Calls f(row of the tile, value, its number) for each exception, by any lane. `lanes`: shared memory of a byte per
  // lane, which is synchronised with what the lanes wrote before, but not with what they will write. False: positions
  // that no writer makes.
  template <typename T, typename F>
  __device__ __forceinline__ bool for_each(uint8_t* lanes, F&& f) const {
    return listed() ? for_each_listed<T>(lanes, f) : for_each_masked<T>(f);
  }

 private:
  struct Ends {
    uint32_t low;
    uint32_t high;
  };

  // Address and size are multiples of 16; streams lie apart by more than what is read too much.
  __device__ __forceinline__ static void prefetch_around(const uint32_t* from, uint32_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(from) & ~uint64_t{15};
    const uint64_t end = (reinterpret_cast<uint64_t>(from) + bytes + 15) & ~uint64_t{15};
    prefetch(reinterpret_cast<const void*>(begin), static_cast<uint32_t>(end - begin));
  }

  // One copy for all columns of a kernel.
  __device__ __noinline__ static Lane find(Asked asked, uint32_t positions, uint32_t count) {
    ExceptionWords words(asked);
    words.positions_ = positions;
    words.count_ = count;
    return words.listed() ? words.of_list() : words.of_masks();
  }

  // Row and end mark of exception i ≤ 63 of a list, by the whole warp.
  __device__ __forceinline__ uint32_t listed_row(uint32_t i) const {
    return shuffle(word_, positions_ + 1 + i / 4) >> i % 4 * 8 & 0xFF;
  }
  __device__ __forceinline__ Ends ends(uint32_t row_0, uint32_t row_1) const {
    const uint32_t lane = lane_id();
    return {ballot(lane < count_ && (row_0 & galp::kLastOfLane) != 0),
            ballot(lane + kLanes < count_ && (row_1 & galp::kLastOfLane) != 0)};
  }

  // The lane's entries end at the end mark whose number is that of the lane among those that have some.
  __device__ __forceinline__ Lane of_list() const {
    const uint32_t lane = lane_id();
    const uint32_t lanes = shuffle(word_, positions_);
    const Ends marks = ends(listed_row(lane), listed_row(lane + kLanes));
    const uint32_t before = lanes & ((1u << lane) - 1);
    const uint32_t last = nth_bit(marks, population(before));
    const uint32_t end_before = shuffle(last, before == 0 ? 0 : highest_bit(before));
    Lane found{0, before == 0 ? 0 : end_before + 1,
               population(lanes) == population(marks.low) + population(marks.high)};
    const bool has = found.sound && (lanes >> lane & 1) != 0;
    for (uint32_t i = found.first; any_lane(has && i <= last); ++i) {
      const uint32_t row = listed_row(i % galp::kMaxListed);
      if (has && i <= last) found.rows |= 1u << row % kRowsPerLane;
    }
    return found;
  }

  __device__ __forceinline__ Lane of_masks() const {
    const uint32_t rows = load(block_ + positions_ + lane_id());
    const uint32_t own = population(rows);
    const uint32_t first = sum_below(own);
    const bool sound = shuffle(first + own, kLanes - 1) == count_;
    return {sound ? rows : 0, first, sound};
  }

  // An exception's lane is the one that has as many before it among those that have some as there are end marks before
  // the exception. Whatever the marks are, f gets rows of the tile.
  template <typename T, typename F>
  __device__ __forceinline__ bool for_each_listed(uint8_t* lanes, F&& f) const {
    const uint32_t lane = lane_id();
    const uint32_t below = (1u << lane) - 1;
    const uint32_t with_some = shuffle(word_, positions_);
    if ((with_some >> lane & 1) != 0) lanes[population(with_some & below)] = static_cast<uint8_t>(lane);
    sync_warp();
    uint32_t ended = 0;
#pragma unroll 1
    for (uint32_t i = lane; i - lane < count_; i += kLanes) {
      const Fetched fetched = fetch(i);
      const uint32_t row = listed_row(i);
      const uint32_t marks = ballot(i < count_ && (row & galp::kLastOfLane) != 0);
      const uint32_t of_lane = lanes[(ended + population(marks & below)) % kLanes] % kLanes;
      if (i < count_) f(row % kRowsPerLane * kLanes + of_lane, value<T>(i, fetched), i);
      ended += population(marks);
    }
    return ended == population(with_some);
  }

  template <typename T, typename F>
  __device__ __forceinline__ bool for_each_masked(F&& f) const {
    const Lane own = of_masks();
    uint32_t i = own.first;
    Fetched next = fetch(i);
#pragma unroll 1
    for (uint32_t left = own.rows; left != 0; left &= left - 1, ++i) {
      const Fetched fetched = next;
      next = fetch(i + 1);
      f(lowest_bit(left) * kLanes + lane_id(), value<T>(i, fetched), i);
    }
    return own.sound;
  }

  // Where set bit number n of 64 lies; with fewer bits, somewhere.
  __device__ __forceinline__ static uint32_t nth_bit(const Ends& of, uint32_t n) {
    const uint32_t in_low = population(of.low);
    const bool upper = n >= in_low;
    uint32_t bits = upper ? of.high : of.low;
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

  const uint32_t* block_ = nullptr;
  uint32_t size_ = 0;
  uint32_t word_ = 0;
  uint32_t count_ = 0;
  uint32_t width_ = 0;
  uint32_t positions_ = 0;  // where they begin
  uint64_t base_ = 0;
};

// Shared memory in which the lanes of a warp share out a tile's exceptions: who has some, and, for tests, every lane's
// rows that passed.
struct SharedExceptions {
  uint32_t passed[kLanes];
  uint8_t lanes[kLanes];
};
static_assert(sizeof(SharedExceptions) == galp::kTestBytes);

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
  using Words = ExceptionWords;
  using Shared = SharedExceptions;
  static constexpr uint32_t kBits = 8 * sizeof(T);
  static constexpr uint32_t kIntegersWord = 1 + galp::kStreams;
  static constexpr uint32_t kDescriptorWords = kIntegersWord + Integers::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = galp::scratch_bytes(Integers::kScratchBytes);
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
    const bool has_exceptions = ask(tile_entry, words_);
    integers_.seek(tile, scratch);
    opened(tile, tile_entry.scheme, has_exceptions);
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
    const bool has_exceptions = ask(tile_entry, words_);
    open_integers(integers_);
    opened(tile, tile_entry.scheme, has_exceptions);
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
    galp::Exceptions block;
    uint32_t exception = 0;
    if (has_block(tile_entry)) {
      const uint32_t* words = blocks_ + tile_entry.exceptions_begin;
      const uint32_t size = tile_entry.exceptions_end - tile_entry.exceptions_begin;
      if (galp::header_fits(words[0], size, exception_bits(scheme_))) {
        block = galp::Exceptions::of(words, exception_bits(scheme_));
        exception = galp::find_exception(block, i % kTileRows);
      } else {
        bad = true;
      }
    }
    const bool is_exception = exception < block.count;
    if (scheme_ < galp::kRd && !is_exception) return scaled(number, scale_of(known_pair(scheme_)));
    return taken(pattern(dictionary_, number, is_exception, is_exception ? block.value(exception) : 0, true));
  }
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    Galp reader;
    reader.bind(descriptor);
    return reader.row(i);
  }

  // In the integers' own form, apart for decimals without exceptions.
  template <typename F>
  __device__ __forceinline__ void visit(F&& f) {
    visit_as(
        all_scaled_, [this](uint32_t k, T number) { return converted(k, number); }, f);
  }
  // In pairs: a row is long code.
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) {
    for_groups<2>(first, last, [&](uint32_t k) { f(k, at(k)); });
  }

  // For tests that ask the integers, which the caller reads itself.
  __device__ __forceinline__ static bool is_pair(uint32_t scheme) { return scheme < galp::pairs_of(kBits); }
  __device__ __forceinline__ static Scale scale_of(uint32_t pair) { return Scale::of(galp::pair_of(pair)); }
  __device__ __forceinline__ static T scaled(T number, const Scale& scale) {
    return galp::bits_of(galp::decode<Float>(static_cast<Int>(number), scale));
  }
  // Products of integers up to here do not wrap.
  __device__ __forceinline__ static int64_t largest(const Scale& scale) { return static_cast<int64_t>(scale.limit); }
  // By the whole warp: asks for a tile's exceptions. False: there are none, or their place is wrong (`is_bad`).
  __device__ __forceinline__ static bool ask(const uint64_t* descriptor, const Entry& tile_entry, ExceptionWords& words,
                                             bool& is_bad) {
    if (tile_entry.exceptions_begin == tile_entry.exceptions_end) return false;
    Galp reader;
    reader.bind_own(descriptor);
    const bool has = reader.ask(tile_entry, words);
    is_bad = is_bad | reader.bad;
    return has;
  }

  // Shared memory of a warp that writes tiles.
  struct Staged {
    T rows[kTileRows];
    uint8_t lanes[kLanes];
  };
  // Writes a tile's rows to memory. One with exceptions is written to `staged` first, as if it had none; then each lane
  // writes some over it. Nothing waits for their block before the integers are read, and memory sees whole sectors
  // only.
  __device__ __forceinline__ void write_tile(uint32_t tile, uint32_t rows, Staged& staged,
                                             T* out) requires(Integers::kScratchBytes == 0) {
    const Entry tile_entry = entry(tile);
    const bool has_exceptions = ask(tile_entry, words_);
    if (has_exceptions) words_.ask_for_rest();
    integers_.seek(tile, nullptr);
    opened(tile, tile_entry.scheme, false);
    if (!has_exceptions) {
      device::write_tile<Stores::kOnce>(*this, rows, out, nullptr);
      return;
    }
    device::write_tile<Stores::kCached>(*this, rows, staged.rows, nullptr);
    const bool sound = words_.take(exception_bits(scheme_));
    sync_warp();
    if (!sound || !patch(staged, rows)) bad = true;
    sync_warp();
    if (rows == kTileRows) {
      store_staged_tile(out, staged.rows);
    } else {
      for (uint32_t row = lane_id(); row < rows; row += kLanes) out[row] = staged.rows[row];
    }
    sync_warp();
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

  // By the whole warp. `has_exceptions`: their words have been asked for, and rows are to be patched.
  __device__ __forceinline__ void opened(uint32_t tile, uint32_t scheme, bool has_exceptions) {
    const uint32_t lane = lane_id();
    const uint32_t first = tile * kTileRows + lane;
    rows_left_ = first < count_ ? count_ - first : 0;
    bad = bad | integers_.bad;
    take_scheme(tile, scheme);
    // pair_of(), by all lanes at once.
    const uint32_t pair = known_pair(scheme);
    const uint32_t e = population(ballot((lane + 1) * (lane + 2) / 2 <= pair));
    scale_ = Scale::of({e, pair - galp::pair_number({e, 0})});
    all_scaled_ = scheme < galp::kRd && !has_exceptions;
    exceptions_ = ExceptionWords::Lane{};
    if (has_exceptions) {
      bad = bad | !words_.take(exception_bits(scheme));
      exceptions_ = words_.of_lane();
      bad = bad | !exceptions_.sound;
    }
    patterns_ = scheme < galp::kRd ? exceptions_.rows : ~0u;
  }

  __device__ __forceinline__ static uint32_t known_pair(uint32_t scheme) { return is_pair(scheme) ? scheme : 0; }
  __device__ __forceinline__ static uint32_t exception_bits(uint32_t scheme) {
    return scheme == galp::kRd ? galp::kMaxLeftBits : kBits;
  }
  __device__ __forceinline__ void take_scheme(uint32_t tile, uint32_t scheme) {
    bad = bad | (!is_pair(scheme) && scheme < galp::kRd);
    scheme_ = scheme;
    dictionary_ = scheme == galp::kRd ? dictionaries_ + tile / galp::kGroupTiles : nullptr;
  }

  // Whether the tile has exceptions, at a place that can be read.
  __device__ __forceinline__ bool has_block(const Entry& entry) {
    if (entry.exceptions_begin == entry.exceptions_end) return false;
    const bool sound = entry.exceptions_begin < entry.exceptions_end && entry.exceptions_end <= block_words_ &&
                       entry.scheme != galp::kRaw;
    bad = bad | !sound;
    return sound;
  }
  __device__ __forceinline__ bool ask(const Entry& entry, ExceptionWords& words) {
    if (!has_block(entry)) return false;
    words.ask(blocks_ + entry.exceptions_begin, entry.exceptions_end - entry.exceptions_begin);
    return true;
  }

  template <typename Convert, typename F>
  __device__ __forceinline__ void visit_as(bool is_scaled, const Convert& convert, F&& f) {
    if (is_scaled) {
      integers_.visit([&](auto&& integers) {
        const auto scale = [this](uint32_t, T number) { return scaled(number, scale_); };
        f(galp_view<T>(integers, scale));
      });
    } else {
      integers_.visit([&](auto&& integers) { f(galp_view<T>(integers, convert)); });
    }
    bad = bad | integers_.bad;
  }

  // Writes the exceptions over what is staged. False: positions that no writer makes.
  __device__ __forceinline__ bool patch(Staged& staged, uint32_t rows) {
    if (dictionary_ == nullptr) {
      return words_.template for_each<T>(staged.lanes, [&](uint32_t row, T value, uint32_t) {
        if (row < rows) staged.rows[row] = value;
      });
    }
    return words_.template for_each<T>(staged.lanes, [&](uint32_t row, T value, uint32_t) {
      // What stands there has the lower part already.
      if (row < rows) staged.rows[row] = taken(pattern(dictionary_, staged.rows[row], true, value, true));
    });
  }

  __device__ __forceinline__ T converted(uint32_t k, T number) {
    if ((patterns_ >> k & 1) == 0) return scaled(number, scale_);
    const bool is_exception = (exceptions_.rows >> k & 1) != 0;
    const uint32_t i = exceptions_.first + population(exceptions_.rows & ((1u << k) - 1));
    const galp::Exceptions block = words_.block();
    return taken(called_pattern(dictionary_, number, is_exception, i, block.values, block.width, block.base,
                                k * kLanes < rows_left_));
  }

  // Values that are no products: exceptions and bit patterns.
  struct Pattern {
    T bits;
    uint32_t bad;
  };
  // One copy for all rows of a kernel: unrolled, what is seldom done would be most of the code.
  __device__ __noinline__ static Pattern called_pattern(const galp::Dictionary* dictionary, T number, bool is_exception,
                                                        uint32_t exception, const uint32_t* values, uint32_t width,
                                                        uint64_t base, bool row_exists) {
    galp::Exceptions block;
    block.values = values;
    block.width = width;
    block.base = base;
    return pattern(dictionary, number, is_exception, is_exception ? block.value(exception) : 0, row_exists);
  }
  __device__ __forceinline__ static Pattern pattern(const galp::Dictionary* dictionary, T number, bool is_exception,
                                                    uint64_t value, bool row_exists) {
    if (dictionary == nullptr) return {is_exception ? static_cast<T>(value) : number, 0};
    const uint32_t left_bits = load(&dictionary->left_bits);
    const bool sound = left_bits >= 1 && left_bits <= galp::kMaxLeftBits;
    const uint32_t right_bits = kBits - (sound ? left_bits : 1);
    bool bad = !sound;
    if (!is_exception) {
      // Integers behind the last row may be anything.
      const uint64_t index = number >> right_bits;
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
  ExceptionWords words_;
  ExceptionWords::Lane exceptions_;
  Scale scale_;
  const galp::Dictionary* dictionary_ = nullptr;  // of an RD tile
  uint32_t scheme_ = 0;
  uint32_t patterns_ = 0;   // bit k: the lane's row k is no product
  uint32_t rows_left_ = 0;  // of the array, from the lane's first row of the tile
  bool all_scaled_ = false;
};

}  // namespace basalt::device
