// `l3`: learned integers. A chunk's rows are cut into partitions on a grid of 256 rows; each partition has one small
// model, and a value is base + prediction + residual, modulo 2^bits of the value type. Residuals are unsigned, in as
// few bits as their range needs.
//
// streams: 0 starts    uint32[units / 16]   bit u of the lower half: a partition starts at unit u of these 16; upper
//                                           half: how many partitions start before
//          1 records   uint64[partitions]   first unit, model, width, shift, places of parameters and residuals
//          2 params    uint32[]             the models' parameters, partition by partition
//          3 residuals uint32[]             unit by unit
// Codec parameters: none. Children: none.
//
// A unit's residuals lie at the place of its partition plus the widths of the partition's earlier units: nothing has to
// be added up. Four units of a tile that lie in one partition are a packed tile; others are units of a quartered tile.
// Units without rows are not stored; rows beyond the count hold residual 0.
//
// Predictions are fixed-point: with i = row − first row of the partition and y = c0 + c1·i + c2·C(i,2) + c3·C(i,3), all
// modulo 2^64, the prediction is y shifted right arithmetically. Since integers are exact, evaluating at any i and
// stepping from row to row agree, on every machine. c0 is a fraction, stored only where it saves a bit (`phased`).
#pragma once

#include "basalt/core/host_device.h"
#include "core/quartered_tile.h"

namespace basalt::l3 {

constexpr uint32_t kStarts = 0;
constexpr uint32_t kRecords = 1;
constexpr uint32_t kParams = 2;
constexpr uint32_t kResiduals = 3;
constexpr uint32_t kStreams = 4;

constexpr uint32_t kMaxPolyRows = 8192;  // C(i, 3) of more rows would need more fraction bits
constexpr uint32_t kUnitsPerStart = 16;  // a word of `starts`
constexpr uint32_t kPieceWords = 8;      // residuals of a unit are a whole number of these, one per bit of width

BASALT_HD uint32_t units_of(uint64_t rows) { return static_cast<uint32_t>((rows + kUnitRows - 1) / kUnitRows); }

enum class Model : uint32_t {
  kConstant = 0,    // params: base
  kFor = 1,         // base
  kLinear = 2,      // base, c1 mantissa
  kPoly2 = 3,       // base, c1 mantissa, c2 as mantissa · 32 + exponent
  kPoly3 = 4,       // base, c1 mantissa, c2, c3 likewise
  kWideLinear = 5,  // base, c1 in two words
  kWidePoly2 = 6,   // base, c1, c2 in two words each
  kWidePoly3 = 7,   // base, c1, c2, c3 in two words each
  kRuns = 8,        // runs of equal values, see RunsHeader
};
constexpr uint32_t kModels = 9;

// Coefficients of 64 bits. Narrow models have small ones and keep base-relative values inside 32 bits.
BASALT_HD constexpr bool is_wide(Model model) { return model >= Model::kWideLinear && model <= Model::kWidePoly3; }
constexpr uint32_t kMaxNarrowWidth = 31;
// Degree of the polynomial: 0 for kConstant and kFor.
BASALT_HD constexpr uint32_t degree_of(Model model) {
  const auto m = static_cast<uint32_t>(model);
  return m < 2 || m > 7 ? 0 : m < 5 ? m - 1 : m - 4;
}
// Words of the parameters: base, c1, c2, c3, c0.
BASALT_HD constexpr uint32_t param_words(Model model, bool phased, uint32_t value_bytes) {
  return (value_bytes > 4 ? 2 : 1) + (degree_of(model) + (phased ? 1 : 0)) * (is_wide(model) ? 2 : 1);
}

struct Record {
  uint32_t first_unit;  // of the partition, in units of 256 rows
  Model model;
  uint32_t width;  // of the residuals, 0..64
  uint32_t shift;  // narrow: exponent of c1, the fraction has 32 bits; wide: bits of the fraction; runs: see RunsHeader
  bool phased;     // c0 is stored
  uint32_t params;  // first word of the parameters
  uint32_t place;   // first piece of the residuals
};
BASALT_HD uint64_t pack_record(const Record& r) {
  return r.first_unit | static_cast<uint64_t>(r.model) << 12 | static_cast<uint64_t>(r.width) << 16 |
         static_cast<uint64_t>(r.shift) << 23 | static_cast<uint64_t>(r.phased) << 29 |
         static_cast<uint64_t>(r.params) << 30 | static_cast<uint64_t>(r.place) << 46;
}
BASALT_HD Record unpack_record(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  return {low & 0xFFFu,
          static_cast<Model>(low >> 12 & 15),
          low >> 16 & 0x7F,
          low >> 23 & 0x3F,
          (low >> 29 & 1) != 0,
          static_cast<uint32_t>(bits >> 30) & 0xFFFF,
          static_cast<uint32_t>(bits >> 46)};
}

BASALT_HD uint32_t count_ones(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popc(bits));
#else
  return static_cast<uint32_t>(__builtin_popcount(bits));
#endif
}
// Of the word of `starts` that holds the unit.
BASALT_HD uint32_t partition_in(uint32_t starts, uint32_t unit) {
  return (starts >> 16) + count_ones(starts & ((2u << unit % kUnitsPerStart) - 1) & 0xFFFF) - 1;
}
// Whether no partition starts inside the unit's tile, but perhaps at its first unit.
BASALT_HD bool undivided(uint32_t starts, uint32_t first_unit) {
  return (starts >> first_unit % kUnitsPerStart & 0xE) == 0;
}

