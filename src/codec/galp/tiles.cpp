// Sampling, trying and taking schemes.
#include "codec/galp/tiles.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace basalt::galp {

namespace {

template <typename T>
struct Piece {
  T values[kPieceRows];
};

// The span of the integers that are not exceptions; 0 if all are.
template <typename T>
BitsOf<T> span_of_integers(const T* d, const BitsOf<T>* exception, uint32_t rows) {
  using Int = IntOf<T>;
  constexpr Int kLeast = std::numeric_limits<Int>::min();
  constexpr Int kLargest = std::numeric_limits<Int>::max();
  Int low = kLargest;
  Int high = kLeast;
  for (uint32_t i = 0; i < rows; ++i) {
    const auto number = static_cast<Int>(d[i]);
    const auto skip = static_cast<Int>(BitsOf<T>{0} - exception[i]);
    low = std::min(low, static_cast<Int>((number & ~skip) | (kLargest & skip)));
    high = std::max(high, static_cast<Int>((number & ~skip) | (kLeast & skip)));
  }
  return low > high ? 0 : static_cast<BitsOf<T>>(high) - static_cast<BitsOf<T>>(low);
}

// The span of the values that are exceptions, as unsigned numbers; there are some.
template <typename T>
BitsOf<T> span_of_exceptions(const T* values, const BitsOf<T>* exception, uint32_t rows) {
  using Bits = BitsOf<T>;
  Bits low = ~Bits{0};
  Bits high = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    const Bits take = Bits{0} - exception[i];
    low = std::min(low, static_cast<Bits>(bits_of(values[i]) | ~take));
    high = std::max(high, static_cast<Bits>(bits_of(values[i]) & take));
  }
  return high - low;
}

// The span of bit patterns as signed numbers, as RAW stores them.
template <typename T>
BitsOf<T> span_of_bits(const T* values, uint32_t rows) {
  using Int = IntOf<T>;
  Int low = std::numeric_limits<Int>::max();
  Int high = std::numeric_limits<Int>::min();
  for (uint32_t i = 0; i < rows; ++i) {
    const auto number = static_cast<Int>(bits_of(values[i]));
    low = std::min(low, number);
    high = std::max(high, number);
  }
  return static_cast<BitsOf<T>>(high) - static_cast<BitsOf<T>>(low);
}

template <typename T>
bool is_constant(const T* values, uint32_t rows) {
  return std::memcmp(values, values + 1, (rows - 1) * sizeof(T)) == 0;
}

// Pieces lie in tiles that are not constant, if there are any: of sparse data the others say nothing.
template <typename T>
void take_sample(const T* values, uint64_t rows, Piece<T>* pieces) {
  const uint32_t tiles = tile_count(rows);
  uint32_t varied[kGroupTiles];
  uint32_t count = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    if (!is_constant(values + static_cast<uint64_t>(tile) * kTileRows, rows_in_tile(rows, tile)))
      varied[count++] = tile;
  }
  if (count == 0) varied[count++] = 0;
  for (uint32_t piece = 0; piece < kPieces; ++piece) {
    const uint32_t tile = varied[piece_tile(piece, count)];
    const T* from = values + static_cast<uint64_t>(tile) * kTileRows;
    for (uint32_t i = 0; i < kPieceRows; ++i) {
      pieces[piece].values[i] = from[sampled_row(from, piece, i, rows_in_tile(rows, tile))];
    }
  }
}

template <typename T>
PieceFit fit_piece(const Piece<T>& piece, const Scale<T>& scale) {
  T d[kPieceRows];
  BitsOf<T> bad[kPieceRows];
  for (uint32_t i = 0; i < kPieceRows; ++i) {
    const Scaled<T> scaled = encode(piece.values[i], scale);
    d[i] = scaled.d;
    bad[i] = scaled.exception;
  }
  uint32_t exceptions = 0;
  for (uint32_t i = 0; i < kPieceRows; ++i) exceptions += static_cast<uint32_t>(bad[i]);
  if (exceptions + 2 > kPieceRows) return {exceptions, 0};
  return {exceptions, width_of_span(span_of_integers(d, bad, kPieceRows))};
}

