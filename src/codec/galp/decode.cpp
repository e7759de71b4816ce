// From integers back to floats: one loop over the tile, then its exceptions; and questions about values that integers
// answer.
#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "codec/checks.h"
#include "codec/expand_runs.h"
#include "codec/galp/exceptions.h"
#include "codec/galp/galp.h"
#include "codec/galp/range.h"
#include "codec/galp/row_table.h"
#include "codec/range_test.h"
#include "core/lane_sum.h"

namespace basalt {

namespace {

template <typename T>
class GalpReader final : public Reader {
 public:
  explicit GalpReader(const NodeView& node)
      : Reader(node.type, node.count),
        schemes_(stream_as<uint8_t>(node, galp::kSchemes)),
        dictionaries_(stream_as<galp::Dictionary>(node, galp::kDictionaries)),
        starts_(node.streams[galp::kExceptions].empty() ? nullptr : node.streams[galp::kExceptionStarts].data()),
        short_starts_(node.streams[galp::kExceptions].size() / sizeof(uint32_t) <= galp::kMaxShortStarts),
        blocks_(stream_as<uint32_t>(node, galp::kExceptions)),
        integers_(open_reader(node.children[galp::kIntegers])),
        bounds_at_hand_(node.children[galp::kIntegers].codec->name() == galp::kChildOfManyScales) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* to = static_cast<T*>(out);
    const uint32_t rows = rows_in_tile(count(), tile);
    const uint32_t scheme = schemes_[tile];
    if (scheme == galp::kRaw) {
      integers_->decode_tile(tile, out);
      mark_corrupt(integers_->corrupt());
      return;
    }
    if (scheme == galp::kRd) {
      integers_->decode_tile(tile, numbers_);
      mark_corrupt(integers_->corrupt());
      const galp::Dictionary& dictionary = dictionaries_[tile / galp::kGroupTiles];
      join_parts(dictionary, numbers_, rows, to);
      const uint32_t right_bits = kBits - dictionary.left_bits;
      patch(tile, [&](uint32_t row, uint64_t value) { to[row] = with_left(numbers_[row], value, right_bits); });
      return;
    }
    const auto scale = galp::Scale<T>::of(galp::pair_of(scheme));
    if (const uint32_t runs = integers_->decode_runs(tile, numbers_, ends_)) {
      decode_pair(tile, scale, numbers_, runs, run_values_);
      expand_runs(run_values_, ends_, runs, rows, to);
    } else if (const T* values = entries_of(tile)) {
#pragma GCC unroll 8
      for (uint32_t i = 0; i < rows; ++i) to[i] = values[codes_[i]];
    } else {
      integers_->decode_tile(tile, numbers_);
      decode_pair(tile, scale, numbers_, rows, to);
    }
    mark_corrupt(integers_->corrupt());
    patch(tile, [&](uint32_t row, uint64_t value) { to[row] = galp::float_of(static_cast<Bits>(value)); });
  }

  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    std::vector<Int> numbers(rows.size());
    integers_->gather(rows, numbers.data());
    mark_corrupt(integers_->corrupt());
    for (size_t i = 0; i < rows.size(); ++i) to[i] = value_at(rows[i], numbers[i]);
  }
  using Reader::decode_tile;
  using Reader::gather;

  Answered filter_range(uint32_t tile, int128_t low, int128_t high, uint8_t* out) override {
    const uint32_t rows = rows_in_tile(count(), tile);
    const uint32_t scheme = schemes_[tile];
    if (scheme >= galp::kRd) return test_decoded(tile, low, high, rows, out);
    const auto scale = galp::Scale<T>::of(galp::pair_of(scheme));
    const int64_t most = galp::largest_integer(scale);
    const galp::IntegerRange range = integers_between(scheme, low, high);
    Answered how = Answered::kNot;
    if (inside(integers_->bounds(tile), most)) how = integers_->filter_range(tile, range.low, range.high, out);
    if (how == Answered::kNot) {
      integers_->decode_tile(tile, numbers_);
      if (!within(most, tile, rows)) return test_decoded(tile, low, high, rows, out);
      if (range.low > range.high) {
        std::fill_n(out, rows, uint8_t{0});
      } else {
        test_between(reinterpret_cast<const Bits*>(numbers_), rows, static_cast<Bits>(range.low),
                     static_cast<Bits>(range.high), out);
      }
      how = Answered::kByRows;
    }
    mark_corrupt(integers_->corrupt());
    patch(tile, [&](uint32_t row, uint64_t value) {
      const int64_t key = float_key(galp::float_of(static_cast<Bits>(value)));
      out[row] = key >= low && key <= high ? 1 : 0;
      how = std::max(how, Answered::kByModel);
    });
    return how;
  }

