// `l3`: learned integers. A chunk's rows are cut into partitions on a grid of 256 rows; each partition has one small
// model, and a value is base + prediction + residual, modulo 2^bits of the value type. Residuals are unsigned, in as
// few bits as their range needs.
//
// streams: 0 tiles     uint32[tiles]          where each tile's residuals lie and which partition its first row is in
//          1 records   uint16[3·partitions]   start, model, width, shift, place of the parameters
//          2 params    uint32[]               the models' parameters, partition by partition
//          3 residuals uint32[]               tile by tile
// Codec parameters: none. Children: none.
//
// A tile inside one partition that holds more than 768 rows is a packed tile (32-byte units · 4·width); any other is a
// quartered tile, of which only the units that hold rows are stored. Rows beyond the count hold residual 0.
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

constexpr uint32_t kMaxPartitions = kMaxChunkRows / kUnitRows;
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
};
constexpr uint32_t kModels = 8;

// Coefficients of 64 bits. Narrow models have small ones and keep base-relative values inside 32 bits.
BASALT_HD constexpr bool is_wide(Model model) { return model >= Model::kWideLinear; }
constexpr uint32_t kMaxNarrowWidth = 31;
// Degree of the polynomial: 0 for kConstant and kFor.
BASALT_HD constexpr uint32_t degree_of(Model model) {
  const auto m = static_cast<uint32_t>(model);
  return m < 2 ? 0 : m < 5 ? m - 1 : m - 4;
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

// Where a tile's residuals start, in pieces of 32 bytes; the partition of its first row; packed or quartered.
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

}  // namespace basalt::l3
