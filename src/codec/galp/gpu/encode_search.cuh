// The device encoder's searches, a block per group of tiles: candidates and dictionary of the group, and one pair for
// all groups. A warp has a piece of the sample and each of its lanes tries other pairs; what wins is the smallest of
// keys in which the order of trials is the last part, so that it is what the CPU's loops find.
#pragma once

#include "codec/galp/gpu/encode_work.h"
#include "core/device/join.h"

namespace basalt::galp {

using device::highest_of_lanes;
using device::lane_id;
using device::lowest_of_lanes;

__device__ __forceinline__ uint32_t warp_of_block() { return threadIdx.x / kLanes; }
__device__ __forceinline__ uint32_t warps_of_block() { return blockDim.x / kLanes; }

template <typename T>
__device__ __forceinline__ T load_float(const T* from) {
  return float_of(device::load(reinterpret_cast<const BitsOf<T>*>(from)));
}

__device__ __forceinline__ void add_to(uint64_t* to, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// encode() for encoders that count exceptions: the integer, still as a float, or NaN; `exceptions` grows by `bit` then.
template <typename T>
__device__ __forceinline__ T round_row(T value, const Scale<T>& scale, uint32_t& exceptions, uint32_t bit) {
  T d = nearest_integer(value, scale);
  const T back = decode_exact(d, scale);
#if defined(__CUDA_ARCH__)
  // Conditional instructions: of an `if` the compiler makes numbers and compares them again.
  if constexpr (sizeof(T) == 8) {
    asm("{.reg .pred p; .reg .f64 size; abs.f64 size, %0; setp.gtu.f64 p, size, %2; setp.ne.or.u64 p, %3, %4, p;"
        "@p add.u32 %1, %1, %5; @p mov.b64 %0, 0x7FFFFFFFFFFFFFFF;}"
        : "+d"(d), "+r"(exceptions)
        : "d"(scale.limit), "l"(bits_of(back)), "l"(bits_of(value)), "r"(bit));
  } else {
    asm("{.reg .pred p; .reg .f32 size; abs.f32 size, %0; setp.gtu.f32 p, size, %2; setp.ne.or.u32 p, %3, %4, p;"
        "@p add.u32 %1, %1, %5; @p mov.b32 %0, 0x7FFFFFFF;}"
        : "+f"(d), "+r"(exceptions)
        : "f"(scale.limit), "r"(bits_of(back)), "r"(bits_of(value)), "r"(bit));
  }
#else
  const T size = d < 0 ? -d : d;
  if (!(size <= scale.limit) || bits_of(back) != bits_of(value)) {
    d = float_of(static_cast<BitsOf<T>>(~Arithmetic<T>::kSign));
    exceptions += bit;
  }
#endif
  return d;
}

// The integer that round_row() found; any where it found none.
template <typename T>
__device__ __forceinline__ IntOf<T> to_integer(T d) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    return __double2ll_rz(d);
  } else {
    return __float2int_rz(d);
  }
#else
  return d == d ? static_cast<IntOf<T>>(d) : IntOf<T>{0};
#endif
}

// The least of some integers, and the largest less that.
template <typename T>
struct Frame {
  BitsOf<T> least = 0;
  BitsOf<T> span = 0;
};

// The span of the integers of rows that are not exceptions; 0 if all are. They are compared while they are still
// floats, which have the same order, and converted once.
template <typename T>
struct IntegerSpan {
  T low = float_of(Arithmetic<T>::kInfinity);
  T high = -float_of(Arithmetic<T>::kInfinity);

  // NaN changes nothing.
  __device__ __forceinline__ void add(T d) {
    if constexpr (sizeof(T) == 4) {
      low = fminf(low, d);
      high = fmaxf(high, d);
    } else {
      low = d < low ? d : low;
      high = d > high ? d : high;
    }
  }
  __device__ __forceinline__ bool is_empty() const { return low > high; }
  // Of one lane.
  __device__ __forceinline__ BitsOf<T> own() const {
    if (is_empty()) return 0;
    return static_cast<BitsOf<T>>(static_cast<IntOf<T>>(high)) - static_cast<BitsOf<T>>(static_cast<IntOf<T>>(low));
  }
  // Of all lanes.
  __device__ __forceinline__ Frame<T> joined() const {
    using Int = IntOf<T>;
    constexpr auto kLargest = static_cast<Int>(~Arithmetic<T>::kSign);
    const Int least = lowest_of_lanes(is_empty() ? kLargest : static_cast<Int>(low));
    const Int largest = highest_of_lanes(is_empty() ? static_cast<Int>(-kLargest - 1) : static_cast<Int>(high));
    if (least > largest) return {};
    return {static_cast<BitsOf<T>>(least), static_cast<BitsOf<T>>(largest) - static_cast<BitsOf<T>>(least)};
  }
};