  std::optional<ValueBounds> bounds(uint32_t tile) const override {
    const uint32_t scheme = schemes_[tile];
    const auto numbers = integers_->bounds(tile);
    if (!numbers || scheme == galp::kRd) return std::nullopt;
    if (scheme == galp::kRaw) {
      // The patterns of floats with a sign are in the other order.
      if (numbers->low < 0) return std::nullopt;
      return ValueBounds{key_of_bits(numbers->low), key_of_bits(numbers->high)};
    }
    const auto scale = galp::Scale<T>::of(galp::pair_of(scheme));
    if (!inside(numbers, galp::largest_integer(scale))) return std::nullopt;
    ValueBounds bounds{float_key(galp::decode(static_cast<Int>(numbers->low), scale)),
                       float_key(galp::decode(static_cast<Int>(numbers->high), scale))};
    patch(tile, [&](uint32_t, uint64_t value) {
      const int128_t key = float_key(galp::float_of(static_cast<Bits>(value)));
      bounds.low = std::min(bounds.low, key);
      bounds.high = std::max(bounds.high, key);
    });
    return bounds;
  }

  std::optional<double> filter_sum(uint32_t tile, const uint8_t* live) override {
    const uint32_t scheme = schemes_[tile];
    if (scheme >= galp::kRd || rows_in_tile(count(), tile) != kTileRows) return std::nullopt;
    const auto scale = galp::Scale<T>::of(galp::pair_of(scheme));
    const auto bounds = integers_->bounds(tile);
    if (!bounds || !galp::sums_apart(static_cast<int64_t>(bounds->low),
                                     static_cast<uint64_t>(bounds->high - bounds->low), scale)) {
      return std::nullopt;
    }
    const uint32_t* block = block_of(tile);
    if (block != nullptr && !exceptions_of(block, scheme).listed()) return std::nullopt;
    integers_->decode_tile(tile, numbers_);
    mark_corrupt(integers_->corrupt());
    if (block == nullptr) return sum_of_numbers(live, galp::pair_of(scheme));
    uint8_t others[kTileRows];  // live rows that are no exceptions
    if (live == nullptr) {
      std::fill_n(others, kTileRows, uint8_t{1});
    } else {
      std::copy_n(live, kTileRows, others);
    }
    double sum = 0;
    patch(tile, [&](uint32_t row, uint64_t value) {
      if (others[row] == 0) return;
      others[row] = 0;
      sum += static_cast<double>(galp::float_of(static_cast<Bits>(value)));
    });
    return sum_of_numbers(others, galp::pair_of(scheme)) + sum;
  }

 private:
  using Int = galp::IntOf<T>;
  using Bits = galp::BitsOf<T>;
  static constexpr uint32_t kBits = galp::Arithmetic<T>::kBits;
  static constexpr uint32_t kRowsPerEntry = 8;