// Coefficients of y, ready for evaluation, and what is needed to finish a value.
struct Predictor {
  uint64_t base = 0;
  uint64_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  uint32_t fraction = 32;  // bits
  bool wide = false;       // else prediction + residual is taken modulo 2^32 and sign-extended
};

// A small coefficient: 27 bits of mantissa and 5 of exponent.
BASALT_HD uint64_t expand(uint32_t word) {
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(word) >> 5)) << (word & 31);
}

BASALT_HD Predictor get_predictor(const Record& record, const uint32_t* params, uint32_t value_bytes) {
  const uint32_t* at = params + record.params;
  Predictor p;
  p.base = *at++;
  if (value_bytes > 4) p.base |= static_cast<uint64_t>(*at++) << 32;
  const uint32_t degree = degree_of(record.model);
  p.wide = is_wide(record.model) || record.width > kMaxNarrowWidth;
  if (is_wide(record.model)) {
    p.fraction = record.shift;
    p.c1 = at[0] | static_cast<uint64_t>(at[1]) << 32;
    if (degree > 1) p.c2 = at[2] | static_cast<uint64_t>(at[3]) << 32;
    if (degree > 2) p.c3 = at[4] | static_cast<uint64_t>(at[5]) << 32;
    if (record.phased) p.c0 = at[2 * degree] | static_cast<uint64_t>(at[2 * degree + 1]) << 32;
    return p;
  }
  if (degree > 0) p.c1 = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(at[0]))) << record.shift;
  if (degree > 1) p.c2 = expand(at[1]);
  if (degree > 2) p.c3 = expand(at[2]);
  if (record.phased) p.c0 = at[degree];
  return p;
}

// y at row i of the partition, and its differences for steps of `h` rows: the next value is y + d1, then d1 grows by d2
// and d2 by d3.
BASALT_HD uint64_t choose_2(uint64_t i) { return i * (i - 1) / 2; }
// i < 2^20: the product stays below 2^60; for i < 2 a factor is zero before the difference wraps.
BASALT_HD uint64_t choose_3(uint64_t i) { return i < 3 ? 0 : i * (i - 1) * (i - 2) / 6; }
BASALT_HD uint64_t evaluate(const Predictor& p, uint64_t i) {
  return p.c0 + p.c1 * i + p.c2 * (i == 0 ? 0 : choose_2(i)) + p.c3 * choose_3(i);
}
struct Steps {
  uint64_t y, d1, d2, d3;
};
BASALT_HD Steps steps_from(const Predictor& p, uint64_t i, uint32_t h) {
  Steps s;
  s.y = evaluate(p, i);
  const uint64_t y1 = evaluate(p, i + h);
  const uint64_t y2 = evaluate(p, i + 2 * h);
  s.d1 = y1 - s.y;
  s.d2 = y2 - 2 * y1 + s.y;
  s.d3 = p.c3 * h * h * h;
  return s;
}
BASALT_HD void step(Steps& s) {
  s.y += s.d1;
  s.d1 += s.d2;
  s.d2 += s.d3;
}

