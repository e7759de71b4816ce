// Every decision that finding tables takes: what they are trained on, which strings become symbols and in what order,
// how many rows share a table. Trainers on the CPU and on the device have these in common, and only loops of their own:
// integers, sums, and total orders, so that both come to the same tables.
#pragma once

#include "codec/fsst/layout.h"

namespace basalt::fsst {

struct TrainOptions {
  uint32_t rounds = 5;
  uint32_t single_boost = 8;         // gains of single bytes count this often: without its symbol a byte takes two
  uint32_t most_long = kMaxSymbols;  // symbols of three and more bytes
  uint32_t most_rows = 256;          // first bytes of the symbols of two
  uint32_t most_per_row = 256;       // symbols of two bytes with the same first one
  Parse parse = Parse::kGreedy;
};

// Limits on which symbols a table may hold are for the last table only: between rounds they would keep candidates from
// growing.
BASALT_HD constexpr TrainOptions between_rounds(TrainOptions options) {
  options.most_long = kMaxSymbols;
  options.most_rows = options.most_per_row = 256;
  return options;
}

// Whether a table has room for any 255 symbols, as long as no two long ones want the same slot.
BASALT_HD constexpr bool takes_any(const TrainOptions& options) {
  return options.most_long >= kMaxSymbols && options.most_rows >= 256 && options.most_per_row >= 256;
}

// What an effort buys.
struct Plan {
  static constexpr uint32_t kMostRanges = 2;

  TrainOptions training;
  uint32_t sample_bytes;
  bool train_greedily_too;            // and take the better of two tables: neither way of training is always better
  uint32_t ranges;                    // entries of range_bytes
  uint64_t range_bytes[kMostRanges];  // plain bytes of smaller ranges of rows to try tables of their own for
};
// Samples are no larger: gains then have at most 24 bits.
constexpr uint32_t kMostSampleBytes = 256 << 10;

// ---- Symbols -------------------------------------------------------------------------------------------------------

// What a text consists of during training: symbols by code, and bytes without a symbol from kByteUnits on.
constexpr uint32_t kByteUnits = 256;
constexpr uint32_t kUnits = 512;
// A longer symbol counts as its first byte too, alone and behind another: shorter steps may serve better. That is added
// once a text has been counted.
BASALT_HD constexpr uint32_t first_byte_unit(const Symbol& symbol) {
  return kByteUnits + static_cast<uint32_t>(symbol.value & 0xFF);
}

// The first eight bytes of a and b together.
BASALT_HD constexpr Symbol joined(const Symbol& a, const Symbol& b) {
  const uint32_t length = a.length + b.length;
  if (a.length >= kMaxSymbolBytes) return a;
  const uint64_t value = a.value | b.value << 8 * a.length;
  return {value, length < kMaxSymbolBytes ? length : kMaxSymbolBytes};
}

// Sample bytes that a unit covers, or a pair of them that would be one symbol.
BASALT_HD constexpr uint32_t unit_gain(const Symbol& symbol, uint32_t times, const TrainOptions& options) {
  return times * symbol.length * (symbol.length == 1 ? options.single_boost : 1);
}
BASALT_HD constexpr uint32_t pair_gain(const Symbol& symbol, uint32_t times) { return times * symbol.length; }

// A string that may become a symbol, as a number: candidates are taken from the smallest on, by gain, then value, then
// length.
using CandidateKey = uint128_t;
constexpr uint32_t kGainAt = 96;  // bits
constexpr uint32_t kLengthAt = 24;
BASALT_HD constexpr CandidateKey gain_key(uint32_t gain) { return static_cast<CandidateKey>(~gain) << kGainAt; }
BASALT_HD constexpr CandidateKey key_of(const Symbol& symbol, uint32_t gain) {
  return gain_key(gain) | static_cast<CandidateKey>(symbol.value) << 32 | symbol.length << kLengthAt;
}
BASALT_HD constexpr Symbol symbol_of(CandidateKey key) {
  return {static_cast<uint64_t>(key >> 32), static_cast<uint32_t>(key) >> kLengthAt};
}

BASALT_HD constexpr uint32_t symbol_hash(const Symbol& symbol) {
  return static_cast<uint32_t>((symbol.value + symbol.length) * 0x9E3779B97F4A7C15ull >> 32);
}

// Which candidates a table has room for.
struct Admission {
  uint32_t taken[kSlots / 32];
  uint16_t in_row[256];
  uint32_t rows;
  uint32_t longs;
  uint32_t symbols;