// The least and the largest of values that a pair holds: a larger value has no smaller integer, so that the span of
// integers follows from them.
template <typename T>
struct HeldSpan {
  T low = float_of(Arithmetic<T>::kInfinity);
  T high = -float_of(Arithmetic<T>::kInfinity);

  // If none of the bits of `mask` is set, by conditional instructions.
  __device__ __forceinline__ void add_unless(uint32_t mask, uint32_t bits, T value) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4) {
      asm("{.reg .pred p; .reg .b32 t; and.b32 t, %2, %3; setp.eq.u32 p, t, 0; @p min.f32 %0, %0, %4;"
          "@p max.f32 %1, %1, %4;}"
          : "+f"(low), "+f"(high)
          : "r"(mask), "r"(bits), "f"(value));
    } else {
      asm("{.reg .pred p, q; .reg .b32 t; and.b32 t, %2, %3; setp.eq.u32 p, t, 0; setp.lt.and.f64 q, %4, %0, p;"
          "@q mov.f64 %0, %4; setp.gt.and.f64 q, %4, %1, p; @q mov.f64 %1, %4;}"
          : "+d"(low), "+d"(high)
          : "r"(mask), "r"(bits), "d"(value));
    }
#else
    if ((mask & bits) != 0) return;
    low = value < low ? value : low;
    high = value > high ? value : high;
#endif
  }
  // Of the lane.
  __device__ __forceinline__ IntegerSpan<T> integers(const Scale<T>& scale) const {
    return {nearest_integer(low, scale), nearest_integer(high, scale)};
  }
};

BASALT_HD uint32_t fit_width(uint32_t exceptions, uint64_t span) {
  return exceptions + 2 > kPieceRows ? 0 : width_of_span(span);
}

// What one lane finds of a pair and a piece.
template <typename T>
__device__ __forceinline__ PieceFit fit_piece(const T* piece, const Scale<T>& scale) {
  IntegerSpan<T> integers;
  uint32_t exceptions = 0;
#pragma unroll 4
  for (uint32_t i = 0; i < kPieceRows; ++i) {
    integers.add(round_row(piece[i], scale, exceptions, 1));
  }
  return {exceptions, fit_width(exceptions, integers.own())};
}

// The same by a warp, a row per lane.
template <typename T>
__device__ __forceinline__ PieceFit fit_rows(T own, const Scale<T>& scale) {
  IntegerSpan<T> integers;
  uint32_t is_exception = 0;
  integers.add(round_row(own, scale, is_exception, 1));
  const uint32_t exceptions = device::population(device::ballot(is_exception != 0));
  return {exceptions, fit_width(exceptions, integers.joined().span)};
}

// Smaller is better; pairs are tried by falling number.
constexpr uint32_t kNoKey = ~0u;
__device__ __forceinline__ uint32_t trial_key(uint32_t cost, uint32_t pair) {
  return cost == kNoBytes ? kNoKey : cost << 8 | (255 - pair);
}
__device__ __forceinline__ uint32_t pair_of_key(uint32_t key) { return 255 - (key & 255); }

// A warp adds the best pairs of a piece to `wins` in shared memory; returns the bits of the best.
template <typename T>
__device__ uint32_t find_winners(const T* piece, uint32_t most, uint32_t* wins) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  constexpr uint32_t kPairs = pairs_of(kBits);
  constexpr uint32_t kRounds = (kPairs + kLanes - 1) / kLanes;
  uint32_t keys[kRounds];
  uint32_t safest = kNoKey;