// The value's bits, to be cut to the value type.
BASALT_HD uint64_t finish(const Predictor& p, uint64_t y, uint64_t residual) {
  if (p.wide) return p.base + static_cast<uint64_t>(static_cast<int64_t>(y) >> p.fraction) + residual;
  const uint32_t offset = static_cast<uint32_t>(y >> 32) + static_cast<uint32_t>(residual);
  return p.base + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset)));
}

// A partition of runs. Values and ends (exclusive) of runs are two arrays with models over the number of the run: a
// constant, a frame of reference or a line; for ends also narrow curves. Ends count from the partition's first row. Or
// ends have no model but state the row of their tile that is the last of the run (kByTile). Parameters: the two words
// below, then those of the values' model, then those of the ends' (as of a 32-bit type). One bit stream, least
// significant bit first, holds the residuals of all values, then of all ends, then for each tile that the partition
// touches but the first the run of its first row. It begins at word 8·place + shift of the residuals and is filled up
// to a word; all these streams follow the residuals of modelled partitions.
struct RunsHeader {
  uint32_t runs;  // up to 2^18 − 1
  Record values;
  Record ends;
};
constexpr uint32_t kRunsHeaderWords = 2;
constexpr uint32_t kMaxRuns = (1u << 18) - 1;
constexpr auto kByTile = static_cast<Model>(15);
constexpr uint32_t kByTileBits = 10;
// A record's parameters have 16 bits of place: 4096 partitions of runs with phased lines and cubics fit.
static_assert((kMaxChunkRows / kUnitRows) * (kRunsHeaderWords + 6 + 5) <= 1u << 16);

BASALT_HD void put_runs(const RunsHeader& h, uint32_t* to) {
  const auto inner = [](const Record& r) {
    return static_cast<uint32_t>(r.model) | r.shift << 4 | static_cast<uint32_t>(r.phased) << 10;
  };
  to[0] = h.runs | h.values.width << 18 | h.ends.width << 25;
  to[1] = inner(h.values) | inner(h.ends) << 11;
}
BASALT_HD RunsHeader get_runs(const Record& record, const uint32_t* params, uint32_t value_bytes) {
  const uint32_t* at = params + record.params;
  const auto inner = [](uint32_t bits, uint32_t width, uint32_t place) {
    return Record{0, static_cast<Model>(bits & 15), width, bits >> 4 & 0x3F, (bits >> 10 & 1) != 0, place, 0};
  };
  RunsHeader h;
  h.runs = at[0] & kMaxRuns;
  h.values = inner(at[1], at[0] >> 18 & 0x7F, record.params + kRunsHeaderWords);
  h.ends = inner(at[1] >> 11, at[0] >> 25, h.values.params + param_words(h.values.model, h.values.phased, value_bytes));
  return h;
}
BASALT_HD uint32_t runs_param_words(const RunsHeader& h, uint32_t value_bytes) {
  return kRunsHeaderWords + param_words(h.values.model, h.values.phased, value_bytes) +
         (h.ends.model == kByTile ? 0 : param_words(h.ends.model, h.ends.phased, 4));
}
BASALT_HD uint32_t bit_width(uint32_t value) {
#if defined(__CUDA_ARCH__)
  return 32 - static_cast<uint32_t>(__clz(static_cast<int>(value)));
#else
  return value == 0 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(value));
