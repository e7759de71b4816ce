// Predictions plus residuals, tile by tile and row by row.
#include <algorithm>
#include <cstring>

#include "codec/checks.h"
#include "codec/l3/l3.h"
#include "codec/l3/layout.h"
#include "codec/l3/side_by_side.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

namespace {

// out[r] = value of local row first + r, for r < rows, a multiple of 8.
template <typename T, uint32_t kDegree, typename R>
void add_predictions(const l3::Predictor& p, uint64_t first, const R* residuals, uint32_t rows, T* out) {
  l3::SideBySide<kDegree> state(p, first);
  const auto base = static_cast<T>(p.base);
  const uint32_t fraction = p.fraction;
  for (uint32_t r = 0; r < rows; r += l3::kSideBySide) {
    const l3::Eight<R> residual = l3::load_eight(residuals + r);
    l3::Eight<T> values;
    if constexpr (sizeof(R) == 4) {
      const auto offsets = l3::Eight<int32_t>(__builtin_convertvector(state.y >> 32, l3::Eight<uint32_t>) + residual);
      values = __builtin_convertvector(offsets, l3::Eight<T>) + base;
    } else {
      const auto predictions = l3::Eight<uint64_t>(l3::Eight<int64_t>(state.y) >> fraction);
      values = __builtin_convertvector(predictions + residual, l3::Eight<T>) + base;
    }
    std::memcpy(out + r, &values, sizeof(values));
    state.advance();
  }
}

template <typename T>
class L3Reader final : public Reader {
 public:
  explicit L3Reader(const NodeView& node)
      : Reader(node.type, node.count),
        tiles_(stream_as<uint32_t>(node, l3::kTiles)),
        records_(stream_as<uint16_t>(node, l3::kRecords)),
        params_(stream_as<uint32_t>(node, l3::kParams)),
        residuals_(stream_as<uint32_t>(node, l3::kResiduals)),
        partitions_(static_cast<uint32_t>(node.streams[l3::kRecords].size() / (l3::kRecordWords * sizeof(uint16_t)))) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* values = static_cast<T*>(out);
    const uint32_t entry = tiles_[tile];
    const uint32_t* words = residuals_ + static_cast<size_t>(l3::tile_place(entry)) * l3::kPieceWords;
    uint32_t part = l3::tile_partition(entry);
    if (!l3::tile_quartered(entry)) return decode<kTileRows>(record(part), tile * kUnitsPerTile, words, values);
    const uint32_t units = (rows_in_tile(count(), tile) + kUnitRows - 1) / kUnitRows;
    for (uint32_t u = 0; u < units; ++u) {
      const uint32_t unit = tile * kUnitsPerTile + u;
      if (part + 1 < partitions_ && record(part + 1).first_unit <= unit) ++part;
      const l3::Record r = record(part);
      decode<kUnitRows>(r, unit, words, values + u * kUnitRows);
      words += unit_words(r.width);
    }
  }

  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    for (size_t i = 0; i < rows.size(); ++i) to[i] = row(rows[i]);
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  l3::Record record(uint32_t part) const {
    return l3::get_record(records_ + static_cast<size_t>(part) * l3::kRecordWords);
  }

  // kRows rows that start at `unit`: a packed tile or one unit of a quartered one.
  template <uint32_t kRows>
  void decode(const l3::Record& record, uint32_t unit, const uint32_t* words, T* out) const {
    const l3::Predictor p = l3::get_predictor(record, params_, sizeof(T));
    const uint32_t degree = l3::degree_of(record.model);
    if (degree == 0 && kRows == kTileRows) return unpack_tile(words, record.width, static_cast<T>(p.base), out);
    const uint64_t first = static_cast<uint64_t>(unit - record.first_unit) * kUnitRows;
    if (p.wide) {
      add<kRows, uint64_t>(p, degree, first, words, record.width, out);
    } else {
      add<kRows, uint32_t>(p, degree, first, words, record.width, out);
    }
  }

  template <uint32_t kRows, typename R>
  static void add(const l3::Predictor& p, uint32_t degree, uint64_t first, const uint32_t* words, uint32_t width,
                  T* out) {
    R residuals[kRows];
    if constexpr (kRows == kTileRows) {
      unpack_tile(words, width, R{0}, residuals);
    } else {
      unpack_unit(words, width, residuals);
    }
    switch (degree) {
      case 0:
      case 1: return add_predictions<T, 1>(p, first, residuals, kRows, out);
      case 2: return add_predictions<T, 2>(p, first, residuals, kRows, out);
      default: return add_predictions<T, 3>(p, first, residuals, kRows, out);
    }
  }

  T row(uint32_t row) const {
    const uint32_t entry = tiles_[row / kTileRows];
    const uint32_t* words = residuals_ + static_cast<size_t>(l3::tile_place(entry)) * l3::kPieceWords;
    uint32_t part = l3::tile_partition(entry);
    l3::Record r = record(part);
    uint64_t residual;
    if (l3::tile_quartered(entry)) {
      const uint32_t unit = row / kUnitRows;
      for (uint32_t u = unit / kUnitsPerTile * kUnitsPerTile; u < unit; ++u) {
        words += unit_words(r.width);
        if (part + 1 < partitions_ && record(part + 1).first_unit <= u + 1) r = record(++part);
      }
      residual = unit_row(words, r.width, row % kUnitRows);
    } else {
      residual = packed_row(words, r.width, row % kTileRows);
    }
    const l3::Predictor p = l3::get_predictor(r, params_, sizeof(T));
    return static_cast<T>(
        l3::finish(p, l3::evaluate(p, row - static_cast<uint64_t>(r.first_unit) * kUnitRows), residual));
  }

  const uint32_t* tiles_;
  const uint16_t* records_;
  const uint32_t* params_;
  const uint32_t* residuals_;
  uint32_t partitions_;
};

}  // namespace

std::unique_ptr<Reader> L3Codec::open(const NodeView& node) const {
  return dispatch_width(width_of(node.type), [&](auto tag) -> std::unique_ptr<Reader> {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) {
      return std::make_unique<L3Reader<T>>(node);
    } else {
      throw Error(ErrorCode::kInternal, "l3 holds values of at most 64 bits");
    }
  });
}

}  // namespace basalt