// Adds the best pairs of a piece to `wins`; returns the bits of the best.
template <typename T>
uint32_t find_winners(const Piece<T>& piece, uint32_t most, uint8_t* wins) {
  struct Winner {
    uint32_t cost = kNoBytes;
    uint32_t pair = 0;
  };
  Winner winners[kWinnersPerPieceAtBest];
  Winner safest;
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  for (Pair pair = first_pair(kBits); is_pair(pair); pair = next_pair(pair, kBits)) {
    const PieceFit fit = fit_piece(piece, Scale<T>::of(pair));
    const Winner now{fit_bits(fit, kBits), pair_number(pair)};
    if (fit_safety(fit) < safest.cost) safest = {fit_safety(fit), now.pair};
    // Of equals the first stays before the others.
    uint32_t at = most;
    while (at > 0 && now.cost < winners[at - 1].cost) --at;
    if (at == most) continue;
    for (uint32_t i = most - 1; i > at; --i) winners[i] = winners[i - 1];
    winners[at] = now;
  }
  for (uint32_t i = 0; i < most && winners[i].cost != kNoBytes; ++i) ++wins[winners[i].pair];
  if (safest.cost != kNoBytes) ++wins[safest.pair];
  return winners[0].cost;
}

// From the pieces that are no decimals, or from all.
template <typename T>
Dictionary search_dictionary(const Piece<T>* pieces, const bool* poor) {
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  const bool any = std::find(poor, poor + kPieces, true) != poor + kPieces;
  uint16_t upper[kSampleRows];
  uint32_t count = 0;
  for (uint32_t piece = 0; piece < kPieces; ++piece) {
    if (any && !poor[piece]) continue;
    for (const T value : pieces[piece].values) {
      upper[count++] = static_cast<uint16_t>(bits_of(value) >> (kBits - kMaxLeftBits));
    }
  }
  std::sort(upper, upper + count);
  return choose_dictionary(upper, count, kBits);
}

constexpr uint64_t kGroupRows = uint64_t{kGroupTiles} * kTileRows;

}  // namespace

template <typename T>
Group search_group(const T* values, uint64_t rows, Effort effort) {
  Piece<T> pieces[kPieces];
  take_sample(values, rows, pieces);
  uint8_t wins[pairs_of(64)] = {};
  const bool best = effort == Effort::kBest;
  bool poor[kPieces];
  for (uint32_t i = 0; i < kPieces; ++i) {
    const uint32_t bits = find_winners(pieces[i], best ? kWinnersPerPieceAtBest : kWinnersPerPiece, wins);
    poor[i] = bits >= poor_bits(Arithmetic<T>::kBits) * kPieceRows;
  }
  Group group;
  group.count =
      rank_candidates(wins, pairs_of(Arithmetic<T>::kBits), best ? kCandidatesAtBest : kCandidates, group.candidates);
  group.dictionary = search_dictionary(pieces, poor);
  return group;
}