#endif
}
// Tiles that units first…end − 1 lie in.
BASALT_HD uint32_t tiles_touched(uint32_t first_unit, uint32_t end_unit) {
  return (end_unit - 1) / kUnitsPerTile - first_unit / kUnitsPerTile + 1;
}
BASALT_HD uint64_t runs_words(const RunsHeader& h, uint32_t tiles) {
  return (static_cast<uint64_t>(h.runs) * (h.values.width + h.ends.width) +
          static_cast<uint64_t>(tiles - 1) * bit_width(h.runs - 1) + 31) /
         32;
}

// Reads single runs.
struct Runs {
  RunsHeader header;
  Predictor values, ends;
  uint32_t first_unit, tiles, first_width;
  const uint32_t* words;

  BASALT_HD static Runs of(const Record& record, uint32_t end_unit, const uint32_t* params, const uint32_t* residuals,
                           uint32_t value_bytes) {
    Runs runs;
    runs.header = get_runs(record, params, value_bytes);
    runs.values = get_predictor(runs.header.values, params, value_bytes);
    if (runs.header.ends.model != kByTile) runs.ends = get_predictor(runs.header.ends, params, 4);
    runs.first_unit = record.first_unit;
    runs.tiles = tiles_touched(record.first_unit, end_unit);
    runs.first_width = bit_width(runs.header.runs - 1);
    runs.words = residuals + static_cast<uint64_t>(record.place) * kPieceWords + record.shift;
    return runs;
  }
  BASALT_HD uint64_t value(uint32_t run) const {
    return finish(values, evaluate(values, run),
                  stream_bits(words, static_cast<uint64_t>(run) * header.values.width, header.values.width));
  }
  // Where the residual of a run's end lies.
  BASALT_HD uint64_t end_bit(uint32_t run) const {
    return static_cast<uint64_t>(header.runs) * header.values.width + static_cast<uint64_t>(run) * header.ends.width;
  }
  // End of a run that ends in tile `tile` of the partition's.
  BASALT_HD uint32_t end(uint32_t run, uint32_t tile) const {
    const uint64_t residual = stream_bits(words, end_bit(run), header.ends.width);
    if (header.ends.model == kByTile) return tile_row(tile) + static_cast<uint32_t>(residual) + 1;
    return static_cast<uint32_t>(finish(ends, evaluate(ends, run), residual));
  }
  // Where a tile's rows begin, counted from the partition's first row: below zero, modulo 2^32, in the first tile of a
  // partition that starts inside of it.
  BASALT_HD uint32_t tile_row(uint32_t tile) const {
    return (first_unit / kUnitsPerTile + tile) * kTileRows - first_unit * kUnitRows;
  }
  BASALT_HD uint32_t tile_of(uint32_t local) const {
    return (first_unit * kUnitRows + local) / kTileRows - first_unit / kUnitsPerTile;
  }
  // The run of a tile's first row, the last run beyond the last tile. Never beyond the runs, whatever is stored.
  BASALT_HD uint32_t first_run(uint32_t tile) const {
    if (tile == 0) return 0;
    if (tile >= tiles) return header.runs - 1;
    const uint64_t at = static_cast<uint64_t>(header.runs) * (header.values.width + header.ends.width) +
                        static_cast<uint64_t>(tile - 1) * first_width;
    const auto run = static_cast<uint32_t>(stream_bits(words, at, first_width));
    return run < header.runs ? run : header.runs - 1;
  }
};

// Finds the runs of one tile. Its last run ends behind it (or with the partition) and its end is not
// looked at.
struct RunsOfTile {
  Runs runs;
  uint32_t tile;  // of the partition's
  uint32_t run;
  uint32_t last;
  uint32_t end;  // local row behind the current run, as far as this tile is concerned
  bool bad;

