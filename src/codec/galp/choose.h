// How tiles get their schemes: everything but the loops over rows. Sizes are integers and ties have an order, so
// encoders that share these functions arrive at the same bytes.
#pragma once

#include "codec/galp/scale.h"

namespace basalt::galp {

// A group of tiles is sampled in eight pieces of 32 rows. Pieces lie in different tiles if there are as many that are
// not constant, and in different rows of a tile in any case.
constexpr uint32_t kPieces = 8;
constexpr uint32_t kPieceRows = 32;
constexpr uint32_t kSampleRows = kPieces * kPieceRows;
constexpr uint32_t kCandidates = 5;
constexpr uint32_t kCandidatesAtBest = 16;
constexpr uint32_t kWinnersPerPiece = 1;
constexpr uint32_t kWinnersPerPieceAtBest = 4;

// Pieces whose best pair needs as many bits per row count for dictionaries.
BASALT_HD constexpr uint32_t poor_bits(uint32_t type_bits) { return type_bits == 64 ? 48 : 22; }

constexpr uint32_t kNoBytes = ~0u;

// Not at equal distances, which could fall in with a period of the tiles.
BASALT_HD constexpr uint32_t piece_tile(uint32_t piece, uint32_t tiles) {
  return piece * tiles / kPieces + piece * 11 % 16 * (tiles / kPieces) / 16;
}
// Row i of a piece is taken from here on, up to where row i + 1 may be, in a tile of `rows` rows.
BASALT_HD constexpr uint32_t piece_row(uint32_t piece, uint32_t i, uint32_t rows) {
  const uint32_t row = (i * (kTileRows / kPieceRows) + piece * (kTileRows / kPieceRows / kPieces)) * rows / kTileRows;
  return row < rows ? row : rows;
}
// The first row that differs from the one before it: where most rows are alike, the others are what matters.
template <typename T>
BASALT_HD uint32_t sampled_row(const T* tile, uint32_t piece, uint32_t i, uint32_t rows) {
  const uint32_t begin = piece_row(piece, i, rows);
  const uint32_t end = piece_row(piece, i + 1, rows);
  for (uint32_t row = begin > 0 ? begin : 1; row < end; ++row) {
    if (bits_of(tile[row]) != bits_of(tile[row - 1])) return row;
  }
  return begin;
}

BASALT_HD uint32_t width_of_span(uint64_t span) {
#if defined(__CUDA_ARCH__)
  return 64 - static_cast<uint32_t>(__clzll(static_cast<long long>(span)));
#else
  return span == 0 ? 0 : 64 - static_cast<uint32_t>(__builtin_clzll(span));
#endif
}

// What a pair makes of a piece.
struct PieceFit {
  uint32_t exceptions;
  uint32_t width;
};
// In bits; kNoBytes where it holds fewer than two rows.
BASALT_HD uint32_t fit_bits(PieceFit fit, uint32_t type_bits) {
  if (fit.exceptions + 2 > kPieceRows) return kNoBytes;
  return kPieceRows * fit.width + fit.exceptions * (type_bits + 16);
}
// Fewer exceptions first, then the width. Where few rows of a piece are other than zero, the pair with the fewest bits
// is one that holds none of them, which is wrong for tiles that have more.
BASALT_HD uint32_t fit_safety(PieceFit fit) {
  if (fit.exceptions + 2 > kPieceRows) return kNoBytes;
  return fit.exceptions << 8 | fit.width;
}
// Pairs are tried by falling e, then falling f: the first of equals is the one with more digits.
inline Pair next_pair(Pair pair, uint32_t type_bits) {
  if (pair.f > 0) return {pair.e, pair.f - 1};
  if (pair.e == 0) return {0, ~0u};
  const uint32_t e = pair.e - 1;
  return {e, type_bits == 32 && e > 9 ? 9 : e};
}
inline Pair first_pair(uint32_t type_bits) { return type_bits == 64 ? Pair{18, 18} : Pair{10, 9}; }
inline bool is_pair(Pair pair) { return pair.f != ~0u; }

// Pairs in the order of how often they were best of a piece, by bits or by safety; of equals the one with the larger
// number, which has the larger e, then f. `wins` by number; those taken are set to 0. Returns how many there are.
template <typename Count>
BASALT_HD uint32_t rank_candidates(Count* wins, uint32_t pairs, uint32_t most, uint8_t* candidates) {
  uint32_t count = 0;
  while (count < most) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < pairs; ++i) best = wins[i] >= wins[best] ? i : best;
    if (wins[best] == 0) break;
    wins[best] = 0;
    candidates[count++] = static_cast<uint8_t>(best);
  }
  return count;
}

// Bits in which a block keeps its values: all, unless the span of its values saves a word.
BASALT_HD uint32_t block_width(uint32_t count, uint64_t span, uint32_t bits) {
  const uint32_t width = width_of_span(span);
  return width < bits && block_words(count, width, bits) < block_words(count, bits, bits) ? width : bits;
}

// Words of a block of `count` exceptions with that span.
BASALT_HD uint32_t exception_words(uint32_t count, uint64_t span, uint32_t bits) {
  return count == 0 ? 0 : block_words(count, block_width(count, span, bits), bits);
}

