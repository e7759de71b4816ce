// Tile reader of `packed`. A tile can be read in two forms that look alike: `PackedTile<T, W>`, whose width is part of
// the type, so that every shift and mask is a constant, and `Packed` itself, whose width is a run-time number.
// `visit` hands its caller the first form for the widths named in the reader's type and the second for all others:
// unrolled code is 10–50 % faster but costs 0.1 s of compilation per width and column.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/packed/layout.h"
#include "core/device/warp.h"
#include "core/packed_tile.h"

namespace basalt::device {

// The widths for which a reader is unrolled. Precompiled kernels take all up to the value's own bits.
template <uint32_t... W>
struct Widths {};
struct AllWidths {};
// All up to a width; one loop serves the others.
template <uint32_t kMost>
struct WidthsUpTo {};

template <uint32_t W>
struct Width {
  static constexpr uint32_t value = W;
};

// Calls f(Width<W>{}) if `width` is one of the list and at most kWidest; says whether it did.
template <uint32_t kWidest, typename F>
__device__ __forceinline__ bool for_width(Widths<>, uint32_t, F&&) {
  return false;
}
template <uint32_t kWidest, uint32_t W, uint32_t... Rest, typename F>
__device__ __forceinline__ bool for_width(Widths<W, Rest...>, uint32_t width, F&& f) {
  if constexpr (W <= kWidest) {
    if (width == W) {
      f(Width<W>{});
      return true;
    }
  }
  return for_width<kWidest>(Widths<Rest...>{}, width, f);
}
template <uint32_t kWidest, typename F>
__device__ __forceinline__ bool for_width(AllWidths, uint32_t width, F&& f) {
  // Spelled out so that it becomes one jump table, not a chain of comparisons.
#define BASALT_CASE(w)              \
  case w:                           \
    if constexpr ((w) <= kWidest) { \
      f(Width<(w)>{});              \
      return true;                  \
    }                               \
    break;
#define BASALT_CASES_8(w) \
  BASALT_CASE(w)          \
  BASALT_CASE(w + 1)      \
  BASALT_CASE(w + 2) BASALT_CASE(w + 3) BASALT_CASE(w + 4) BASALT_CASE(w + 5) BASALT_CASE(w + 6) BASALT_CASE(w + 7)
  switch (width) {
    BASALT_CASE(0)
    BASALT_CASES_8(1)
    BASALT_CASES_8(9)
    BASALT_CASES_8(17)
    BASALT_CASES_8(25)
    BASALT_CASES_8(33)
    BASALT_CASES_8(41)
    BASALT_CASES_8(49)
    BASALT_CASES_8(57)
    default: break;
  }
#undef BASALT_CASES_8
#undef BASALT_CASE
  return false;
}

template <uint32_t kWidest, uint32_t kMost, typename F>
__device__ __forceinline__ bool for_width(WidthsUpTo<kMost>, uint32_t width, F&& f) {
  return for_width<(kMost < kWidest ? kMost : kWidest)>(AllWidths{}, width, f);
}

// Bits `bit … bit + W` of a lane's stream, out of the words that `word(j)` gives. All arguments are constants after
// unrolling; no word beyond the value's last bit is asked for.
template <uint32_t W, typename Words>
BASALT_HD auto extract(uint32_t bit, const Words& word) {
  const uint32_t j = bit / 32;
  const uint32_t shift = bit % 32;
  if constexpr (W == 0) {
    return uint32_t{0};
  } else if constexpr (W <= 32) {
    uint32_t value = word(j) >> shift;
    if (shift + W > 32) value |= word(j + 1) << (32 - shift);
    if (W < 32 && shift + W != 32) value &= static_cast<uint32_t>(low_bits(W));
    return value;
  } else {
    const uint32_t low = extract<32>(bit, word);
    const uint32_t high = extract<W - 32>(bit + 32, word);
    return static_cast<uint64_t>(high) << 32 | low;
  }
}

// Value k moved to the top of 32 bits, with whatever its lower neighbours are below it: one shift and no mask. Keys
// compare with `bound << (32 - W)` exactly as the values compare with `bound`.
template <uint32_t W, typename Words>
BASALT_HD uint32_t extract_key(uint32_t k, const Words& word) {
  static_assert(W >= 1 && W <= 32);
  const uint32_t end = (k + 1) * W;
  const uint32_t j = (end - 1) / 32;
  const uint32_t used = end - 32 * j;  // bits of word j up to the value's end, 1…32
  if (used == 32) return word(j);
  uint32_t key = word(j) << (32 - used);
  if (used < W) key |= word(j - 1) >> used;
  return key;
}

// Mask of a value's part in its lowest word.
__device__ __forceinline__ uint32_t low_word_mask(uint32_t width) { return width >= 32 ? ~0u : (1u << width) - 1; }

// Packed value k of a lane's stream whose width is a run-time number: its low 32 bits with whatever lies above the
// value, then the whole of it. No word beyond the tile's last is asked for.
__device__ __forceinline__ uint32_t raw_low(const uint32_t* words, uint32_t width, uint32_t k) {
  const uint32_t bit = k * width;
  const uint32_t j = bit / 32;
  const uint32_t last = width == 0 ? 0 : width - 1;
  return funnel_right(load(words + j * kLanes), load(words + (j < last ? j + 1 : last) * kLanes), bit);
}
__device__ __forceinline__ uint64_t raw_whole(const uint32_t* words, uint32_t width, uint32_t k) {
  const uint32_t bit = k * width;
  const uint32_t j = bit / 32;
  const uint32_t last = width == 0 ? 0 : width - 1;
  const uint32_t word_0 = load(words + j * kLanes);
  const uint32_t word_1 = load(words + (j < last ? j + 1 : last) * kLanes);
  const uint32_t low = funnel_right(word_0, word_1, bit);
  if (width <= 32) return low & low_word_mask(width);
  const uint32_t word_2 = load(words + (j + 1 < last ? j + 2 : last) * kLanes);
  const uint32_t high = funnel_right(word_1, word_2, bit) & low_word_mask(width - 32);
  return static_cast<uint64_t>(high) << 32 | low;
}

// Bit k of the result: first ≤ packed value k ≤ first + span. One copy serves every column of a kernel whose tile has a
// width that is not unrolled.
__device__ __noinline__ inline uint32_t raw_within(const uint32_t* words, uint32_t width, uint64_t first,
                                                   uint64_t span) {
  uint32_t mask = 0;
  if (width <= 32) {
    const uint32_t low_mask = low_word_mask(width);
    const uint32_t low_first = static_cast<uint32_t>(first);
    const uint32_t low_span = static_cast<uint32_t>(span);
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      mask |= static_cast<uint32_t>((raw_low(words, width, k) & low_mask) - low_first <= low_span) << k;
    }
  } else {
#pragma unroll 2
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      mask |= static_cast<uint32_t>(raw_whole(words, width, k) - first <= span) << k;
    }
  }
  return mask;
}