  BASALT_HD RunsOfTile(const Runs& of, uint32_t in_tile) : runs(of), tile(in_tile) {
    run = runs.first_run(tile);
    last = runs.first_run(tile + 1);
    bad = last < run || last - run > kTileRows;  // at most one run ends at each row
    if (bad) last = run;
    // The run before must not reach into this tile, which ends by tile cannot show.
    if (run > 0 && runs.header.ends.model != kByTile) bad = bad || runs.end(run - 1, 0) > runs.tile_row(tile);
    read_end();
  }
  // To the run of local row i.
  BASALT_HD void find(uint32_t i) {
    uint32_t low = run;
    uint32_t high = last;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (runs.end(middle, tile) > i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low > run) bad = bad || runs.end(low - 1, tile) > i;
    run = low;
    read_end();
  }

 private:
  // An end that is looked at lies in this tile.
  BASALT_HD void read_end() {
    end = ~0u;
    if (run == last) return;
    end = runs.end(run, tile);
    bad = bad || end - runs.tile_row(tile) - 1 >= kTileRows || static_cast<int32_t>(end) <= 0;
  }
};

// Shared memory of the tile reader, per warp: the tile's rows, in words of at least four bytes; what is to be known of
// its units; of runs the marks where they begin, and the values of the first 32.
constexpr uint32_t kUnitBytes = 48;
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t value_bytes) {
  return kTileRows * (value_bytes < 4 ? 4 : value_bytes) + kUnitsPerTile * kUnitBytes +
         (kLanes * 4 + kLanes * value_bytes + 15) / 16 * 16;
}

// One chunk's streams, and everything that reading a single row takes: for CPU readers, tile readers, and kernels of
// others that include this header.
struct Chunk {
  const uint32_t* starts;
  const uint64_t* records;
  const uint32_t* params;
  const uint32_t* residuals;
  uint32_t units;

  BASALT_HD static Chunk of(const uint32_t* starts, const uint64_t* records, const uint32_t* params,
                            const uint32_t* residuals, uint64_t rows) {
    return {starts, records, params, residuals, units_of(rows)};
  }

  BASALT_HD Record record(uint32_t partition) const { return unpack_record(records[partition]); }
  BASALT_HD uint32_t partition_of(uint32_t unit) const { return partition_in(starts[unit / kUnitsPerStart], unit); }
  BASALT_HD uint32_t partitions() const { return units == 0 ? 0 : partition_of(units - 1) + 1; }
  BASALT_HD uint32_t end_unit(uint32_t partition) const {
    return partition + 1 < partitions() ? record(partition + 1).first_unit : units;
  }
  // Whether the tile of `unit` is a packed tile.
  BASALT_HD bool is_packed(uint32_t unit) const {
    const uint32_t first = unit / kUnitsPerTile * kUnitsPerTile;
    return first + kUnitsPerTile <= units && undivided(starts[unit / kUnitsPerStart], first);
  }
  BASALT_HD const uint32_t* words_of(const Record& r, uint32_t unit) const {
    return residuals + (static_cast<uint64_t>(r.place) + (unit - r.first_unit) * r.width) * kPieceWords;
  }
  BASALT_HD Runs runs(const Record& r, uint32_t partition, uint32_t value_bytes) const {
    return Runs::of(r, end_unit(partition), params, residuals, value_bytes);
  }

  // Bits of any one row, to be cut to the value type. *bad is set if runs do not cover the row.
  BASALT_HD uint64_t value(uint32_t row, uint32_t value_bytes, bool* bad) const {
    const uint32_t unit = row / kUnitRows;
    const uint32_t partition = partition_of(unit);
    const Record r = record(partition);
    const uint32_t local = row - r.first_unit * kUnitRows;
    if (r.model == Model::kRuns) {
      const Runs all = runs(r, partition, value_bytes);
      RunsOfTile tile(all, all.tile_of(local));
      tile.find(local);
      *bad = *bad || tile.bad;
      return all.value(tile.run);
    }
    uint64_t residual;
    if (is_packed(unit)) {
      residual = packed_row(words_of(r, unit / kUnitsPerTile * kUnitsPerTile), r.width, row % kTileRows);
    } else {
      residual = unit_row(words_of(r, unit), r.width, row % kUnitRows);
    }
    const Predictor p = get_predictor(r, params, value_bytes);
    return finish(p, evaluate(p, local), residual);
  }
};

}  // namespace basalt::l3