  BASALT_HD void clear() {
    for (uint32_t& word : taken) word = 0;
    for (uint16_t& row : in_row) row = 0;
    rows = longs = symbols = 0;
  }
  BASALT_HD bool is_full() const { return symbols == kMaxSymbols; }
  BASALT_HD bool is_taken(uint32_t slot) const { return (taken[slot / 32] & 1u << slot % 32) != 0; }
  BASALT_HD bool admits(const Symbol& symbol, const TrainOptions& options) {
    if (symbol.length == 2) {
      uint16_t& row = in_row[symbol.value & 0xFF];
      const uint32_t opens = row == 0 ? 1 : 0;
      if (row >= options.most_per_row || rows + opens > options.most_rows) return false;
      rows += opens;
      ++row;
    } else if (symbol.length > 2) {
      const uint32_t slot = slot_of(symbol.value);
      if (longs >= options.most_long || is_taken(slot)) return false;
      taken[slot / 32] |= 1u << slot % 32;
      ++longs;
    }
    ++symbols;
    return true;
  }
};

// ---- Samples -------------------------------------------------------------------------------------------------------

constexpr uint32_t kSamplePiece = 512;  // also the longest text of a sample

struct Rows {
  uint64_t first;
  uint64_t end;
};

// About `bytes` bytes of some rows, in pieces of up to 512, at places that depend on nothing but the rows' lengths and
// `salt`; all of them if there are no more. No text of the sample crosses the end of a row.
struct SamplePlan {
  const int64_t* offsets;
  Rows rows;
  uint64_t salt;
  uint64_t total;   // bytes of the rows
  uint64_t pieces;  // 0: all rows are taken

  BASALT_HD SamplePlan(const int64_t* of, Rows some, uint32_t bytes, uint64_t salted)
      : offsets(of),
        rows(some),
        salt(salted),
        total(static_cast<uint64_t>(of[some.end] - of[some.first])),
        pieces(total <= bytes ? 0 : bytes / kSamplePiece) {}

  // Parts that can be taken independently.
  BASALT_HD uint64_t parts() const { return pieces == 0 ? rows.end - rows.first : pieces; }
  // Calls take(first byte, length) for the texts of a part.
  template <typename Take>
  BASALT_HD void take_part(uint64_t part, Take&& take) const {
    if (pieces != 0) {
      take_piece(part, take);
      return;
    }
    const uint64_t row = rows.first + part;
    for (int64_t at = offsets[row]; at < offsets[row + 1]; at += kSamplePiece) take_from(at, row, kSamplePiece, take);
  }