// What `first ≤ value ≤ last` means for the packed values of one tile.
struct RawRange {
  uint64_t first;
  uint64_t last;
  bool none;  // no value of the tile can lie inside
  bool all;   // every value does
};

// One tile of compile-time width, for one lane.
template <typename T, uint32_t W>
class PackedTile {
 public:
  using value_type = T;
  using raw_type = typename SelectType<(W <= 32), uint32_t, uint64_t>::type;

  __device__ __forceinline__ PackedTile(const uint32_t* lane_words, T reference)
      : words_(lane_words), reference_(reference) {}

  // k must be a constant after unrolling. Words are loaded where they are first needed; since nothing writes them,
  // the compiler merges repeated loads and moves them to the front.
  __device__ __forceinline__ raw_type raw_at(uint32_t k) const {
    return extract<W>(k * W, [this](uint32_t j) { return load(words_ + j * kLanes); });
  }
  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(reference_ + static_cast<T>(raw_at(k))); }

  // With a mark in the bits above it. `mark` is kMark from memory, which takes one instruction with what masks a value;
  // one at the top of its word needs no mask, and takes one with a constant.
  template <uint32_t kMark>
  __device__ __forceinline__ uint32_t marked_at(uint32_t k, uint32_t mark) const {
    return raw_at(k) | (k * W % 32 + W == 32 ? kMark : mark);
  }

  // Bit k of the result: packed value k < bound, for 0 < bound < 2^W.
  __device__ __forceinline__ uint32_t below(uint64_t bound) const {
    uint32_t mask = 0;
    if constexpr (W == 8) {
      mask = bytes_below(static_cast<uint32_t>(bound));
    } else if constexpr (W >= 1 && W <= 32) {
      const uint32_t key_bound = static_cast<uint32_t>(bound) << (32 - W);
      for_each_k([&](uint32_t k) { set_if_below(mask, 1u << k, key_at(k), key_bound); });
    } else if constexpr (W > 32) {
      for_each_k([&](uint32_t k) {
        if (raw_at(k) < bound) mask += 1u << k;
      });
    }
    return mask;
  }

  // Bit k of the result: first ≤ packed value k ≤ last, for a range that is neither empty nor everything.
  __device__ __forceinline__ uint32_t within(uint64_t first, uint64_t last) const {
    uint32_t mask = 0;
    if constexpr (W == 8) {
      mask = bytes_below(static_cast<uint32_t>(last) + 1);
      if (first != 0) mask ^= bytes_below(static_cast<uint32_t>(first));
    } else if constexpr (W >= 1 && W <= 32) {
      const uint32_t key_first = static_cast<uint32_t>(first) << (32 - W);
      const uint32_t key_span = static_cast<uint32_t>(last - first + 1) << (32 - W);
      for_each_k([&](uint32_t k) { set_if_below(mask, 1u << k, key_at(k) - key_first, key_span); });
    } else if constexpr (W > 32) {
      for_each_k([&](uint32_t k) {
        if (raw_at(k) - first <= last - first) mask += 1u << k;
      });
    }
    return mask;
  }

  // Calls f(k, value) by the whole warp for the k that share a group of eight with first…last, in ascending order; f
  // must do without the others.
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    // Up to here all words that are needed are held in registers and requested before the first value is made.
    constexpr bool kHeld = W <= 32;
    uint32_t words[kHeld && W > 0 ? W : 1] = {};
    if constexpr (kHeld && W > 0) {
#pragma unroll
      for (uint32_t group = 0; group < 4; ++group) {
        // Whole words of a group's 8 · W bits, then the one that it shares with the next.
        if (group >= first / 8 && group <= last / 8) {
#pragma unroll
          for (uint32_t j = (group * W + 3) / 4; j < (group + 1) * W / 4; ++j) words[j] = load_now(words_ + j * kLanes);
        }
        if ((group + 1) * W % 4 != 0 && group + 1 >= first / 8 && group <= last / 8) {
          words[(group + 1) * W / 4] = load_now(words_ + (group + 1) * W / 4 * kLanes);
        }
      }
    }
