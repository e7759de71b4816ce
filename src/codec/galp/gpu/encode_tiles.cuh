// The device encoder's choice of schemes, a warp per tile. A lane has its 32 rows in registers; what exceptions it has
// is a mask of rows.
#pragma once

#include "codec/galp/gpu/encode_search.cuh"

namespace basalt::galp {

// The least and the largest of some unsigned numbers.
template <typename Bits>
struct NumberSpan {
  Bits low = static_cast<Bits>(~Bits{0});
  Bits high = 0;

  __device__ __forceinline__ void add(Bits number) {
    low = number < low ? number : low;
    high = number > high ? number : high;
  }
  // If one of the bits of `mask` is set, by conditional instructions: of an `if` the compiler makes selections.
  __device__ __forceinline__ void add_if(uint32_t mask, uint32_t bits, Bits number) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(Bits) == 4) {
      asm("{.reg .pred p; .reg .b32 t; and.b32 t, %2, %3; setp.ne.u32 p, t, 0; @p min.u32 %0, %0, %4;"
          "@p max.u32 %1, %1, %4;}"
          : "+r"(low), "+r"(high)
          : "r"(mask), "r"(bits), "r"(number));
      return;
    }
#endif
    if ((mask & bits) != 0) add(number);
  }
  __device__ __forceinline__ void join() {
    low = lowest_of_lanes(low);
    high = highest_of_lanes(high);
  }
  __device__ __forceinline__ bool is_empty() const { return low > high; }
  __device__ __forceinline__ Bits span() const { return static_cast<Bits>(high - low); }
};

// The same of signed numbers: with the sign turned over they have the order of unsigned ones.
template <typename T>
__device__ __forceinline__ BitsOf<T> ordered(BitsOf<T> number) {
  return number ^ Arithmetic<T>::kSign;
}

// A lane's rows. Those that the tile does not have are its first, which changes no span, and `present` says so.
template <typename T>
struct TileRows {
  T values[kRowsPerLane];
  uint32_t present = 0;

  __device__ __forceinline__ void read(const T* tile, uint32_t rows) {
    const uint32_t lane = lane_id();
    const uint32_t own = rows > lane ? (rows - lane + kLanes - 1) / kLanes : 0;
    present = static_cast<uint32_t>(low_bits(own));
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const uint32_t row = k * kLanes + lane;
      values[k] = load_float(tile + (row < rows ? row : 0));
    }
  }
};

// Factors of a pair, by a warp: each lane says whether the pairs of an e come before this one. Counting up to it would
// take longer than eight rows.
template <typename T>
__device__ __forceinline__ Scale<T> scale_by_warp(uint32_t pair) {
  const uint32_t e = device::population(device::ballot(pair_number({lane_id(), 0}) <= pair)) - 1;
  return Scale<T>::of({e, pair - pair_number({e, 0})});
}

// How a tile's exceptions are kept.
template <typename T>
struct BlockFit {
  uint32_t words = 0;
  uint32_t width = 0;
  BitsOf<T> base = 0;

  // `values` of all lanes; of `bits` bits.
  template <typename Bits>
  __device__ __forceinline__ static BlockFit of(uint32_t count, const NumberSpan<Bits>& values, uint32_t bits) {
    if (count == 0) return {};
    const uint32_t width = block_width(count, values.is_empty() ? Bits{0} : values.span(), bits);
    return {block_words(count, width, bits), width, width < bits ? BitsOf<T>{values.low} : BitsOf<T>{0}};
  }
};

// What a scheme makes of a tile.
template <typename T>
struct TileFit {
  uint32_t bytes = kNoBytes;
  BlockFit<T> block;
  Frame<T> frame;  // of the integers

  __device__ __forceinline__ static TileFit of(const Frame<T>& frame, const BlockFit<T>& block) {
    return {tile_bytes(width_of_span(frame.span), block.words), block, frame};
  }
};

// A look is taken after so many of a lane's rows; at pairs, which cost more, sooner, and again after half of them.
constexpr uint32_t kFirstRows = 8;
constexpr uint32_t kFirstOfPair = 4;
constexpr uint32_t kHalfOfRows = kRowsPerLane / 2;