#pragma unroll
  for (uint32_t round = 0; round < kRounds; ++round) {
    // If one pair is left, lanes share its rows.
    const bool is_shared = round * kLanes + 1 == kPairs;
    const uint32_t pair = round * kLanes + (is_shared ? 0 : lane_id());
    keys[round] = kNoKey;
    if (pair < kPairs) {
      const auto scale = Scale<T>::of(pair_of(pair));
      const PieceFit fit = is_shared ? fit_rows(piece[lane_id()], scale) : fit_piece(piece, scale);
      keys[round] = trial_key(fit_bits(fit, kBits), pair);
      const uint32_t safety = trial_key(fit_safety(fit), pair);
      safest = safety < safest ? safety : safest;
    }
  }
  uint32_t bits = kNoBytes;
  uint32_t from = 0;
  for (uint32_t i = 0; i < most; ++i) {
    uint32_t least = kNoKey;
#pragma unroll
    for (uint32_t round = 0; round < kRounds; ++round) {
      if (keys[round] >= from && keys[round] < least) least = keys[round];
    }
    least = lowest_of_lanes(least);
    if (least == kNoKey) break;
    if (i == 0) bits = least >> 8;
    if (lane_id() == 0) atomicAdd(wins + pair_of_key(least), 1u);
    from = least + 1;
  }
  safest = lowest_of_lanes(safest);
  if (safest != kNoKey && lane_id() == 0) atomicAdd(wins + pair_of_key(safest), 1u);
  return bits;
}

// By a warp. Most tiles are seen to vary by their first rows.
template <typename T>
__device__ __forceinline__ bool is_constant(const T* tile, uint32_t rows) {
  constexpr uint32_t kAtOnce = 4;
  for (uint32_t first = 0; first + 1 < rows; first += kAtOnce * kLanes) {
    bool differs = false;
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const uint32_t row = first + i * kLanes + lane_id();
      differs |= row + 1 < rows && bits_of(load_float(tile + row)) != bits_of(load_float(tile + row + 1));
    }
    if (device::any_lane(differs)) return false;
  }
  return true;
}

// A block takes the sample of a group to shared memory.
template <typename T>
__device__ void take_sample(const EncodeWork<T>& work, uint32_t group, T* sample) {
  static_assert(kPieceRows == kLanes);
  __shared__ uint8_t varies[kGroupTiles];
  __shared__ uint32_t varied[kGroupTiles];
  __shared__ uint32_t varied_count;
  const uint32_t first_tile = group * kGroupTiles;
  const uint32_t left = work.tiles - first_tile;
  const uint32_t tiles = left < kGroupTiles ? left : kGroupTiles;
  for (uint32_t tile = warp_of_block(); tile < tiles; tile += warps_of_block()) {
    const bool constant = is_constant(work.tile_values(first_tile + tile), work.rows_of(first_tile + tile));
    if (lane_id() == 0) varies[tile] = constant ? 0 : 1;
  }
  __syncthreads();
  if (warp_of_block() == 0) {
    uint32_t count = 0;
    for (uint32_t first = 0; first < tiles; first += kLanes) {
      const uint32_t tile = first + lane_id();
      const bool takes = tile < tiles && varies[tile] != 0;
      const uint32_t taken = device::ballot(takes);
      if (takes) varied[count + device::population(taken & ((1u << lane_id()) - 1))] = tile;
      count += device::population(taken);
    }
    if (lane_id() == 0) {
      if (count == 0) varied[count++] = 0;
      varied_count = count;
    }
  }
  __syncthreads();
  for (uint32_t piece = warp_of_block(); piece < kPieces; piece += warps_of_block()) {
    const uint32_t tile = first_tile + varied[piece_tile(piece, varied_count)];
    const T* from = work.tile_values(tile);
    sample[piece * kPieceRows + lane_id()] = from[sampled_row(from, piece, lane_id(), work.rows_of(tile))];
  }
  __syncthreads();
}

__device__ inline void clear_wins(uint32_t* wins) {
  for (uint32_t i = threadIdx.x; i < pairs_of(64); i += blockDim.x) wins[i] = 0;
  __syncthreads();
}

// The largest of the lanes' keys, of which no two are alike but for 0, taken out of them.
template <uint32_t kCount>
__device__ __forceinline__ uint32_t take_highest(uint32_t (&keys)[kCount]) {
  uint32_t best = 0;
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) best = keys[i] > best ? keys[i] : best;
  best = highest_of_lanes(best);
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) keys[i] = keys[i] == best ? 0 : keys[i];
  return best;
}