template <typename T>
ArraySchemes search_array(const T* values, uint64_t rows) {
  std::vector<Piece<T>> pieces;
  uint8_t wins[pairs_of(64)] = {};
  for (uint64_t first = 0; first < rows; first += kGroupRows) {
    const size_t at = pieces.size();
    pieces.resize(at + kPieces);
    take_sample(values + first, std::min(kGroupRows, rows - first), pieces.data() + at);
    uint8_t found[pairs_of(64)] = {};
    for (uint32_t i = 0; i < kPieces; ++i) find_winners(pieces[at + i], kWinnersPerPiece, found);
    for (uint32_t i = 0; i < pairs_of(64); ++i) {
      wins[i] = static_cast<uint8_t>(std::min<uint32_t>(kMostWins, uint32_t{wins[i]} + found[i]));
    }
  }
  uint8_t candidates[kCandidatesAtBest];
  const uint32_t count = rank_candidates(wins, pairs_of(Arithmetic<T>::kBits), kCandidatesAtBest, candidates);
  uint64_t raw = 0;
  for (const Piece<T>& piece : pieces) raw += kPieceRows * width_of_span(span_of_bits(piece.values, kPieceRows));
  ArrayFit fits[kCandidatesAtBest];
  for (uint32_t i = 0; i < count; ++i) {
    const auto scale = Scale<T>::of(pair_of(candidates[i]));
    for (const Piece<T>& piece : pieces) fits[i].add(fit_piece(piece, scale), Arithmetic<T>::kBits);
  }
  return choose_array(candidates, fits, count, raw);
}

template <typename T>
void TileEncoder<T>::scale(uint32_t pair, Scaling& out) const {
  const auto factors = Scale<T>::of(pair_of(pair));
  // Nothing aliases and nothing branches: a loop of vectors.
  const T* __restrict values = values_;
  T* __restrict d = out.d;
  Bits* __restrict exception = out.exception;
  const uint32_t rows = rows_;
  Bits exceptions = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    const Scaled<T> scaled = encode(values[i], factors);
    d[i] = scaled.d;
    exception[i] = scaled.exception;
  }
  for (uint32_t i = 0; i < rows; ++i) exceptions += exception[i];
  out.exceptions = static_cast<uint32_t>(exceptions);
}

template <typename T>
uint32_t TileEncoder<T>::bytes_of(const Scaling& scaling, uint32_t most) const {
  uint32_t block = 0;
  if (scaling.exceptions > 0) {
    const Bits span = span_of_exceptions(values_, scaling.exception, rows_);
    block = exception_words(scaling.exceptions, span, kBits);
    if (tile_bytes(0, block) >= most) return kNoBytes;
  }
  return tile_bytes(width_of_span(span_of_integers(scaling.d, scaling.exception, rows_)), block);
}

// Finds the indices of RD and returns the bytes.
template <typename T>
uint32_t TileEncoder<T>::index_parts(const Dictionary& dictionary, uint32_t most) {
  right_bits_ = kBits - dictionary.left_bits;
  std::fill_n(indices_, rows_, kNoIndex);
  for (uint32_t entry = 0; entry < dictionary.size; ++entry) {
    const Bits wanted = dictionary.entries[entry];
    for (uint32_t i = 0; i < rows_; ++i) {
      indices_[i] = bits_of(values_[i]) >> right_bits_ == wanted ? Bits{entry} : indices_[i];
    }
  }
  const Bits right = static_cast<Bits>(low_bits(right_bits_));
  uint32_t exceptions = 0;
  Bits low_left = ~Bits{0};
  Bits high_left = 0;
  Int least = std::numeric_limits<Int>::max();
  Int largest = std::numeric_limits<Int>::min();
  for (uint32_t i = 0; i < rows_; ++i) {
    const Bits bits = bits_of(values_[i]);
    const bool held = indices_[i] != kNoIndex;
    const auto number = static_cast<Int>((held ? indices_[i] : Bits{0}) << right_bits_ | (bits & right));
    least = std::min(least, number);
    largest = std::max(largest, number);
    exceptions += held ? 0 : 1;
    low_left = held ? low_left : std::min(low_left, bits >> right_bits_);
    high_left = held ? high_left : std::max(high_left, bits >> right_bits_);
  }
  const uint32_t block = exception_words(exceptions, high_left - low_left, kMaxLeftBits);
  const uint32_t bytes = tile_bytes(width_of_span(static_cast<Bits>(largest) - static_cast<Bits>(least)), block);
  return bytes < most ? bytes : kNoBytes;
}