#pragma unroll
    for (uint32_t group = 0; group < 4; ++group) {
      if (group < first / 8 || group > last / 8) continue;
#pragma unroll
      for (uint32_t k = group * 8; k < group * 8 + 8; ++k) {
        raw_type raw;
        if constexpr (kHeld) {
          raw = extract<W>(k * W, [&](uint32_t j) { return words[j]; });
        } else {
          raw = raw_at(k);
        }
        f(k, static_cast<T>(reference_ + static_cast<T>(raw)));
      }
    }
  }

 private:
  __device__ __forceinline__ uint32_t key_at(uint32_t k) const {
    return extract_key<W>(k, [this](uint32_t j) { return load(words_ + j * kLanes); });
  }

  // below() of bytes, four at a time, for 0 < bound ≤ 256. A byte is not below the bound where adding 256 − bound
  // carries out of it: of the lower seven bits' sums, which stay inside their bytes, and of the top bits two are set.
  __device__ __forceinline__ uint32_t bytes_below(uint32_t bound) const {
    constexpr uint32_t kTops = 0x80808080;
    constexpr uint32_t kGather = 1 | 1 << 7 | 1 << 14 | 1 << 21;  // the four top bits, side by side above all others
    const uint32_t added = (256 - bound) * 0x01010101;
    const uint32_t added_low = added & ~kTops;
    uint32_t carried = 0;
#pragma unroll
    for (uint32_t j = 8; j-- > 0;) {
      const uint32_t word = load(words_ + j * kLanes);
      const uint32_t sums = (word & ~kTops) + added_low;
      const uint32_t carries = ((word & added) | (sums & (word | added))) & kTops;
      carried = funnel_left(carries * kGather, carried, 4);
    }
    return ~carried;
  }

  const uint32_t* words_;
  T reference_;
};