// rank_candidates() by a warp. Lane 0 writes.
__device__ __forceinline__ void rank_by_warp(const uint32_t* wins, uint32_t pairs, uint32_t most, Group& out) {
  uint32_t keys[(pairs_of(64) + kLanes - 1) / kLanes];
#pragma unroll
  for (uint32_t i = 0; i < sizeof(keys) / sizeof(uint32_t); ++i) {
    const uint32_t pair = i * kLanes + lane_id();
    keys[i] = pair < pairs && wins[pair] > 0 ? wins[pair] << 8 | pair : 0;
  }
  uint32_t count = 0;
  while (count < most) {
    const uint32_t best = take_highest(keys);
    if (best == 0) break;
    if (lane_id() == 0) out.candidates[count] = static_cast<uint8_t>(best & 255);
    ++count;
  }
  if (lane_id() == 0) out.count = count;
}

// cut_dictionary() by a warp, of whole pieces: a mask per piece says where runs of equal values begin, and the most
// frequent ones are taken one after the other.
__device__ __forceinline__ CutDictionary cut_by_warp(const uint16_t* sorted, uint32_t count, uint32_t type_bits,
                                                     uint32_t left_bits) {
  constexpr uint32_t kLargest = (1u << kMaxLeftBits) - 1;
  const uint32_t lane = lane_id();
  const auto value_at = [&](uint32_t i) { return static_cast<uint32_t>(sorted[i]) >> (kMaxLeftBits - left_bits); };
  uint32_t begins[kPieces];
  uint32_t keys[kPieces];  // of runs: the length, then the smaller value
#pragma unroll
  for (uint32_t piece = 0; piece < kPieces; ++piece) {
    const uint32_t i = piece * kPieceRows + lane;
    keys[piece] = i < count ? value_at(i) : 0;
    begins[piece] = device::ballot(i < count && (i == 0 || value_at(i - 1) != keys[piece]));
  }
  uint32_t next = count;  // where a run begins behind the piece
#pragma unroll
  for (uint32_t piece = kPieces; piece-- > 0;) {
    const uint32_t above = begins[piece] >> lane >> 1;
    const uint32_t length = above != 0 ? device::lowest_bit(above) + 1 : next - (piece * kPieceRows + lane);
    keys[piece] = (begins[piece] >> lane & 1) != 0 ? length << kMaxLeftBits | (kLargest - keys[piece]) : 0;
    if (begins[piece] != 0) next = piece * kPieceRows + device::lowest_bit(begins[piece]);
  }
  Dictionary found{};
  found.left_bits = static_cast<uint16_t>(left_bits);
  uint32_t held = 0;
#pragma unroll
  for (uint32_t i = 0; i < kMaxEntries; ++i) {
    const uint32_t best = take_highest(keys);
    if (best == 0) break;
    found.entries[i] = static_cast<uint16_t>(kLargest - (best & kLargest));
    held += best >> kMaxLeftBits;
    ++found.size;
  }
  return weigh_dictionary(found, held, count, type_bits);
}

// A block finds the dictionary of a group, from the pieces that are no decimals, or from all: upper parts find their
// places by counting those before them, then each warp tries some cuts.
template <typename T>
__device__ void search_dictionary(const T* sample, const uint32_t* poor, Dictionary* out) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  __shared__ uint16_t sorted[kSampleRows];
  uint32_t poor_pieces = 0;
  for (uint32_t piece = 0; piece < kPieces; ++piece) poor_pieces += poor[piece];
  const auto is_taken = [&](uint32_t i) { return poor_pieces == 0 || poor[i / kPieceRows] != 0; };
  const auto upper = [&](uint32_t i) { return static_cast<uint16_t>(bits_of(sample[i]) >> (kBits - kMaxLeftBits)); };
  for (uint32_t i = threadIdx.x; i < kSampleRows; i += blockDim.x) {
    if (!is_taken(i)) continue;
    const uint16_t own = upper(i);
    uint32_t before = 0;
    for (uint32_t j = 0; j < kSampleRows; ++j) {
      const uint16_t other = upper(j);
      before += is_taken(j) && (other < own || (other == own && j < i)) ? 1 : 0;
    }
    sorted[before] = own;
  }
  __syncthreads();
  __shared__ CutDictionary cuts[kMaxLeftBits];
  const uint32_t count = (poor_pieces == 0 ? kPieces : poor_pieces) * kPieceRows;
  for (uint32_t left_bits = 1 + warp_of_block(); left_bits <= kMaxLeftBits; left_bits += warps_of_block()) {
    const CutDictionary cut = cut_by_warp(sorted, count, kBits, left_bits);
    if (lane_id() == 0) cuts[left_bits - 1] = cut;
  }
  __syncthreads();
  if (warp_of_block() != 0) return;
  const uint32_t left_bits = lane_id() + 1;
  const uint32_t key =
      left_bits <= kMaxLeftBits ? static_cast<uint32_t>(cuts[left_bits - 1].bits) << 5 | left_bits : kNoKey;
  if (lowest_of_lanes(key) == key) *out = cuts[left_bits - 1].dictionary;
}