  // Of the numbers that were just decoded, in rows whose byte in `live` is 1 (nullptr: all).
  double sum_of_numbers(const uint8_t* live, galp::Pair pair) const {
    const auto scale = galp::Scale<T>::of(pair);
    if constexpr (sizeof(T) == 8) {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < kTileRows; ++i) {
        sum += static_cast<uint64_t>(numbers_[i]) & (uint64_t{0} - (live == nullptr ? 1 : live[i]));
      }
      return galp::value_of_sum(static_cast<int64_t>(sum), scale.times, scale.back);
    } else {
      const float digit = galp::digit_of(pair);
      int64_t sum = 0;
      float remainders[kLanes] = {};
      for (uint32_t i = 0; i < kTileRows; ++i) {
        const auto d = static_cast<float>(numbers_[i]);
        const float remainder = galp::remainder(d, galp::decode_exact(d, scale), digit);
        const bool counts = live == nullptr || live[i] != 0;
        sum += counts ? numbers_[i] : 0;
        remainders[i % kLanes] += counts ? remainder : 0.0f;
      }
      return galp::value_of_sums(sum, sum_of_lanes(remainders), digit);
    }
  }

  // nullptr: no exceptions.
  const uint32_t* block_of(uint32_t tile) const {
    if (starts_ == nullptr) return nullptr;
    const uint32_t start = galp::exception_start(starts_, short_starts_, tile);
    return start == galp::exception_start(starts_, short_starts_, tile + 1) ? nullptr : blocks_ + start;
  }
  galp::Exceptions exceptions_of(const uint32_t* block, uint32_t scheme) const {
    return galp::Exceptions::of(block, scheme == galp::kRd ? galp::kMaxLeftBits : kBits);
  }
  template <typename Put>
  void patch(uint32_t tile, Put&& put) const {
    const uint32_t* block = block_of(tile);
    if (block == nullptr) return;
    const galp::Exceptions exceptions = exceptions_of(block, schemes_[tile]);
    galp::for_each_exception(exceptions, [&](uint32_t i, uint32_t row) { put(row, exceptions.value(i)); });
  }

  // Values of a dictionary's entries, kept: above a dictionary all tiles have the same scheme, or are RAW. Writes
  // codes_. nullptr: there is none, or one so long that it is not worth its place in the cache.
  const T* entries_of(uint32_t tile) {
    if (!has_codes_) return nullptr;
    const EntryList entries = integers_->decode_codes(tile, codes_);
    has_codes_ = entries.count > 0 && entries.count <= count() / kRowsPerEntry;
    if (!has_codes_) return nullptr;
    if (entries_scheme_ != schemes_[tile]) {
      entries_scheme_ = schemes_[tile];
      entry_values_.resize(entries.count);
      decode_pair(tile, galp::Scale<T>::of(galp::pair_of(entries_scheme_)), static_cast<const Int*>(entries.values),
                  entries.count, entry_values_.data());
    }
    return entry_values_.data();
  }

  // Of numbers that were just decoded. Where the child's bounds are not at hand, they are taken for small while
  // they are looked at: to ask for bounds first takes longer, of curves several times as long.
  void decode_pair(uint32_t tile, const galp::Scale<T>& scale, const Int* numbers, uint32_t rows, T* out) const {
    const auto most = static_cast<Int>(std::min(galp::small_limit(T{}), galp::largest_integer(scale)));
    if (bounds_at_hand_) {
      const bool small = inside(integers_->bounds(tile), most);
      return (small ? rows_.decode_small : rows_.decode)(numbers, rows, scale, out);
    }
    const auto bits = static_cast<uint32_t>(std::bit_width(static_cast<Bits>(most))) - 1;
    if (rows_.decode_if_small(numbers, rows, scale, bits, out) || rows_.within(numbers, rows, most)) return;
    rows_.decode(numbers, rows, scale, out);
  }

  static bool inside(const std::optional<ValueBounds>& bounds, int64_t most) {
    return bounds && bounds->low >= -static_cast<int128_t>(most) && bounds->high <= most;
  }
  // Whether the integers of the tile that was just decoded lie in −most…most.
  bool within(int64_t most, uint32_t tile, uint32_t rows) const {
    if (const auto bounds = integers_->bounds(tile)) return inside(bounds, most);
    return rows_.within(numbers_, rows, static_cast<Int>(std::min<int64_t>(most, std::numeric_limits<Int>::max())));
  }

  static int64_t key_of_bits(int128_t bits) { return float_key(galp::float_of(static_cast<Bits>(bits))); }
  // Where integers do not have the order of values.
  Answered test_decoded(uint32_t tile, int128_t low, int128_t high, uint32_t rows, uint8_t* out) {
    T values[kTileRows];
    decode_tile(tile, values);
    for (uint32_t i = 0; i < rows; ++i) {
      const int64_t key = float_key(values[i]);
      out[i] = key >= low && key <= high ? 1 : 0;
    }
    return Answered::kByRows;
  }
  // The pair's integers for a range; kept, since filters ask every tile the same.
  galp::IntegerRange integers_between(uint32_t pair, int128_t low, int128_t high) {
    Known& known = known_[pair];
    if (!known.valid || known.low != low || known.high != high) {
      const auto scale = galp::Scale<T>::of(galp::pair_of(pair));
      known = {true, low, high, galp::integers_between(low, high, scale)};
    }
    return known.range;
  }

  static T with_left(Int number, uint64_t left, uint32_t right_bits) {
    const Bits right = static_cast<Bits>(number) & static_cast<Bits>(low_bits(right_bits));
    return galp::float_of(static_cast<Bits>(static_cast<Bits>(left) << right_bits | right));
  }
  // Indices beyond the dictionary are damage.
  void join_parts(const galp::Dictionary& dictionary, const Int* numbers, uint32_t rows, T* out) {
    const uint32_t right_bits = kBits - dictionary.left_bits;
    Bits differences[galp::kMaxEntries];
    for (uint32_t i = 0; i < galp::kMaxEntries; ++i) {
      differences[i] = static_cast<Bits>((static_cast<Bits>(dictionary.entries[i]) - i) << right_bits);
    }
    const Bits most = rows_.join_parts(numbers, rows, differences, right_bits, out);
    // Indices that together have a bit too many may each have their place: then they are looked at.
    if (most < dictionary.size) return;
    for (uint32_t i = 0; i < rows; ++i) mark_corrupt(static_cast<Bits>(numbers[i]) >> right_bits >= dictionary.size);
  }

  T value_at(uint32_t row, Int number) {
    const uint32_t tile = row / kTileRows;
    const uint32_t scheme = schemes_[tile];
    if (const uint32_t* block = block_of(tile)) {
      const galp::Exceptions exceptions = exceptions_of(block, scheme);
      const uint32_t at = galp::find_exception(exceptions, row % kTileRows);
      if (at < exceptions.count) {
        const uint64_t value = exceptions.value(at);
        return scheme == galp::kRd ? with_left(number, value, kBits - dictionaries_[tile / galp::kGroupTiles].left_bits)
                                   : galp::float_of(static_cast<Bits>(value));
      }
    }
    T value;
    if (scheme == galp::kRaw) return galp::float_of(static_cast<Bits>(number));
    if (scheme == galp::kRd) {
      join_parts(dictionaries_[tile / galp::kGroupTiles], &number, 1, &value);
      return value;
    }
    return galp::decode(number, galp::Scale<T>::of(galp::pair_of(scheme)));
  }

  const galp::RowTable<T>& rows_ = galp::row_table<T>();
  const uint8_t* schemes_;
  const galp::Dictionary* dictionaries_;
  const void* starts_;
  bool short_starts_;
  const uint32_t* blocks_;
  std::unique_ptr<Reader> integers_;
  bool bounds_at_hand_;
  struct Known {
    bool valid = false;
    int128_t low = 0, high = 0;
    galp::IntegerRange range;
  };
  Known known_[galp::pairs_of(kBits)];
  Int numbers_[kTileRows];
  T run_values_[kTileRows];
  uint32_t ends_[kTileRows];
  uint32_t codes_[kTileRows];
  bool has_codes_ = true;
  uint32_t entries_scheme_ = galp::kRaw;
  std::vector<T> entry_values_;
};

}  // namespace

std::unique_ptr<Reader> GalpCodec::open(const NodeView& node) const {
  if (node.type == Physical::kF64) return std::make_unique<GalpReader<double>>(node);
  return std::make_unique<GalpReader<float>>(node);
}

}  // namespace basalt