template <typename T>
uint32_t TileEncoder<T>::best_on_sample(const Group& group) const {
  Piece<T> piece;
  for (uint32_t i = 0; i < kPieceRows; ++i) piece.values[i] = values_[sampled_row(values_, 0, i, rows_)];
  uint32_t best = 0;
  uint32_t best_bits = kNoBytes;
  for (uint32_t i = 0; i < group.count; ++i) {
    const uint32_t bits = fit_bits(fit_piece(piece, Scale<T>::of(pair_of(group.candidates[i]))), kBits);
    if (bits < best_bits) {
      best = i;
      best_bits = bits;
    }
  }
  return best;
}

template <typename T>
void TileEncoder<T>::choose(const T* values, uint32_t rows, const Group& group, Effort effort) {
  values_ = values;
  rows_ = rows;
  TileChoice choice;
  const bool sampled = effort == Effort::kFast && group.count > 1;
  const uint32_t first = sampled ? best_on_sample(group) : 0;
  const uint32_t end = sampled ? first + 1 : group.count;
  for (uint32_t i = first; i < end && choice.bytes > 0; ++i) {
    scale(group.candidates[i], *trial_);
    if (choice.offer(group.candidates[i], bytes_of(*trial_, choice.bytes))) std::swap(best_, trial_);
  }
  choice.offer(kRaw, tile_bytes(width_of_span(span_of_bits(values_, rows_)), 0));
  if (choice.wants_rd(group.dictionary, kBits)) choice.offer(kRd, index_parts(group.dictionary, choice.bytes));
  scheme_ = choice.scheme;
}

template <typename T>
void TileEncoder<T>::take(const T* values, uint32_t rows, uint32_t scheme) {
  values_ = values;
  rows_ = rows;
  scheme_ = scheme;
  if (scheme != kRaw) scale(scheme, *best_);
}

template <typename T>
void TileEncoder<T>::write_integers(Int* out) const {
  if (scheme_ == kRaw) {
    std::memcpy(out, values_, rows_ * sizeof(Int));
    return;
  }
  if (scheme_ == kRd) {
    const Bits right = static_cast<Bits>(low_bits(right_bits_));
    for (uint32_t i = 0; i < rows_; ++i) {
      const Bits index = indices_[i] == kNoIndex ? Bits{0} : indices_[i];
      out[i] = static_cast<Int>(index << right_bits_ | (bits_of(values_[i]) & right));
    }
    return;
  }
  for (uint32_t i = 0; i < rows_; ++i) out[i] = static_cast<Int>(best_->d[i]);
  if (best_->exceptions == 0) return;
  const Bits* const first = std::find(best_->exception, best_->exception + rows_, Bits{0});
  Int filler = first == best_->exception + rows_ ? Int{0} : out[first - best_->exception];
  for (uint32_t i = 0; i < rows_; ++i) filler = out[i] = best_->exception[i] != 0 ? filler : out[i];
}

template <typename T>
void TileEncoder<T>::append_exceptions(Buffer& words) const {
  if (scheme_ == kRaw || (scheme_ != kRd && best_->exceptions == 0)) return;
  LaneRows lanes;
  Bits values[kTileRows];
  for (uint32_t i = 0; i < rows_; ++i) {
    const bool exception = scheme_ == kRd ? indices_[i] == kNoIndex : best_->exception[i] != 0;
    if (!exception) continue;
    values[i] = scheme_ == kRd ? bits_of(values_[i]) >> right_bits_ : bits_of(values_[i]);
    lanes.rows[i % kLanes] |= 1u << i / kLanes;
    ++lanes.count;
  }
  append_block(lanes, values, scheme_ == kRd ? kMaxLeftBits : kBits, words);
}

template Group search_group<double>(const double*, uint64_t, Effort);
template Group search_group<float>(const float*, uint64_t, Effort);
template ArraySchemes search_array<double>(const double*, uint64_t);
template ArraySchemes search_array<float>(const float*, uint64_t);
template class TileEncoder<double>;
template class TileEncoder<float>;

}  // namespace basalt::galp