 private:
  // The last row from `row` on that begins at `at` or before.
  BASALT_HD uint64_t row_at(uint64_t row, int64_t at) const {
    uint64_t behind = rows.end;
    while (behind - row > 1) {
      const uint64_t middle = row + (behind - row) / 2;
      if (offsets[middle] <= at) {
        row = middle;
      } else {
        behind = middle;
      }
    }
    return row;
  }
  template <typename Take>
  BASALT_HD uint32_t take_from(int64_t at, uint64_t row, uint32_t most, Take&& take) const {
    const auto left = static_cast<uint64_t>(offsets[row + 1] - at);
    const uint32_t length = left < most ? static_cast<uint32_t>(left) : most;
    if (length != 0) take(at, length);
    return length;
  }
  template <typename Take>
  BASALT_HD void take_piece(uint64_t piece, Take&& take) const {
    const uint64_t begin = total / pieces * piece + total % pieces * piece / pieces;
    const uint64_t room = total / pieces - kSamplePiece + 1;
    const uint64_t place = begin + ((piece + 1 + salt * pieces) * 0x9E3779B97F4A7C15ull >> 20) % room;
    int64_t at = offsets[rows.first] + static_cast<int64_t>(place);
    uint64_t row = row_at(rows.first, at);
    // Short rows are taken from their beginning, of a long one what lies at the place.
    if (offsets[row + 1] - offsets[row] <= kSamplePiece) at = offsets[row];
    for (uint32_t left = kSamplePiece; left > 0;) {
      left -= take_from(at, row, left, take);
      if (++row == rows.end) break;
      at = offsets[row];
      if (offsets[row + 1] == at) row = row_at(row, at);  // over empty rows, however many
    }
  }
};

// ---- Ranges of rows with tables of their own -----------------------------------------------------------------------

constexpr uint32_t kTestBytes = 16 << 10;
constexpr uint64_t kTestSalt = 1;
constexpr uint32_t kTestRanges = 2;
constexpr uint32_t kTestRounds = 6;    // tables for the test: nearly as good, in half the time
constexpr uint32_t kFewestRanges = 4;  // fewer are not worth the test
// Tables of their own must save this share of the codes: each takes time to train, and to load.
constexpr uint64_t kRangeHasToSave = 98;  // of 100

// How tables that are only tested are trained.
BASALT_HD Plan test_plan(Plan plan) {
  plan.training.rounds = plan.training.rounds < kTestRounds ? plan.training.rounds : kTestRounds;
  plan.train_greedily_too = false;
  return plan;
}

BASALT_HD constexpr Rows rows_of_table(uint64_t rows, uint32_t shift, uint64_t table) {
  const uint64_t of_table = uint64_t{kTileRows} << shift;
  const uint64_t first = table * of_table;
  return {first, first + of_table < rows ? first + of_table : rows};
}
BASALT_HD constexpr Rows tested_rows(uint64_t rows, uint32_t shift, uint32_t test) {
  const uint64_t ranges = table_count(static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows), shift);
  return rows_of_table(rows, shift, (2 * test + 1) * ranges / (2 * kTestRanges));
}

// The numbers of tiles that tables of an array may serve, as powers of two.
struct TableShifts {
  uint32_t whole;  // one table
  uint32_t count;  // of smaller ones to try
  uint32_t smaller[Plan::kMostRanges];
};
BASALT_HD TableShifts table_shifts(uint64_t rows, uint64_t plain_bytes, const Plan& plan) {
  const auto width = [](uint64_t value) {
    uint32_t bits = 0;
    for (; value != 0; value >>= 1) ++bits;
    return bits;
  };
  const auto tiles = static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows);
  TableShifts out{tiles == 0 ? 0 : width(tiles - 1), 0, {}};
  for (uint32_t i = 0; tiles != 0 && i < plan.ranges; ++i) {
    const uint32_t shift = width(plan.range_bytes[i] / (plain_bytes / tiles + 1));
    if (table_count(tiles, shift) >= kFewestRanges) out.smaller[out.count++] = shift;
  }
  return out;
}

// What tested ranges take under the table of all rows, and under tables of their own.
struct TestedSizes {
  uint64_t whole = 0;
  uint64_t ranges = 0;

  // A range of `plain` bytes, `tested` of which take these code bytes.
  BASALT_HD void add(uint64_t plain, uint64_t tested, uint64_t whole_codes, uint64_t own_codes, uint64_t table_bytes) {
    if (tested == 0) return;
    whole += whole_codes * plain / tested;
    ranges += own_codes * plain / tested + table_bytes + kTableAlignment;
  }
};

// Takes the tested ranges in turn: smaller ones have to save as much again.
struct ShiftChoice {
  static constexpr uint64_t kOne = 1 << 20;
  uint32_t shift;
  uint64_t best_share = kOne * kRangeHasToSave / 100;

  BASALT_HD explicit ShiftChoice(uint32_t whole) : shift(whole) {}
  BASALT_HD void offer(uint32_t other, const TestedSizes& sizes) {
    if (sizes.whole == 0) return;
    const uint64_t share = sizes.ranges * kOne / sizes.whole;
    if (share >= best_share) return;
    shift = other;
    best_share = share * kRangeHasToSave / 100;
  }
};

}  // namespace basalt::fsst
