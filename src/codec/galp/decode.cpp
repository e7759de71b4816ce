// From integers back to floats: one loop over the tile, then its exceptions.
#include <algorithm>
#include <vector>

#include "codec/checks.h"
#include "codec/galp/exceptions.h"
#include "codec/galp/galp.h"

namespace basalt {

namespace {

// Integers of at most 2^51 (double) or 2^24 (float) as floats: on x86-64 without the conversion of 64-bit integers,
// which has no vector form before AVX-512.
inline double small_float(int64_t d) {
#if defined(__x86_64__)
  constexpr double kShift = 6755399441055744.0;  // 1.5 · 2^52
  constexpr int64_t kShiftBits = 0x4338000000000000;
  return galp::float_of(static_cast<uint64_t>(d + kShiftBits)) - kShift;
#else
  return static_cast<double>(d);
#endif
}
inline float small_float(int32_t d) { return static_cast<float>(d); }
constexpr int64_t small_limit(double) { return int64_t{1} << 51; }
constexpr int64_t small_limit(float) { return int64_t{1} << 24; }

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
        integers_(open_reader(node.children[galp::kIntegers])) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* to = static_cast<T*>(out);
    const uint32_t rows = rows_in_tile(count(), tile);
    const uint32_t scheme = schemes_[tile];
    if (scheme == galp::kRaw) {
      integers_->decode_tile(tile, out);
      mark_corrupt(integers_->corrupt());
      return;
    }
    integers_->decode_tile(tile, numbers_);
    mark_corrupt(integers_->corrupt());
    if (scheme == galp::kRd) {
      const galp::Dictionary& dictionary = dictionaries_[tile / galp::kGroupTiles];
      join_parts(dictionary, numbers_, rows, to);
      const uint32_t right_bits = kBits - dictionary.left_bits;
      patch(tile, [&](uint32_t row, uint64_t value) { to[row] = with_left(numbers_[row], value, right_bits); });
      return;
    }
    const auto scale = galp::Scale<T>::of(galp::pair_of(scheme));
    if (is_small(tile, scale)) {
      for (uint32_t i = 0; i < rows; ++i) to[i] = galp::decode_exact(small_float(numbers_[i]), scale);
    } else {
      for (uint32_t i = 0; i < rows; ++i) to[i] = galp::decode(numbers_[i], scale);
    }
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

 private:
  using Int = galp::IntOf<T>;
  using Bits = galp::BitsOf<T>;
  static constexpr uint32_t kBits = galp::Arithmetic<T>::kBits;

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

  // Whether the tile's integers are such that floats alone decode them.
  bool is_small(uint32_t tile, const galp::Scale<T>& scale) const {
    const auto bounds = integers_->bounds(tile);
    const int128_t most = std::min(small_limit(T{}), static_cast<int64_t>(scale.limit));
    return bounds && bounds->low >= -most && bounds->high <= most;
  }

  static T with_left(Int number, uint64_t left, uint32_t right_bits) {
    const Bits right = static_cast<Bits>(number) & static_cast<Bits>(low_bits(right_bits));
    return galp::float_of(static_cast<Bits>(static_cast<Bits>(left) << right_bits | right));
  }
  // Indices beyond the dictionary are damage.
  void join_parts(const galp::Dictionary& dictionary, const Int* numbers, uint32_t rows, T* out) {
    const uint32_t right_bits = kBits - dictionary.left_bits;
    Bits most = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      const Bits index = static_cast<Bits>(numbers[i]) >> right_bits;
      most = std::max(most, index);
      out[i] = with_left(numbers[i], dictionary.entries[index % galp::kMaxEntries], right_bits);
    }
    mark_corrupt(most >= dictionary.size);
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

  const uint8_t* schemes_;
  const galp::Dictionary* dictionaries_;
  const void* starts_;
  bool short_starts_;
  const uint32_t* blocks_;
  std::unique_ptr<Reader> integers_;
  Int numbers_[kTileRows];
};

}  // namespace

std::unique_ptr<Reader> GalpCodec::open(const NodeView& node) const {
  if (node.type == Physical::kF64) return std::make_unique<GalpReader<double>>(node);
  return std::make_unique<GalpReader<float>>(node);
}

}  // namespace basalt