// Bytes of a tile: packed integers and exceptions.
BASALT_HD uint32_t tile_bytes(uint32_t width, uint32_t block) {
  return width * kLanes * static_cast<uint32_t>(sizeof(uint32_t)) + block * static_cast<uint32_t>(sizeof(uint32_t));
}

// What an exception of RD costs about: 16 bits and its row.
constexpr uint32_t kRdExceptionBits = 24;

// A dictionary of upper parts of `left_bits` bits, from the upper 16 bits of a sample, ascending. Entries by falling
// frequency, then rising value.
struct CutDictionary {
  Dictionary dictionary;
  uint64_t bits;  // what the sample takes
};
// One that holds `held` of `count` values.
BASALT_HD CutDictionary weigh_dictionary(const Dictionary& dictionary, uint32_t held, uint32_t count,
                                         uint32_t type_bits) {
  const uint32_t width = type_bits - dictionary.left_bits + width_of_span(dictionary.size - 1u);
  return {dictionary, static_cast<uint64_t>(width) * count + static_cast<uint64_t>(count - held) * kRdExceptionBits};
}
inline CutDictionary cut_dictionary(const uint16_t* sorted, uint32_t count, uint32_t type_bits, uint32_t left_bits) {
  Dictionary now{};
  uint32_t frequencies[kMaxEntries] = {};
  now.left_bits = static_cast<uint16_t>(left_bits);
  uint32_t held = 0;
  for (uint32_t i = 0; i < count;) {
    const auto value = static_cast<uint16_t>(sorted[i] >> (kMaxLeftBits - left_bits));
    uint32_t end = i + 1;
    while (end < count && sorted[end] >> (kMaxLeftBits - left_bits) == value) ++end;
    uint32_t at = now.size;
    while (at > 0 && frequencies[at - 1] < end - i) --at;
    if (at < kMaxEntries) {
      if (now.size == kMaxEntries) {
        held -= frequencies[kMaxEntries - 1];
      } else {
        ++now.size;
      }
      for (uint32_t j = now.size - 1u; j > at; --j) {
        frequencies[j] = frequencies[j - 1];
        now.entries[j] = now.entries[j - 1];
      }
      frequencies[at] = end - i;
      now.entries[at] = value;
      held += end - i;
    }
    i = end;
  }
  return weigh_dictionary(now, held, count, type_bits);
}
// The dictionary for a group: the cut with the fewest bits, the smallest of equals.
inline Dictionary choose_dictionary(const uint16_t* sorted, uint32_t count, uint32_t type_bits) {
  CutDictionary best = cut_dictionary(sorted, count, type_bits, 1);
  for (uint32_t left_bits = 2; left_bits <= kMaxLeftBits; ++left_bits) {
    const CutDictionary now = cut_dictionary(sorted, count, type_bits, left_bits);
    if (now.bits < best.bits) best = now;
  }
  return best.dictionary;
}

// What the tiles of a group choose from.
struct Group {
  uint32_t count = 0;
  uint8_t candidates[kCandidatesAtBest];  // numbers of pairs
  Dictionary dictionary{};
};

// A tile's scheme: pairs are offered in the order of the candidates, then RAW, then RD. Of equals the first stays: RAW
// is faster to read than RD.
struct TileChoice {
  uint32_t scheme = kRaw;
  uint32_t bytes = kNoBytes;

  BASALT_HD bool offer(uint32_t other, uint32_t other_bytes) {
    if (other_bytes >= bytes) return false;
    scheme = other;
    bytes = other_bytes;
    return true;
  }
  // Where lower parts alone take as much, there is no use in looking.
  BASALT_HD bool wants_rd(const Dictionary& dictionary, uint32_t type_bits) const {
    return bytes > tile_bytes(type_bits - dictionary.left_bits, 0);
  }
};

// Schemes for a whole array, RAW or one pair: that with the fewest bits on all groups' samples, and that with the
// fewest exceptions, which is better where the child takes outliers lightly. Often the same.
struct ArraySchemes {
  uint32_t fewest_bits = kRaw;
  uint32_t fewest_exceptions = kRaw;

  // Whether the second is worth encoding for a comparison.
  bool differ() const { return fewest_bits != fewest_exceptions; }
};
// Sums over the pieces of an array.
struct ArrayFit {
  uint64_t bits = 0;
  uint64_t safety = 0;

  BASALT_HD void add(PieceFit fit, uint32_t type_bits) {
    const uint32_t now = fit_bits(fit, type_bits);
    bits += now == kNoBytes ? kPieceRows * (type_bits + 16) : now;
    safety += (uint64_t{fit.exceptions} << 32) + fit.width;
  }
};
// `raw`: bits of the pieces as they are; `fits` of the candidates, in their order.
BASALT_HD ArraySchemes choose_array(const uint8_t* candidates, const ArrayFit* fits, uint32_t count, uint64_t raw) {
  ArraySchemes best;
  uint64_t fewest_bits = raw;
  uint64_t safest = ~uint64_t{0};
  for (uint32_t i = 0; i < count; ++i) {
    if (fits[i].bits >= raw) continue;
    if (fits[i].bits < fewest_bits) {
      best.fewest_bits = candidates[i];
      fewest_bits = fits[i].bits;
    }
    if (fits[i].safety < safest) {
      best.fewest_exceptions = candidates[i];
      safest = fits[i].safety;
    }
  }
  return best;
}
constexpr uint32_t kMostWins = 255;  // of a pair, in an array

}  // namespace basalt::galp