// A pair. Stops where `most` bytes are reached for certain: cost can only grow with rows. Exceptions alone tell most
// pairs that lose, so they are counted before the span of integers is looked for.
template <typename T>
__device__ __forceinline__ TileFit<T> fit_pair(const TileRows<T>& rows, uint32_t pair, uint32_t most) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  const auto scale = scale_by_warp<T>(pair);
  uint32_t exceptions = 0;
  HeldSpan<T> held;
  NumberSpan<BitsOf<T>> values;  // of exceptions
  const auto mark = [&](uint32_t k) { round_row(rows.values[k], scale, exceptions, 1u << k); };
  const auto hold = [&](uint32_t k) { held.add_unless(exceptions, 1u << k, rows.values[k]); };
  const auto take_exception = [&](uint32_t k) { values.add_if(exceptions, 1u << k, bits_of(rows.values[k])); };
  const auto count_all = [&] { return device::sum_of_lanes(device::population(exceptions & rows.present)); };
  const auto joined_values = [&] {
    NumberSpan<BitsOf<T>> joined = values;
    joined.join();
    return joined;
  };
#pragma unroll
  for (uint32_t k = 0; k < kFirstOfPair; ++k) mark(k);
#pragma unroll
  for (uint32_t k = 0; k < kFirstOfPair; ++k) hold(k);
  uint32_t count = count_all();
  if (count > 0) {
#pragma unroll
    for (uint32_t k = 0; k < kFirstOfPair; ++k) take_exception(k);
  }
  NumberSpan<BitsOf<T>> seen = joined_values();
  // With what the first rows have shown of spans.
  uint32_t least_width = 0;
  const auto is_lost = [&] { return tile_bytes(least_width, BlockFit<T>::of(count, seen, kBits).words) >= most; };
  if (most != kNoBytes) {
    least_width = width_of_span(held.integers(scale).joined().span);
    if (is_lost()) return {};
  }
#pragma unroll
  for (uint32_t k = kFirstOfPair; k < kHalfOfRows; ++k) mark(k);
  count = count_all();
  if (count > 0 && is_lost()) return {};
#pragma unroll
  for (uint32_t k = kHalfOfRows; k < kRowsPerLane; ++k) mark(k);
  count = count_all();
  if (count > 0 && is_lost()) return {};
#pragma unroll
  for (uint32_t k = kFirstOfPair; k < kRowsPerLane; ++k) hold(k);
  const Frame<T> frame = held.integers(scale).joined();
  // A span that saves nothing does not save more when it grows.
  if (count > 0 && BlockFit<T>::of(count, seen, kBits).width < kBits) {
#pragma unroll
    for (uint32_t k = kFirstOfPair; k < kRowsPerLane; ++k) take_exception(k);
    seen = joined_values();
  }
  return TileFit<T>::of(frame, BlockFit<T>::of(count, seen, kBits));
}

// Bytes that bit patterns as they are take at most, by their upper 32 bits.
template <typename T>
__device__ __forceinline__ uint32_t most_of_raw(const TileRows<T>& rows) {
  constexpr uint32_t kBelow = Arithmetic<T>::kBits - 32;
  const auto upper = [&](uint32_t k) { return static_cast<int32_t>(bits_of(rows.values[k]) >> kBelow); };
  int32_t low = upper(0);
  int32_t high = low;
#pragma unroll
  for (uint32_t k = 1; k < kRowsPerLane; ++k) {
    low = upper(k) < low ? upper(k) : low;
    high = upper(k) > high ? upper(k) : high;
  }
  const uint32_t span = static_cast<uint32_t>(highest_of_lanes(high)) - static_cast<uint32_t>(lowest_of_lanes(low));
  return tile_bytes(width_of_span(uint64_t{span} << kBelow | low_bits(kBelow)), 0);
}

// Bit patterns as they are; stops like fit_pair().
template <typename T>
__device__ __forceinline__ TileFit<T> fit_raw(const TileRows<T>& rows, uint32_t most) {
  NumberSpan<BitsOf<T>> first;
#pragma unroll
  for (uint32_t k = 0; k < kFirstRows; ++k) first.add(ordered<T>(bits_of(rows.values[k])));
  NumberSpan<BitsOf<T>> span = first;
  first.join();
  if (tile_bytes(width_of_span(first.span()), 0) >= most) return {};
#pragma unroll
  for (uint32_t k = kFirstRows; k < kRowsPerLane; ++k) span.add(ordered<T>(bits_of(rows.values[k])));
  span.join();
  return TileFit<T>::of({ordered<T>(span.low), span.span()}, {});
}

// The integer of RD, and whether the upper part is an exception.
template <typename T>
struct Parts {
  BitsOf<T> integer;
  bool exception;
};

// A dictionary that the lanes of a warp hold together: a multiplication spreads upper parts over them so that no two
// entries meet, and the lane where a part would be says whether it is there. Comparing with each of eight entries takes
// twice as many instructions.
template <typename T>
class UpperParts {
 public:
  uint32_t right_bits;

