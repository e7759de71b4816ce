// The device encoder's searches, a block per group of tiles: candidates and dictionary of the group, and one pair for
// all groups. A warp has a piece of the sample and each of its lanes tries other pairs; what wins is the smallest of
// keys in which the order of trials is the last part, so that it is what the CPU's loops find.
#pragma once

#include "codec/galp/encode_work.h"
#include "core/device/join.h"

namespace basalt::galp {

using device::join_lanes;
using device::lane_id;

template <typename T>
__device__ __forceinline__ T lowest(T value) {
  return join_lanes(value, [](T a, T b) { return a < b ? a : b; });
}
template <typename T>
__device__ __forceinline__ T highest(T value) {
  return join_lanes(value, [](T a, T b) { return a > b ? a : b; });
}

__device__ __forceinline__ uint32_t warp_of_block() { return threadIdx.x / kLanes; }
__device__ __forceinline__ uint32_t warps_of_block() { return blockDim.x / kLanes; }

template <typename T>
__device__ __forceinline__ T load_float(const T* from) {
  return float_of(device::load(reinterpret_cast<const BitsOf<T>*>(from)));
}

__device__ __forceinline__ void add_to(uint64_t* to, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// The least of some integers, and the largest less that.
template <typename T>
struct Frame {
  BitsOf<T> least = 0;
  BitsOf<T> span = 0;
};

// The span of the integers that are not exceptions; 0 if all are. They are compared while they are still floats, which
// have the same order, and converted once.
template <typename T>
struct IntegerSpan {
  T low = float_of(Arithmetic<T>::kInfinity);
  T high = -float_of(Arithmetic<T>::kInfinity);

  __device__ __forceinline__ void add(const Scaled<T>& scaled) {
    const bool skip = scaled.exception != 0;
    low = skip || scaled.d > low ? low : scaled.d;
    high = skip || scaled.d < high ? high : scaled.d;
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
    const Int least = lowest(is_empty() ? kLargest : static_cast<Int>(low));
    const Int largest = highest(is_empty() ? static_cast<Int>(-kLargest - 1) : static_cast<Int>(high));
    if (least > largest) return {};
    return {static_cast<BitsOf<T>>(least), static_cast<BitsOf<T>>(largest) - static_cast<BitsOf<T>>(least)};
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
    const Scaled<T> scaled = encode(piece[i], scale);
    integers.add(scaled);
    exceptions += static_cast<uint32_t>(scaled.exception);
  }
  return {exceptions, fit_width(exceptions, integers.own())};
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
    const uint32_t pair = round * kLanes + lane_id();
    keys[round] = kNoKey;
    if (pair < kPairs) {
      const PieceFit fit = fit_piece(piece, Scale<T>::of(pair_of(pair)));
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
    least = lowest(least);
    if (least == kNoKey) break;
    if (i == 0) bits = least >> 8;
    if (lane_id() == 0) atomicAdd(wins + pair_of_key(least), 1u);
    from = least + 1;
  }
  safest = lowest(safest);
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

// A block finds the dictionary of a group, from the pieces that are no decimals, or from all: upper parts find their
// places by counting those before them, then each lane has a cut.
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
  if (warp_of_block() != 0) return;
  const uint32_t count = (poor_pieces == 0 ? kPieces : poor_pieces) * kPieceRows;
  const uint32_t left_bits = lane_id() + 1;
  CutDictionary cut{};
  uint32_t key = kNoKey;
  if (left_bits <= kMaxLeftBits) {
    cut = cut_dictionary(sorted, count, kBits, left_bits);
    key = static_cast<uint32_t>(cut.bits) << 5 | left_bits;
  }
  if (lowest(key) == key) *out = cut.dictionary;
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
  if (threadIdx.x == blockDim.x - 1) {  // another warp than the dictionary's, if there is one
    out.count = rank_candidates(wins, pairs_of(kBits), work.best ? kCandidatesAtBest : kCandidates, out.candidates);
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
    const auto span = static_cast<BitsOf<T>>(highest(number)) - static_cast<BitsOf<T>>(lowest(number));
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
