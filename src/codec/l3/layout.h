// `l3`: learned integers. A chunk's rows are cut into partitions on a grid of 256 rows; each partition has one small
// model, and a value is base + prediction + residual, modulo 2^bits of the value type. Residuals are unsigned, in as
// few bits as their range needs.
//
// streams: 0 tiles     uint32[tiles + 1]      where each tile's residuals lie and which partition its first row is in;
//                                             last, the number of partitions
//          1 records   uint16[3·partitions]   start, model, width, shift, place of the parameters
//          2 params    uint32[]               the models' parameters, partition by partition
//          3 residuals uint32[]               tile by tile
// Codec parameters: none. Children: none.
//
// A tile inside one partition that holds more than 768 rows is a packed tile; any other is a quartered tile, of which
// only the units that hold rows are stored. Rows beyond the count hold residual 0.
//
// Predictions are fixed-point: with i = row − first row of the partition and y = c0 + c1·i + c2·C(i,2) + c3·C(i,3), all
// modulo 2^64, the prediction is y shifted right arithmetically. Since integers are exact, evaluating at any i and
// stepping from row to row agree, on every machine. c0 is a fraction, stored only where it saves a bit (`phased`).
#pragma once

#include "basalt/core/host_device.h"
#include "core/quartered_tile.h"

namespace basalt::l3 {

constexpr uint32_t kTiles = 0;
constexpr uint32_t kRecords = 1;
constexpr uint32_t kParams = 2;
constexpr uint32_t kResiduals = 3;
constexpr uint32_t kStreams = 4;

constexpr uint32_t kMaxPolyRows = 8192;  // C(i, 3) of more rows would need more fraction bits
constexpr uint32_t kRecordWords = 3;     // of 16 bits

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
  uint32_t shift;  // narrow: exponent of c1, the fraction has 32 bits; wide: bits of the fraction
  bool phased;     // c0 is stored
  uint32_t place;  // first word of the parameters
};
BASALT_HD void put_record(const Record& record, uint16_t* to) {
  to[0] = static_cast<uint16_t>(record.first_unit | static_cast<uint32_t>(record.model) << 12);
  to[1] = static_cast<uint16_t>(record.width | record.shift << 7 | static_cast<uint32_t>(record.phased) << 15);
  to[2] = static_cast<uint16_t>(record.place);
}
BASALT_HD Record get_record(const uint16_t* from) {
  return {from[0] & 0xFFFu,     static_cast<Model>(from[0] >> 12),
          from[1] & 0x7Fu,      from[1] >> 7 & 0xFFu,
          (from[1] >> 15) != 0, from[2]};
}

// Where a tile's residuals start, in pieces of 32 bytes; the partition of its first row; packed or quartered. A packed
// tile of runs has no residuals of its own: it states its first run instead.
BASALT_HD uint32_t make_tile(uint32_t place, uint32_t partition, bool quartered) {
  return place | partition << 18 | static_cast<uint32_t>(quartered) << 30;
}
BASALT_HD uint32_t tile_place(uint32_t tile) { return tile & 0x3FFFF; }
BASALT_HD uint32_t tile_partition(uint32_t tile) { return tile >> 18 & 0xFFF; }
BASALT_HD bool tile_quartered(uint32_t tile) { return (tile >> 30 & 1) != 0; }
constexpr uint32_t kPieceWords = 8;

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
  const uint32_t* at = params + record.place;
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

// A partition of runs: values and ends (exclusive, counted from the partition's start) are two arrays of their own,
// each with a constant, a frame of reference or a line as its model. Parameters: the four words below, then the values'
// parameters, then the ends' (as of a 32-bit type). The residuals of all values, then of all ends, are one bit stream,
// least significant bit first, in whole pieces after the residuals of all tiles, in the order of partitions.
struct RunsHeader {
  uint32_t runs;
  uint32_t place;   // first piece
  uint32_t values;  // packed records: model | width << 4 | shift << 11 | phased << 17
  uint32_t ends;
};
constexpr uint32_t kRunsHeaderWords = 4;
// A record's place has 16 bits: 4096 partitions of runs with two phased lines fit.
static_assert((kMaxChunkRows / kUnitRows) * (kRunsHeaderWords + 6 + 3) <= 1u << 16);
constexpr uint32_t kMaxRuns = (1u << 18) - 1;

