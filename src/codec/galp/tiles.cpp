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
  const RowTable<T>& loops = row_table<T>();
  T d[kPieceRows];
  BitsOf<T> held[kPieceRows];
  const uint32_t exceptions = loops.scale(piece.values, kPieceRows, scale, d, held);
  if (exceptions + 2 > kPieceRows) return {exceptions, 0};
  FloatRange<T> range;
  loops.widen(d, kPieceRows, range);
  return {exceptions, width_of_span(range.span())};
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
  for (const Piece<T>& piece : pieces)
    raw += kPieceRows * width_of_span(row_table<T>().span_of_bits(piece.values, kPieceRows));
  ArrayFit fits[kCandidatesAtBest];
  for (uint32_t i = 0; i < count; ++i) {
    const auto scale = Scale<T>::of(pair_of(candidates[i]));
    for (const Piece<T>& piece : pieces) fits[i].add(fit_piece(piece, scale), Arithmetic<T>::kBits);
  }
  return choose_array(candidates, fits, count, raw);
}

template <typename T>
void TileEncoder<T>::set(const T* values, uint32_t rows) {
  rows_ = rows;
  padded_rows_ = (rows + kLanes - 1) / kLanes * kLanes;
  values_ = values;
  if (padded_rows_ == rows) return;
  std::copy_n(values, rows, padded_);
  std::fill(padded_ + rows, padded_ + padded_rows_, values[0]);
  values_ = padded_;
}

template <typename T>
uint32_t TileEncoder<T>::scale(uint32_t pair, uint32_t most, Scaling& out) const {
  const auto factors = Scale<T>::of(pair_of(pair));
  out.exceptions = 0;
  FloatRange<T> integers;
  BitsRange<T> others;
  uint32_t bytes = 0;
  for (uint32_t first = 0; first < rows_ && bytes < most; first += kRowsBeforeLook) {
    const uint32_t rows = std::min(kRowsBeforeLook, padded_rows_ - first);
    const uint32_t exceptions = loops_.scale(values_ + first, rows, factors, out.d + first, out.held + first);
    loops_.widen(out.d + first, rows, integers);
    if (exceptions > 0) loops_.widen_exceptions(values_ + first, out.held + first, rows, others);
    out.exceptions += exceptions;
    if (first + rows > rows_ && out.held[0] == 0) out.exceptions -= padded_rows_ - rows_;
    bytes = tile_bytes(width_of_span(integers.span()), exception_words(out.exceptions, others.span(0), kBits));
  }
  return bytes < most ? bytes : kNoBytes;
}

template <typename T>
uint32_t TileEncoder<T>::raw_bytes(uint32_t most) const {
  const uint32_t first = tile_bytes(width_of_span(loops_.span_of_bits(values_, std::min(rows_, kRowsBeforeLook))), 0);
  return first >= most ? kNoBytes : tile_bytes(width_of_span(loops_.span_of_bits(values_, rows_)), 0);
}

template <typename T>
uint32_t TileEncoder<T>::split(const Dictionary& dictionary, Scaling& out) {
  right_bits_ = kBits - dictionary.left_bits;
  out.exceptions = loops_.split(values_, rows_, dictionary, out.d, out.held);
  BitsRange<T> others;
  if (out.exceptions > 0) loops_.widen_exceptions(values_, out.held, rows_, others);
  const uint32_t block = exception_words(out.exceptions, others.span(right_bits_), kMaxLeftBits);
  return tile_bytes(width_of_span(loops_.span_of_bits(out.d, rows_)), block);
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
  set(values, rows);
  TileChoice choice;
  const bool sampled = effort == Effort::kFast && group.count > 1;
  const uint32_t first = sampled ? best_on_sample(group) : 0;
  const uint32_t end = sampled ? first + 1 : group.count;
  const auto offer = [&](uint32_t scheme, uint32_t bytes) {
    if (choice.offer(scheme, bytes)) std::swap(best_, trial_);
  };
  for (uint32_t i = first; i < end && choice.bytes > 0; ++i) {
    offer(group.candidates[i], scale(group.candidates[i], choice.bytes, *trial_));
  }
  choice.offer(kRaw, raw_bytes(choice.bytes));
  if (choice.wants_rd(group.dictionary, kBits)) offer(kRd, split(group.dictionary, *trial_));
  scheme_ = choice.scheme;
  find_exceptions();
}

template <typename T>
void TileEncoder<T>::take(const T* values, uint32_t rows, uint32_t scheme) {
  set(values, rows);
  scheme_ = scheme;
  if (scheme != kRaw) scale(scheme, kNoBytes, *best_);
  find_exceptions();
}

template <typename T>
void TileEncoder<T>::find_exceptions() {
  exceptions_.clear();
  if (scheme_ == kRaw || best_->exceptions == 0) return;
  const Bits* const held = best_->held;
  for (uint32_t first = 0; first < rows_; first += kLanes) {
    const uint32_t end = std::min(first + kLanes, rows_);
    Bits all = ~Bits{0};
    for (uint32_t i = first; i < end; ++i) all &= held[i];
    for (uint32_t i = first; i < end && all == 0; ++i) {
      if (held[i] == 0) exceptions_.push_back(i);
    }
  }
  if (scheme_ == kRd) return;
  T* const d = best_->d;
  const auto first = static_cast<uint32_t>(std::find(held, held + rows_, ~Bits{0}) - held);
  if (exceptions_.front() == 0) d[0] = first == rows_ ? T{0} : d[first];
  for (const uint32_t row : exceptions_) {
    if (row > 0) d[row] = d[row - 1];
  }
}

template <typename T>
void TileEncoder<T>::write_integers(Int* out) const {
  if (scheme_ == kRaw || scheme_ == kRd) {
    std::memcpy(out, scheme_ == kRaw ? values_ : best_->d, rows_ * sizeof(Int));
  } else {
    loops_.to_integers(best_->d, rows_, out);
  }
}

template <typename T>
void TileEncoder<T>::append_exceptions(Buffer& words) const {
  if (exceptions_.empty()) return;
  const bool rd = scheme_ == kRd;
  LaneRows lanes;
  lanes.count = static_cast<uint32_t>(exceptions_.size());
  Bits values[kTileRows];
  for (const uint32_t row : exceptions_) {
    values[row] = bits_of(values_[row]) >> (rd ? right_bits_ : 0);
    lanes.rows[row % kLanes] |= 1u << row / kLanes;
  }
  append_block(lanes, values, rd ? kMaxLeftBits : kBits, words);
}

template Group search_group<double>(const double*, uint64_t, Effort);
template Group search_group<float>(const float*, uint64_t, Effort);
template ArraySchemes search_array<double>(const double*, uint64_t);
template ArraySchemes search_array<float>(const float*, uint64_t);
template class TileEncoder<double>;
template class TileEncoder<float>;

}  // namespace basalt::galp
