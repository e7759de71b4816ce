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
        chunk_(l3::Chunk::of(stream_as<uint32_t>(node, l3::kTiles), stream_as<uint16_t>(node, l3::kRecords),
                             stream_as<uint32_t>(node, l3::kParams), stream_as<uint32_t>(node, l3::kResiduals),
                             node.count)) {}

  void decode_tile(uint32_t tile, void* out) override {
    auto* values = static_cast<T*>(out);
    const uint32_t entry = chunk_.tiles[tile];
    uint32_t part = l3::tile_partition(entry);
    if (!l3::tile_quartered(entry)) {
      const l3::Record r = chunk_.record(part);
      if (r.model == l3::Model::kRuns) {
        return fill_runs(r, tile * kUnitsPerTile, kTileRows, l3::tile_place(entry), values);
      }
      return decode<kTileRows>(r, tile * kUnitsPerTile, chunk_.words_of(entry), values);
    }
    const uint32_t* words = chunk_.words_of(entry);
    const uint32_t units = (rows_in_tile(count(), tile) + kUnitRows - 1) / kUnitRows;
    for (uint32_t u = 0; u < units; ++u) {
      const uint32_t unit = tile * kUnitsPerTile + u;
      part = chunk_.partition_of(part, unit);
      const l3::Record r = chunk_.record(part);
      if (r.model == l3::Model::kRuns) {
        fill_runs(r, unit, kUnitRows, kSearch, values + u * kUnitRows);
      } else {
        decode<kUnitRows>(r, unit, words, values + u * kUnitRows);
        words += unit_words(r.width);
      }
    }
  }

  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    bool bad = false;
    for (size_t i = 0; i < rows.size(); ++i) to[i] = static_cast<T>(chunk_.value(rows[i], sizeof(T), &bad));
    mark_corrupt(bad);
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  static constexpr uint32_t kSearch = ~0u;

  // `rows` rows that start at `unit`, of which those beyond the count stay as they are.
  void fill_runs(const l3::Record& record, uint32_t unit, uint32_t rows, uint32_t run, T* out) {
    const l3::Runs runs = l3::Runs::of(record, chunk_.params, chunk_.residuals, sizeof(T));
    const uint32_t first = (unit - record.first_unit) * kUnitRows;
    const uint64_t left = count() - static_cast<uint64_t>(unit) * kUnitRows;
    rows = left < rows ? static_cast<uint32_t>(left) : rows;
    if (run == kSearch) {
      run = runs.find(first);
    } else if (run >= runs.header.runs || (run > 0 && runs.end(run - 1) > first)) {
      mark_corrupt(true);
      run = runs.find(first);
    }
    for (uint32_t done = 0; done < rows; ++run) {
      const bool last = run + 1 >= runs.header.runs;
      uint32_t end = runs.end(run);
      // Ends rise, and the last one covers all rows.
      mark_corrupt(end <= first + done || (last && end < first + rows));
      end = last || end > first + rows ? first + rows : std::max(end, first + done + 1);
      std::fill(out + done, out + (end - first), static_cast<T>(runs.value(run)));
      done = end - first;
    }
  }

  // kRows rows that start at `unit`: a packed tile or one unit of a quartered one.
  template <uint32_t kRows>
  void decode(const l3::Record& record, uint32_t unit, const uint32_t* words, T* out) const {
    const l3::Predictor p = l3::get_predictor(record, chunk_.params, sizeof(T));
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

  l3::Chunk chunk_;
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