BASALT_HD uint32_t pack_inner(const Record& r) {
  return static_cast<uint32_t>(r.model) | r.width << 4 | r.shift << 11 | static_cast<uint32_t>(r.phased) << 17;
}
BASALT_HD Record unpack_inner(uint32_t word, uint32_t place) {
  return {0, static_cast<Model>(word & 15), word >> 4 & 0x7F, word >> 11 & 0x3F, (word >> 17 & 1) != 0, place};
}
BASALT_HD RunsHeader get_runs(const Record& record, const uint32_t* params) {
  const uint32_t* at = params + record.place;
  return {at[0], at[1], at[2], at[3]};
}
BASALT_HD uint64_t runs_bits(const RunsHeader& h) {
  return static_cast<uint64_t>(h.runs) * ((h.values >> 4 & 0x7F) + (h.ends >> 4 & 0x7F));
}
BASALT_HD uint64_t runs_pieces(const RunsHeader& h) { return (runs_bits(h) + 255) / 256; }
BASALT_HD uint32_t runs_param_words(const RunsHeader& h, uint32_t value_bytes) {
  const Record values = unpack_inner(h.values, 0);
  const Record ends = unpack_inner(h.ends, 0);
  return kRunsHeaderWords + param_words(values.model, values.phased, value_bytes) +
         param_words(ends.model, ends.phased, 4);
}

// Reads single runs.
struct Runs {
  RunsHeader header;
  Predictor values, ends;
  uint32_t value_width, end_width;
  const uint32_t* words;

  BASALT_HD static Runs of(const Record& record, const uint32_t* params, const uint32_t* residuals,
                           uint32_t value_bytes) {
    Runs runs;
    runs.header = get_runs(record, params);
    const Record v = unpack_inner(runs.header.values, record.place + kRunsHeaderWords);
    const Record e = unpack_inner(runs.header.ends, v.place + param_words(v.model, v.phased, value_bytes));
    runs.values = get_predictor(v, params, value_bytes);
    runs.ends = get_predictor(e, params, 4);
    runs.value_width = v.width;
    runs.end_width = e.width;
    runs.words = residuals + static_cast<uint64_t>(runs.header.place) * kPieceWords;
    return runs;
  }
  BASALT_HD uint64_t value(uint32_t run) const {
    return finish(values, evaluate(values, run),
                  stream_bits(words, static_cast<uint64_t>(run) * value_width, value_width));
  }
  BASALT_HD uint32_t end(uint32_t run) const {
    const uint64_t at = static_cast<uint64_t>(header.runs) * value_width + static_cast<uint64_t>(run) * end_width;
    return static_cast<uint32_t>(finish(ends, evaluate(ends, run), stream_bits(words, at, end_width)));
  }
  // The run that local row i lies in, the last one if the ends lie.
  BASALT_HD uint32_t find(uint32_t i) const {
    uint32_t low = 0;
    uint32_t high = header.runs - 1;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (end(middle) > i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

// One chunk's streams, and everything that reading a single row takes: for CPU readers, tile readers, and kernels of
// others that include this header.
struct Chunk {
  const uint32_t* tiles;
  const uint16_t* records;
  const uint32_t* params;
  const uint32_t* residuals;
  uint32_t partitions;

  BASALT_HD static Chunk of(const uint32_t* tiles, const uint16_t* records, const uint32_t* params,
                            const uint32_t* residuals, uint64_t rows) {
    return {tiles, records, params, residuals, tiles[(rows + kTileRows - 1) / kTileRows]};
  }

  BASALT_HD Record record(uint32_t partition) const {
    return get_record(records + static_cast<uint64_t>(partition) * kRecordWords);
  }
  BASALT_HD const uint32_t* words_of(uint32_t entry) const {
    return residuals + static_cast<uint64_t>(tile_place(entry)) * kPieceWords;
  }
  // The partition of `unit`, if `partition` is that of the unit before it or its own.
  BASALT_HD uint32_t partition_of(uint32_t partition, uint32_t unit) const {
    return partition + 1 < partitions && record(partition + 1).first_unit <= unit ? partition + 1 : partition;
  }

  // Bits of any one row, to be cut to the value type. *bad is set if runs do not cover the row.
  BASALT_HD uint64_t value(uint32_t row, uint32_t value_bytes, bool* bad) const {
    const uint32_t entry = tiles[row / kTileRows];
    const uint32_t unit = row / kUnitRows;
    uint32_t partition = tile_partition(entry);
    Record r = record(partition);
    uint32_t before = 0;  // words of the tile's earlier units
    if (tile_quartered(entry)) {
      for (uint32_t u = unit / kUnitsPerTile * kUnitsPerTile; u < unit; ++u) {
        before += unit_words(r.width);
        partition = partition_of(partition, u + 1);
        r = record(partition);
      }
    }
    const uint32_t local = row - r.first_unit * kUnitRows;
    if (r.model == Model::kRuns) {
      const Runs runs = Runs::of(r, params, residuals, value_bytes);
      const uint32_t run = runs.find(local);
      *bad = *bad || runs.end(run) <= local;
      return runs.value(run);
    }
    const uint32_t* words = words_of(entry) + before;
    const uint64_t residual =
        tile_quartered(entry) ? unit_row(words, r.width, row % kUnitRows) : packed_row(words, r.width, row % kTileRows);
    const Predictor p = get_predictor(r, params, value_bytes);
    return finish(p, evaluate(p, local), residual);
  }
};

}  // namespace basalt::l3