template <typename T, uint32_t W>
struct WantsConstants<PackedTile<T, W>> {
  static constexpr bool value = true;
};

template <typename T, typename UnrolledWidths = Widths<>>
class Packed {
 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + packed::kStreams;
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;
  // The same without unrolled code, for what columns of different widths share.
  using Rolled = Packed<T>;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    references_ = stream<T>(descriptor, 1 + packed::kReferences);
    descriptors_ = stream<uint32_t>(descriptor, 1 + packed::kDescriptors);
    stream_words_ = stream<uint32_t>(descriptor, 1 + packed::kWords);
  }

  struct Entry {
    uint32_t descriptor;
    T reference;
  };
  __device__ __forceinline__ Entry entry(uint32_t tile) const {
    return {load(descriptors_ + tile), load(references_ + tile)};
  }
  // The same, asked for where it stands.
  __device__ __forceinline__ Entry entry_now(uint32_t tile) const {
    return {load_now(descriptors_ + tile), load_now(references_ + tile)};
  }

  __device__ __forceinline__ void seek(uint32_t tile, void*) {
    const Entry tile_entry = entry(tile);
    seek_known(tile_entry.descriptor, tile_entry.reference);
  }

  // The same for a caller that has read the tile's entry already, as kernels do that fetch those of many tiles at once.
  __device__ __forceinline__ void seek_known(uint32_t tile_descriptor, T reference) {
    place(tile_descriptor, reference, lane_id());
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  // The open tile's values are counted from `origin` from now on, modulo 2^bits.
  __device__ __forceinline__ void rebase(T origin) { reference_ = static_cast<T>(reference_ - origin); }

  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(reference_ + static_cast<T>(raw_at(k))); }

  __device__ __forceinline__ T row(uint32_t i) const {
    const Entry tile_entry = entry(i / kTileRows);
    Packed point = *this;
    point.place(tile_entry.descriptor, tile_entry.reference, i % kLanes);
    return point.at(i % kTileRows / kLanes);
  }

  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    Packed reader;
    reader.bind(descriptor);
    return reader.row(i);
  }

  __device__ __forceinline__ uint32_t width() const { return width_; }
  __device__ __forceinline__ T reference() const { return reference_; }
  __device__ __forceinline__ const uint32_t* words() const { return words_; }  // the lane's
  __device__ __forceinline__ const uint32_t* stream_words() const { return stream_words_; }

  // Calls f with a view of the tile that has at(k), below(), within() and for_each_between(); not with unrolled code if
  // `worthwhile` says that there is too little to do.
  template <typename F>
  __device__ __forceinline__ void visit(F&& f, bool worthwhile = true) const {
    // Wider than the type is never written, so not worth unrolled code.
    constexpr uint32_t kWidest = sizeof(T) >= 8 ? 64 : 8 * sizeof(T);
    const bool unrolled = worthwhile && for_width<kWidest>(UnrolledWidths{}, width_, [&](auto width) {
                            f(PackedTile<T, decltype(width)::value>(words_, reference_));
                          });
    if (!unrolled) f(*this);
  }

  __device__ __forceinline__ uint64_t raw_at(uint32_t k) const {
    if constexpr (sizeof(T) <= 4) {
      return raw_low(words_, width_, k) & low_word_mask(width_);
    } else {
      return raw_whole(words_, width_, k);
    }
  }
  // The low 32 bits of value k: all that is needed of values that statistics have proven to be narrow.
  __device__ __forceinline__ uint32_t low_at(uint32_t k) const {
    return static_cast<uint32_t>(reference_) + (raw_low(words_, width_, k) & low_word_mask(width_));
  }

  // Where a comparison with literals, by the column's own order, puts this tile. `first ≤ last` is not required.
  // The reference is the smallest value, so that no value of the tile wraps around the type.
  template <bool kSigned>
  __device__ __forceinline__ RawRange range(T first, T last) const {
    RawRange result;
    result.none = less<kSigned>(last, first) || less<kSigned>(last, reference_);
    const T from = less<kSigned>(first, reference_) ? T{0} : static_cast<T>(first - reference_);
    const T to = static_cast<T>(last - reference_);
    const uint64_t largest = low_bits(width_);
    result.none = result.none || from > static_cast<T>(largest);
    result.first = static_cast<uint64_t>(from);
    result.last = to > static_cast<T>(largest) ? largest : static_cast<uint64_t>(to);
    result.all = !result.none && result.first == 0 && result.last == largest;
    return result;
  }

  __device__ __forceinline__ uint32_t below(uint64_t bound) const {
    return bound == 0 ? 0 : raw_within(words_, width_, 0, bound - 1);
  }
  __device__ __forceinline__ uint32_t within(uint64_t first, uint64_t last) const {
    return raw_within(words_, width_, first, last - first);
  }

  // In groups of four, as PackedTile has groups of eight.
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    for_groups<4>(first, last, [&](uint32_t k) { f(k, at(k)); });
  }

 private:
  __device__ __forceinline__ void place(uint32_t tile_descriptor, T reference, uint32_t lane) {
    width_ = packed::descriptor_width(tile_descriptor);
    reference_ = reference;
    // A tile without words may lie at the very end of the stream: point at something readable instead, which the mask
    // of width 0 then ignores, so that reading needs no branch.
    words_ = width_ == 0 ? descriptors_ : stream_words_ + packed::descriptor_word(tile_descriptor) + lane;
  }

  template <bool kSigned>
  __device__ __forceinline__ static bool less(T a, T b) {
    constexpr T kTop = kSigned ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
    return static_cast<T>(a ^ kTop) < static_cast<T>(b ^ kTop);
  }

  const T* references_;
  const uint32_t* descriptors_;
  const uint32_t* stream_words_;
  const uint32_t* words_;
  uint32_t width_;
  T reference_;
};

// Tiles of a width that is not unrolled: one copy for all places of a kernel that stage values of this type.
template <typename T, typename V>
__device__ __noinline__ void stage_packed(const uint32_t* words, uint32_t width, T reference, uint32_t first,
                                          uint32_t last, uint32_t limit, V* out, uint32_t stride) {
  const uint32_t lane = lane_id();
  for_groups<4>(first, last, [&](uint32_t k) {
    uint64_t raw;
    if constexpr (sizeof(T) <= 4) {
      raw = raw_low(words, width, k) & low_word_mask(width);
    } else {
      raw = raw_whole(words, width, k);
    }
    const T value = static_cast<T>(reference + static_cast<T>(raw));
    store_shared_if_less(k * kLanes + lane, limit, out + k * stride + lane, static_cast<V>(value));
  });
}
template <typename T, typename UnrolledWidths, typename Limit, typename V>
__device__ __forceinline__ void stage_rows(const Packed<T, UnrolledWidths>& tile, uint32_t first, uint32_t last,
                                           Limit limit, V* out, uint32_t stride) {
  stage_packed(tile.words(), tile.width(), tile.reference(), first, last, limit, out, stride);
}

}  // namespace basalt::device