// A block per group: what its tiles will choose from.
template <typename T>
__device__ void search_group(const EncodeWork<T>& work, uint32_t group) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  __shared__ T sample[kSampleRows];
  __shared__ uint32_t wins[pairs_of(64)];
  __shared__ uint32_t poor[kPieces];
  clear_wins(wins);
  take_sample(work, group, sample);
  for (uint32_t piece = warp_of_block(); piece < kPieces; piece += warps_of_block()) {
    const uint32_t bits =
        find_winners(sample + piece * kPieceRows, work.best ? kWinnersPerPieceAtBest : kWinnersPerPiece, wins);
    if (lane_id() == 0) poor[piece] = bits >= poor_bits(kBits) * kPieceRows ? 1 : 0;
  }
  __syncthreads();
  Group& out = work.found[group];
  search_dictionary(sample, poor, &out.dictionary);
  // Another warp than the dictionary's last, if there is one.
  if (warp_of_block() == warps_of_block() - 1) {
    rank_by_warp(wins, pairs_of(kBits), work.best ? kCandidatesAtBest : kCandidates, out);
  }
}

// One pair for all: a block per group keeps its sample and counts winners …
template <typename T>
__device__ void sample_group(const EncodeWork<T>& work, uint32_t group) {
  using Int = IntOf<T>;
  __shared__ T sample[kSampleRows];
  __shared__ uint32_t wins[pairs_of(64)];
  clear_wins(wins);
  take_sample(work, group, sample);
  for (uint32_t piece = warp_of_block(); piece < kPieces; piece += warps_of_block()) {
    find_winners(sample + piece * kPieceRows, kWinnersPerPiece, wins);
    const T own = sample[piece * kPieceRows + lane_id()];
    work.samples[uint64_t{group} * kSampleRows + piece * kPieceRows + lane_id()] = own;
    const auto number = static_cast<Int>(bits_of(own));
    const auto span =
        static_cast<BitsOf<T>>(highest_of_lanes(number)) - static_cast<BitsOf<T>>(lowest_of_lanes(number));
    if (lane_id() == 0) add_to(&work.search->raw, uint64_t{kPieceRows} * width_of_span(span));
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < pairs_of(64); i += blockDim.x) {
    if (wins[i] > 0) atomicAdd(work.search->wins + i, wins[i]);
  }
}

// … one thread ranks them …
template <typename T>
__device__ void rank_array(const EncodeWork<T>& work) {
  ArraySearch& search = *work.search;
  for (uint32_t& wins : search.wins) wins = wins < kMostWins ? wins : kMostWins;
  search.count = rank_candidates(search.wins, pairs_of(Arithmetic<T>::kBits), kCandidatesAtBest, search.candidates);
}

// … a block per group tries them on its sample …
template <typename T>
__device__ void fit_group(const EncodeWork<T>& work, uint32_t group) {
  ArraySearch& search = *work.search;
  for (uint32_t i = threadIdx.x; i < search.count * kPieces; i += blockDim.x) {
    const uint32_t candidate = i / kPieces;
    const T* piece = work.samples + uint64_t{group} * kSampleRows + i % kPieces * kPieceRows;
    ArrayFit fit;
    fit.add(fit_piece(piece, Scale<T>::of(pair_of(search.candidates[candidate]))), Arithmetic<T>::kBits);
    add_to(&search.fits[candidate].bits, fit.bits);
    add_to(&search.fits[candidate].safety, fit.safety);
  }
}

// … and one thread chooses.
template <typename T>
__device__ void choose_pair(const EncodeWork<T>& work) {
  ArraySearch& search = *work.search;
  search.found = choose_array(search.candidates, search.fits, search.count, search.raw);
}

}  // namespace basalt::galp