  __device__ __forceinline__ explicit UpperParts(const Dictionary& dictionary)
      : right_bits(Arithmetic<T>::kBits - dictionary.left_bits) {
    uint32_t entries[kMaxEntries];  // the first for those that there are not
#pragma unroll
    for (uint32_t i = 0; i < kMaxEntries; ++i) entries[i] = dictionary.entries[i];
#pragma unroll
    for (uint32_t i = 0; i < kMaxEntries; ++i) entries[i] = i < dictionary.size ? entries[i] : entries[0];
    // Each lane tries a number; two of five spread eight entries.
    uint32_t own = 0x9E3779B1u * (2 * lane_id() + 1);
    uint32_t spreads = 0;
    while (true) {
      uint32_t places = 0;
#pragma unroll
      for (uint32_t i = 0; i < kMaxEntries; ++i) places |= 1u << (entries[i] * own >> kShift);
      spreads = device::ballot(device::population(places) >= dictionary.size);
      if (spreads != 0) break;
      own = own * 0x2C9277B5u + 2;
    }
    factor_ = device::shuffle(own, device::lowest_bit(spreads));
#pragma unroll
    for (uint32_t i = kMaxEntries; i-- > 0;) {
      if (place(entries[i]) == lane_id()) held_ = entries[i] | i << kIndexAt;
    }
  }
  __device__ __forceinline__ uint32_t upper(T value) const {
    return static_cast<uint32_t>(bits_of(value) >> right_bits);
  }
  // All lanes together.
  __device__ __forceinline__ Parts<T> part(T value) const {
    using Bits = BitsOf<T>;
    const uint32_t left = upper(value);
    const uint32_t held = device::shuffle(held_, place(left));
    const bool exception = (held & ((1u << kIndexAt) - 1)) != left;
    const Bits above = exception ? Bits{0} : static_cast<Bits>(held >> kIndexAt);
    return {static_cast<Bits>(above << right_bits | (bits_of(value) & static_cast<Bits>(low_bits(right_bits)))),
            exception};
  }

 private:
  static constexpr uint32_t kShift = 27;                 // leaves five bits: the lane
  static constexpr uint32_t kNone = 1u << kMaxLeftBits;  // no upper part
  static constexpr uint32_t kIndexAt = kMaxLeftBits + 1;

  __device__ __forceinline__ uint32_t place(uint32_t left) const { return left * factor_ >> kShift; }

  uint32_t factor_;
  uint32_t held_ = kNone;  // the lane's entry and its index
};

// Stops like fit_pair().
template <typename T>
__device__ __forceinline__ TileFit<T> fit_rd(const TileRows<T>& rows, const Dictionary& dictionary, uint32_t most) {
  const UpperParts<T> uppers(dictionary);
  NumberSpan<BitsOf<T>> integers;
  NumberSpan<uint32_t> lefts;
  uint32_t exceptions = 0;
  const auto take = [&](uint32_t k) {
    const Parts<T> parts = uppers.part(rows.values[k]);
    integers.add(ordered<T>(parts.integer));
    if (parts.exception) lefts.add(uppers.upper(rows.values[k]));
    exceptions |= (parts.exception ? 1u : 0u) << k;
  };
  const auto fit = [&] {
    const uint32_t count = device::sum_of_lanes(device::population(exceptions & rows.present));
    NumberSpan<BitsOf<T>> frame = integers;
    NumberSpan<uint32_t> span = lefts;
    frame.join();
    span.join();
    return TileFit<T>::of({ordered<T>(frame.low), frame.span()}, BlockFit<T>::of(count, span, kMaxLeftBits));
  };
#pragma unroll
  for (uint32_t k = 0; k < kFirstRows; ++k) take(k);
  if (fit().bytes >= most) return {};
#pragma unroll
  for (uint32_t k = kFirstRows; k < kRowsPerLane; ++k) take(k);
  return fit();
}

// The value at sampled_row() of the first piece, row i by lane i. In a whole tile that row is one of the lanes' rows i;
// where the first of them does not differ from the row before it, lanes would look at all of theirs, each in other
// lines of memory.
template <typename T>
__device__ __forceinline__ T sampled_value(const TileRows<T>& rows, const T* tile, uint32_t count) {
  static_assert(kPieceRows == kRowsPerLane);
  const uint32_t lane = lane_id();
  const uint32_t first = lane == 0 ? 1 : lane * kLanes;
  bool differs = false;
  if (count == kTileRows) differs = bits_of(load_float(tile + first)) != bits_of(load_float(tile + first - 1));
  if (count < kTileRows || !device::any_lane(!differs)) return load_float(tile + sampled_row(tile, 0, lane, count));
  T own = rows.values[0];
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const T here = rows.values[k];
    const T to_next = k > 0 && lane == kLanes - 1 ? rows.values[k > 0 ? k - 1 : 0] : here;
    BitsOf<T> before = device::shuffle(bits_of(to_next), (lane + kLanes - 1) % kLanes);
    if (k == 0 && lane == 0) before = bits_of(here);
    const uint32_t others = device::ballot(before != bits_of(here));
    const BitsOf<T> taken = device::shuffle(bits_of(here), others == 0 ? 0 : device::lowest_bit(others));
    if (lane == k) own = float_of(taken);
  }
  return own;
}

// The candidate with the fewest bits on 32 rows, a row per lane, and the exceptions among them.
struct Likely {
  uint32_t candidate = 0;
  uint32_t exceptions = 0;
};
template <typename T>
__device__ __forceinline__ Likely best_on_sample(T own, const Group& group) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  Likely best;
  uint32_t best_bits = kNoBytes;
  for (uint32_t i = 0; i < group.count; ++i) {
    const PieceFit fit = fit_rows(own, scale_by_warp<T>(group.candidates[i]));
    const uint32_t bits = fit_bits(fit, kBits);
    if (bits < best_bits) {
      best = {i, fit.exceptions};
      best_bits = bits;
    }
  }
  return best;
}

// Keeps what a tile has chosen.
template <typename T>
__device__ __forceinline__ void keep_fit(const EncodeWork<T>& work, uint32_t tile, const TileFit<T>& fit) {
  if (lane_id() != 0) return;
  work.references[tile] = fit.frame.least;
  work.sizes[tile] = make_sizes(fit.block.words, width_of_span(fit.frame.span));
  work.block_bases[tile] = fit.block.base;
  work.block_widths[tile] = static_cast<uint8_t>(fit.block.width);
}

// A warp per tile: its scheme, and the words that its exceptions take.
template <typename T>
__device__ void choose_tile(const EncodeWork<T>& work, uint32_t tile) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  const T* from = work.tile_values(tile);
  const uint32_t count = work.rows_of(tile);
  const Group& group = work.found[tile / kGroupTiles];
  TileRows<T> rows;
  rows.read(from, count);
  TileChoice choice;
  // Kept at once: registers are scarce.
  const auto offer = [&](uint32_t scheme, const TileFit<T>& fit) {
    if (choice.offer(scheme, fit.bytes)) keep_fit(work, tile, fit);
  };
  // The likely candidate first, so that the others stop early; of equals still the first in the group's order.
  const Likely likely = group.count > 1 ? best_on_sample(sampled_value(rows, from, count), group) : Likely{};
  const uint32_t tries = work.fast && group.count > 1 ? 1 : group.count;
  const uint32_t limit = likely.exceptions > 0 ? most_of_raw(rows) + 1 : kNoBytes;
  uint32_t taken = likely.candidate;
#pragma unroll 1
  for (uint32_t j = 0; j < tries; ++j) {
    const uint32_t i = j == 0 ? likely.candidate : j <= likely.candidate ? j - 1 : j;
    const uint32_t most = choice.bytes == kNoBytes ? limit : choice.bytes + (i < taken ? 1 : 0);
    if (most == 0) break;
    const TileFit<T> fit = fit_pair(rows, group.candidates[i], most);
    if (fit.bytes >= most) continue;
    choice.scheme = group.candidates[i];
    choice.bytes = fit.bytes;
    keep_fit(work, tile, fit);
    taken = i;
  }
  offer(kRaw, fit_raw(rows, choice.bytes));
  const Dictionary dictionary = group.dictionary;
  if (choice.wants_rd(dictionary, kBits)) offer(kRd, fit_rd(rows, dictionary, choice.bytes));
  if (lane_id() != 0) return;
  work.schemes[tile] = static_cast<uint8_t>(choice.scheme);
  if (choice.scheme == kRd) {
    work.uses_dictionary[tile / kGroupTiles] = 1;
    *work.any_dictionary = 1;
  }
}

// The same where the scheme is one for all, and integers are not packed here.
template <typename T>
__device__ void take_scheme(const EncodeWork<T>& work, uint32_t tile, uint32_t scheme) {
  TileFit<T> fit;
  if (scheme != kRaw) {
    TileRows<T> rows;
    rows.read(work.tile_values(tile), work.rows_of(tile));
    fit = fit_pair(rows, scheme, kNoBytes);
    fit.frame = {};
  }
  keep_fit(work, tile, fit);
  if (lane_id() == 0) work.schemes[tile] = static_cast<uint8_t>(scheme);
}

}  // namespace basalt::galp
