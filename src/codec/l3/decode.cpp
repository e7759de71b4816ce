// Predictions plus residuals, tile by tile and row by row; questions that models answer.
#include <algorithm>
#include <cstring>

#include "codec/checks.h"
#include "codec/expand_runs.h"
#include "codec/l3/l3.h"
#include "codec/l3/layout.h"
#include "codec/l3/side_by_side.h"
#include "codec/l3/solve.h"
#include "codec/range_test.h"
#include "core/dispatch.h"
#include "core/packing.h"

namespace basalt {

namespace {

// Two vectors of 16 bytes, one after the other.
template <typename Vector>
[[gnu::always_inline]] inline void store_pair(void* to, Vector first, Vector second) {
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(static_cast<std::byte*>(to) + sizeof(first), &second, sizeof(second));
}

// Eight values: predictions from the upper halves of y, residuals, base.
template <typename T>
[[gnu::always_inline]] inline void finish_narrow(l3::Two y0, l3::Two y1, l3::Two y2, l3::Two y3,
                                                 const uint32_t* residuals, uint64_t base, T* out) {
  const auto low = l3::upper_halves(y0, y1) + l3::load_vector<l3::Four<uint32_t>>(residuals);
  const auto high = l3::upper_halves(y2, y3) + l3::load_vector<l3::Four<uint32_t>>(residuals + 4);
  if constexpr (sizeof(T) == 4) {
    store_pair(out, low, high);  // y has the base already
  } else if constexpr (sizeof(T) == 8) {
    const auto store = [&](l3::Four<uint32_t> offsets, T* to) {
      const auto signs = l3::Four<uint32_t>(l3::Four<int32_t>(offsets) >> 31);
      store_pair(to, l3::Two(__builtin_shufflevector(offsets, signs, 0, 4, 1, 5)) + base,
                 l3::Two(__builtin_shufflevector(offsets, signs, 2, 6, 3, 7)) + base);
    };
    store(low, out);
    store(high, out + 4);
  } else {
    const auto store = [&](l3::Four<uint32_t> offsets, T* to) {
      const auto values = __builtin_convertvector(offsets, l3::Four<T>) + static_cast<T>(base);
      std::memcpy(to, &values, sizeof(values));
    };
    store(low, out);
    store(high, out + 4);
  }
}

// Four values with predictions of 64 bits.
template <typename T>
[[gnu::always_inline]] inline void finish_wide(l3::Two y0, l3::Two y1, uint32_t fraction, const uint64_t* residuals,
                                               uint64_t base, T* out) {
  using Signed = l3::VectorOf<int64_t, 2>::type;
  const l3::Two low = l3::Two(Signed(y0) >> fraction) + l3::load_vector<l3::Two>(residuals) + base;
  const l3::Two high = l3::Two(Signed(y1) >> fraction) + l3::load_vector<l3::Two>(residuals + 2) + base;
  if constexpr (sizeof(T) == 8) {
    store_pair(out, low, high);
  } else {
    const auto values = __builtin_convertvector(l3::lower_halves(low, high), l3::Four<T>);
    std::memcpy(out, &values, sizeof(values));
  }
}

// out[r] = value of local row first + r, for r < rows, a multiple of 8.
template <typename T, uint32_t kDegree, typename R>
void add_predictions(const l3::Predictor& p, uint64_t first, const R* residuals, uint32_t rows, T* out) {
  constexpr bool kBaseInY = sizeof(R) == 4 && sizeof(T) == 4;
  const uint64_t base = p.base;
  const uint32_t fraction = p.fraction;
  const l3::SideBySide<kDegree> start(p, first, kBaseInY ? base << 32 : 0);
  auto state = start;  // which nobody has the address of, so it stays in registers
  for (const T* const end = out + rows; out < end; out += l3::kSideBySide, residuals += l3::kSideBySide) {
    if constexpr (sizeof(R) == 4) {
      finish_narrow(state.y[0], state.y[1], state.y[2], state.y[3], residuals, base, out);
    } else {
      finish_wide(state.y[0], state.y[1], fraction, residuals, base, out);
      finish_wide(state.y[2], state.y[3], fraction, residuals + 4, base, out + 4);
    }
    state.advance();
  }
}

template <typename T>
class L3Reader final : public Reader {
 public:
  explicit L3Reader(const NodeView& node)
      : Reader(node.type, node.count),
        chunk_(l3::Chunk::of(stream_as<uint32_t>(node, l3::kStarts), stream_as<uint64_t>(node, l3::kRecords),
                             stream_as<uint32_t>(node, l3::kParams), stream_as<uint32_t>(node, l3::kResiduals),
                             node.count)),
        residuals_end_(node.streams[l3::kResiduals].data() + node.streams[l3::kResiduals].size()) {}

  void decode_tile(uint32_t tile, void* out) override {
    const uint32_t unit = tile * kUnitsPerTile;
    if (chunk_.is_packed(unit)) {
      const l3::Record r = chunk_.record(chunk_.partition_of(unit));
      if (is_flat_or_line(r)) return decode_line<kTileRows>(r, unit, static_cast<T*>(out));
    }
    decode_pieces(tile, static_cast<T*>(out));
  }

  uint32_t decode_runs(uint32_t tile, void* values, uint32_t* ends) override {
    auto* to = static_cast<T*>(values);
    const uint32_t first = tile * kUnitsPerTile;
    const uint32_t end = std::min(first + kUnitsPerTile, chunk_.units);
    for (uint32_t partition = chunk_.partition_of(first); partition <= chunk_.partition_of(end - 1); ++partition) {
      if (!is_steps(chunk_.record(partition))) return 0;
    }
    uint32_t runs = 0;
    for (uint32_t unit = first; unit < end;) {
      const Piece piece = rest_of_tile(unit);
      const uint32_t more = read_runs(piece, to + runs, ends + runs);
      for (uint32_t i = runs; i < runs + more; ++i) ends[i] += piece.first;
      runs += more;
      unit += piece.rows / kUnitRows;
    }
    return runs;
  }

  void gather(std::span<const uint32_t> rows, void* out) override {
    auto* to = static_cast<T*>(out);
    bool bad = false;
    for (size_t i = 0; i < rows.size(); ++i) to[i] = static_cast<T>(chunk_.value(rows[i], sizeof(T), &bad));
    mark_corrupt(bad);
  }
  using Reader::decode_tile;
  using Reader::gather;

  Answered filter_range(uint32_t tile, int128_t low, int128_t high, uint8_t* out) override {
    low = std::max(low, least());
    high = std::min(high, most());
    Answered hardest = Answered::kByBounds;
    for_each_piece(tile, [&](const Piece& piece) {
      hardest = std::max(hardest, test_piece(piece, low, high, out + piece.first));
    });
    return hardest;
  }
  std::optional<ValueBounds> bounds(uint32_t tile) const override {
    std::optional<ValueBounds> all;
    bool known = true;
    for_each_piece(tile, [&](const Piece& piece) {
      const l3::Extent e = extent_of(piece);
      known = known && e.known;
      if (!all) all = ValueBounds{e.least_value(), e.most_value()};
      *all = {std::min(all->low, e.least_value()), std::max(all->high, e.most_value())};
    });
    return known ? all : std::nullopt;
  }

 private:
  // Beyond this share of rows that a line leaves open, rebuilding all of them is cheaper.
  static constexpr uint32_t kOpenShare = 8;

  // Rows of a tile that lie in one partition and whose residuals are packed together.
  struct Piece {
    uint32_t partition;
    l3::Record record;
    uint32_t unit;   // the first one
    uint32_t first;  // row within the tile
    uint32_t rows;   // kTileRows or kUnitRows, whatever the chunk holds of them

    uint32_t local() const { return (unit - record.first_unit) * kUnitRows; }
  };

  Piece piece_at(uint32_t unit, uint32_t first, uint32_t rows) const {
    const uint32_t partition = chunk_.partition_of(unit);
    return {partition, chunk_.record(partition), unit, first, rows};
  }
  // As many units of the tile as lie in the first one's partition: runs have no residuals by unit.
  Piece rest_of_tile(uint32_t unit) const {
    const uint32_t partition = chunk_.partition_of(unit);
    const uint32_t first = unit / kUnitsPerTile * kUnitsPerTile;
    const uint32_t end = std::min(first + kUnitsPerTile, chunk_.end_unit(partition));
    return {partition, chunk_.record(partition), unit, (unit - first) * kUnitRows, (end - unit) * kUnitRows};
  }
  template <typename F>
  void for_each_piece(uint32_t tile, F&& f) const {
    const uint32_t first = tile * kUnitsPerTile;
    const uint32_t step = chunk_.is_packed(first) ? kUnitsPerTile : 1;
    for (uint32_t unit = first; unit < std::min(first + kUnitsPerTile, chunk_.units); unit += step) {
      f(piece_at(unit, (unit - first) * kUnitRows, step * kUnitRows));
    }
  }

  static bool is_flat_or_line(const l3::Record& r) {
    return r.model != l3::Model::kRuns && l3::degree_of(r.model) <= 1;
  }

  // Runs of equal values, or one.
  static bool is_steps(const l3::Record& r) {
    return r.model == l3::Model::kRuns || (l3::degree_of(r.model) == 0 && r.width == 0);
  }

  // A packed tile or a unit of a reference or a line: nothing but one loop that unpacks and predicts. All that it needs
  // is passed in registers, since stores to the stack between two tiles disturb the stream of stores to `out`.
  template <uint32_t kRows>
  [[gnu::always_inline]] void decode_line(const l3::Record& r, uint32_t unit, T* out) const {
    const uint32_t* words = chunk_.words_of(r, unit);
    const uint32_t* at = chunk_.params + r.params;
    uint64_t base = *at++;
    if constexpr (sizeof(T) == 8) base |= static_cast<uint64_t>(*at++) << 32;
    const uint64_t first = static_cast<uint64_t>(unit - r.first_unit) * kUnitRows;
    if (l3::degree_of(r.model) == 0) {
      if constexpr (kRows == kTileRows) return unpack_tile(words, r.width, static_cast<T>(base), out);
      if (r.width > l3::kMaxNarrowWidth) return on_wide_line<kRows>(r, unit, words, base, 0, 0, 32, out);
      return on_narrow_line<kRows>(words, r.width, base, 0, 0, out);
    }
    if (l3::is_wide(r.model)) {
      const uint64_t step = at[0] | static_cast<uint64_t>(at[1]) << 32;
      const uint64_t c0 = r.phased ? at[2] | static_cast<uint64_t>(at[3]) << 32 : 0;
      return on_wide_line<kRows>(r, unit, words, base, c0 + step * first, step, r.shift, out);
    }
    const auto step = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(at[0]))) << r.shift;
    on_narrow_line<kRows>(words, r.width, base, (r.phased ? at[1] : 0) + step * first, step, out);
  }
  template <uint32_t kRows>
  [[gnu::always_inline]] void on_narrow_line(const uint32_t* words, uint32_t width, uint64_t base, uint64_t y,
                                             uint64_t step, T* out) const {
    if constexpr (sizeof(T) < 8) {
      on_short_line<kRows>(words, width, y + (base << 32), step, out);
    } else if constexpr (kRows == kTileRows) {
      unpack_on_narrow_line(words, width, base, y, step, out);
    } else {
      unpack_unit_on_narrow_line(words, width, base, y, step, out);
    }
  }
  template <uint32_t kRows>
  [[gnu::always_inline]] void on_wide_line(const l3::Record& r, uint32_t unit, const uint32_t* words, uint64_t base,
                                           uint64_t y, uint64_t step, uint32_t fraction, T* out) const {
    if (fraction > 32) return decode_steps(unit, kRows, out);
    if constexpr (sizeof(T) < 8) {
      // The value is cut to the 32 bits above the fraction.
      const uint32_t up = 32 - fraction;
      on_short_line<kRows>(words, r.width, (y << up) + (base << 32), step << up, out);
    } else {
      int64_t rise;
      int64_t last;
      if (__builtin_mul_overflow(static_cast<int64_t>(step), int64_t{kRows}, &rise) ||
          __builtin_add_overflow(static_cast<int64_t>(y), rise, &last)) {
        return decode_steps(unit, kRows, out);
      }
      if constexpr (kRows == kTileRows) {
        unpack_on_wide_line(words, r.width, base, y, step, fraction, out);
      } else {
        unpack_unit_on_wide_line(words, r.width, base, y, step, fraction, out);
      }
    }
  }
  template <uint32_t kRows>
  [[gnu::always_inline]] static void on_short_line(const uint32_t* words, uint32_t width, uint64_t y, uint64_t step,
                                                   T* out) {
    const auto unpack_to = [&](uint32_t * to) __attribute__((always_inline)) {
      if constexpr (kRows == kTileRows) {
        unpack_on_line(words, width, y, step, to);
      } else {
        unpack_unit_on_line(words, width, y, step, to);
      }
    };
    if constexpr (sizeof(T) == 4) {
      unpack_to(out);
    } else {
      uint32_t values[kRows];
      unpack_to(values);
      for (uint32_t i = 0; i < kRows; ++i) out[i] = static_cast<T>(values[i]);
    }
  }
  // Whether the loops over units may read behind the unit.
  bool has_room(const l3::Record& r, uint32_t unit) const {
    const auto* end = reinterpret_cast<const std::byte*>(chunk_.words_of(r, unit) + unit_words(r.width));
    return r.width == 0 || (r.width <= kMaxUnitLineWidth && residuals_end_ - end >= ptrdiff_t{kReadBehindUnit});
  }

  // What decode_tile leaves: units of their own, curves, runs.
  [[gnu::noinline]] void decode_pieces(uint32_t tile, T* out) {
    const uint32_t first = tile * kUnitsPerTile;
    if (chunk_.is_packed(first)) return decode_piece(first, kTileRows, out);
    for (uint32_t unit = first; unit < std::min(first + kUnitsPerTile, chunk_.units); ++unit, out += kUnitRows) {
      const l3::Record r = chunk_.record(chunk_.partition_of(unit));
      if (r.model == l3::Model::kRuns) {
        const Piece piece = rest_of_tile(unit);
        decode(piece, out);
        unit += piece.rows / kUnitRows - 1;
        out += piece.rows - kUnitRows;
      } else if (is_flat_or_line(r) && has_room(r, unit)) {
        decode_line<kUnitRows>(r, unit, out);
      } else {
        decode_piece(unit, kUnitRows, out);
      }
    }
  }
  [[gnu::noinline]] void decode_piece(uint32_t unit, uint32_t rows, T* out) { decode(piece_at(unit, 0, rows), out); }

  int128_t least() const { return is_signed(type()) ? -(int128_t{1} << (8 * sizeof(T) - 1)) : 0; }
  int128_t most() const { return least() + static_cast<int128_t>(low_bits(8 * sizeof(T))); }

  l3::Extent extent_of(const Piece& piece) const {
    if (piece.record.model != l3::Model::kRuns) {
      return l3::extent_of(l3::get_predictor(piece.record, chunk_.params, sizeof(T)), piece.record.width, sizeof(T),
                           is_signed(type()), piece.local(), piece.local() + piece.rows - 1);
    }
    // Of all runs of the partition.
    const l3::RunsHeader header = l3::get_runs(piece.record, chunk_.params, sizeof(T));
    return l3::extent_of(l3::get_predictor(header.values, chunk_.params, sizeof(T)), header.values.width, sizeof(T),
                         is_signed(type()), 0, header.runs - 1);
  }

  // Of a curve's whole partition, kept for its other pieces: extremes of curves are searched for.
  const l3::Extent& extent_of_partition(const Piece& piece) {
    if (extent_partition_ != piece.partition) {
      extent_partition_ = piece.partition;
      const uint32_t rows = (chunk_.end_unit(piece.partition) - piece.record.first_unit) * kUnitRows;
      extent_ = l3::extent_of(l3::get_predictor(piece.record, chunk_.params, sizeof(T)), piece.record.width, sizeof(T),
                              is_signed(type()), 0, rows - 1);
    }
    return extent_;
  }

  Answered test_piece(const Piece& piece, int128_t low, int128_t high, uint8_t* out) {
    const auto fill = [&](bool holds) {
      std::fill_n(out, piece.rows, holds ? uint8_t{1} : uint8_t{0});
      return Answered::kByBounds;
    };
    if (low > high) return fill(false);
    const l3::Extent e = l3::degree_of(piece.record.model) > 1 ? extent_of_partition(piece) : extent_of(piece);
    if (e.known && (e.least_value() > high || e.most_value() < low)) return fill(false);
    if (e.known && e.least_value() >= low && e.most_value() <= high) return fill(true);
    const auto low_bits_of_type = static_cast<T>(low);
    const auto span = static_cast<T>(static_cast<T>(high) - low_bits_of_type);
    if (piece.record.model == l3::Model::kRuns) {
      T values[kTileRows];
      uint32_t ends[kTileRows];
      const uint32_t runs = read_runs(piece, values, ends);
      uint32_t row = 0;
      for (uint32_t i = 0; i < runs; ++i) {
        std::fill(out + row, out + ends[i], static_cast<T>(values[i] - low_bits_of_type) <= span ? 1 : 0);
        row = ends[i];
      }
      return Answered::kByModel;
    }
    if (e.known && piece.record.model == l3::Model::kFor) return test_offsets(piece, e, low, high, out);
    if (e.known && l3::degree_of(piece.record.model) == 1 && test_line(piece, e, low, high, out)) {
      return Answered::kByModel;
    }
    T values[kTileRows];
    decode(piece, values);
    test_between(values, piece.rows, low_bits_of_type, static_cast<T>(high), out);
    return Answered::kByRows;
  }

  // A frame of reference: residuals against the shifted range.
  Answered test_offsets(const Piece& piece, const l3::Extent& e, int128_t low, int128_t high, uint8_t* out) const {
    const OffsetRange range = offsets_between(low, high, e.base, piece.record.width);
    const auto test = [&](auto tag) {
      using R = decltype(tag);
      R residuals[kTileRows];
      unpack(piece, residuals);
      test_between(residuals, piece.rows, static_cast<R>(range.first), static_cast<R>(range.last), out);
    };
    if (piece.record.width <= 32) {
      test(uint32_t{});
    } else {
      test(uint64_t{});
    }
    return Answered::kByRows;
  }

  // A line passes a literal once: rows well before and well behind it are known; those whose prediction comes within
  // the largest residual of a literal are looked at one by one. False if they are many.
  bool test_line(const Piece& piece, const l3::Extent& e, int128_t low, int128_t high, uint8_t* out) const {
    const l3::Predictor p = l3::get_predictor(piece.record, chunk_.params, sizeof(T));
    const bool falls = static_cast<int64_t>(p.c1) < 0;
    const uint32_t local = piece.local();
    // Rows in the order in which predictions rise.
    const auto row = [&](uint64_t i) { return falls ? piece.rows - 1 - i : i; };
    const auto first_at = [&](int128_t value) {
      return l3::first_where(
          0, piece.rows, [&](uint64_t i) { return e.base + (l3::exact_y(p, local + row(i)) >> p.fraction) >= value; });
    };
    const uint64_t may = first_at(low - e.largest);           // from here on a value may be at least low
    const uint64_t must = first_at(low);                      // … must be
    const uint64_t may_not = first_at(high + 1 - e.largest);  // may be above high
    const uint64_t must_not = first_at(high + 1);             // must be
    const uint64_t sure = may_not > must ? may_not - must : 0;
    if ((must_not - may - sure) * kOpenShare > piece.rows) return false;
    const auto low_t = static_cast<T>(low);
    const auto span = static_cast<T>(static_cast<T>(high) - low_t);
    std::fill_n(out, piece.rows, uint8_t{0});
    for (uint64_t i = may; i < must_not; ++i) {
      const auto r = static_cast<uint32_t>(row(i));
      if (i >= must && i < may_not) {
        out[r] = 1;
        continue;
      }
      const uint64_t residual = piece.rows == kTileRows ? packed_row(words_of(piece), piece.record.width, r)
                                                        : unit_row(words_of(piece), piece.record.width, r);
      const auto value = static_cast<T>(l3::finish(p, l3::evaluate(p, local + r), residual));
      out[r] = static_cast<T>(value - low_t) <= span ? 1 : 0;
    }
    return true;
  }

  // Kept for the partition's other pieces.
  const l3::Runs& runs_of(const Piece& piece) {
    if (runs_partition_ != piece.partition) {
      runs_partition_ = piece.partition;
      runs_ = chunk_.runs(piece.record, piece.partition, sizeof(T));
    }
    return runs_;
  }

  uint32_t rows_of(const Piece& piece) const {
    const uint64_t left = count() - static_cast<uint64_t>(piece.unit) * kUnitRows;
    return left < piece.rows ? static_cast<uint32_t>(left) : piece.rows;
  }

  // f(i, residual i) for residuals that follow each other in a bit stream.
  template <typename F>
  static void for_each_residual(const uint32_t* words, uint64_t at, uint32_t width, uint32_t count, F&& f) {
    if (width == 0 || width > 32) {
      for (uint32_t i = 0; i < count; ++i) f(i, stream_bits(words, at + uint64_t{i} * width, width));
    } else {
      for (uint32_t i = 0; i < count; ++i) f(i, short_stream_bits(words, at + uint64_t{i} * width, width));
    }
  }
  // Values or ends of neighbouring runs.
  template <typename Out>
  static void read_modelled(const l3::Predictor& model, const l3::Record& record, const uint32_t* words, uint64_t at,
                            uint32_t first, uint32_t count, Out* out) {
    const l3::Predictor p = model;
    const bool curve = l3::degree_of(record.model) > 1;
    for_each_residual(words, at, record.width, count, [&](uint32_t i, uint64_t residual) {
      const uint64_t y = curve ? l3::evaluate(p, first + i) : p.c0 + p.c1 * (first + i);
      out[i] = static_cast<Out>(l3::finish(p, y, residual));
    });
  }
  static void read_ends(const l3::Runs& runs, uint32_t first, uint32_t count, uint32_t tile_row, uint32_t* out) {
    const l3::Record& record = runs.header.ends;
    const uint64_t at = runs.end_bit(first);
    if (record.model != l3::kByTile) return read_modelled(runs.ends, record, runs.words, at, first, count, out);
    for_each_residual(runs.words, at, record.width, count,
                      [&](uint32_t i, uint64_t residual) { out[i] = tile_row + static_cast<uint32_t>(residual) + 1; });
  }

  // Of a partition that is_steps(): the runs of the piece's rows, as far as the chunk has them; ends count from its
  // first row. Both have room for that many. Returns how many.
  uint32_t read_runs(const Piece& piece, T* values, uint32_t* ends) {
    const uint32_t rows = rows_of(piece);
    if (piece.record.model != l3::Model::kRuns) {
      values[0] = static_cast<T>(l3::get_predictor(piece.record, chunk_.params, sizeof(T)).base);
      ends[0] = rows;
      return 1;
    }
    const l3::Runs& runs = runs_of(piece);
    const uint32_t first = piece.local();
    const uint32_t tile = runs.tile_of(first);
    const uint32_t tile_row = runs.tile_row(tile);
    l3::RunsOfTile at(runs, tile);
    if (first != 0 && first != tile_row) at.find(first);
    // Each has a row at least, or it lies; the last one's end is not looked at.
    const uint32_t ending = std::min(at.last - at.run, rows - 1);
    uint32_t falls = 0;
    uint32_t inside = 0;
    uint32_t before = 0;
    read_ends(runs, at.run, ending, tile_row, ends);
    for (uint32_t i = 0; i < ending; ++i) {
      ends[i] -= first;
      falls |= ends[i] <= before ? 1 : 0;
      inside += ends[i] < rows ? 1 : 0;
      before = ends[i];
    }
    const bool bad = at.bad || falls != 0 || before > tile_row + kTileRows - first;
    mark_corrupt(bad);
    if (bad) inside = 0;
    read_modelled(runs.values, runs.header.values, runs.words, uint64_t{at.run} * runs.header.values.width, at.run,
                  inside + 1, values);
    ends[inside] = rows;
    return inside + 1;
  }

  void decode(const Piece& piece, T* out) {
    if (piece.record.model == l3::Model::kRuns) {
      T values[kTileRows];
      uint32_t ends[kTileRows];
      const uint32_t runs = read_runs(piece, values, ends);
      return expand_runs(values, ends, runs, rows_of(piece), out);
    }
    if (is_flat_or_line(piece.record)) {
      if (piece.rows == kTileRows) return decode_line<kTileRows>(piece.record, piece.unit, out);
      if (has_room(piece.record, piece.unit)) return decode_line<kUnitRows>(piece.record, piece.unit, out);
    }
    step_through(piece, out);
  }

  // Residuals first, then predictions row by row.
  void step_through(const Piece& piece, T* out) const {
    const l3::Predictor p = l3::get_predictor(piece.record, chunk_.params, sizeof(T));
    const uint32_t degree = l3::degree_of(piece.record.model);
    if (p.wide) {
      add<uint64_t>(p, degree, piece, out);
    } else {
      add<uint32_t>(p, degree, piece, out);
    }
  }
  [[gnu::noinline]] void decode_steps(uint32_t unit, uint32_t rows, T* out) const {
    step_through(piece_at(unit, 0, rows), out);
  }

  const uint32_t* words_of(const Piece& piece) const { return chunk_.words_of(piece.record, piece.unit); }

  template <typename R>
  void unpack(const Piece& piece, R* residuals) const {
    if (piece.rows == kTileRows) {
      unpack_tile(words_of(piece), piece.record.width, R{0}, residuals);
    } else if (!has_room(piece.record, piece.unit)) {
      unpack_unit(words_of(piece), piece.record.width, residuals);
    } else if constexpr (sizeof(R) == 4) {
      unpack_unit_on_line(words_of(piece), piece.record.width, 0, 0, residuals);
    } else {
      unpack_unit_on_wide_line(words_of(piece), piece.record.width, 0, 0, 0, 0, residuals);
    }
  }

  template <typename R>
  void add(const l3::Predictor& p, uint32_t degree, const Piece& piece, T* out) const {
    static constexpr R kZeros[kTileRows] = {};
    R unpacked[kTileRows];
    const R* residuals = kZeros;
    if (piece.record.width > 0) {
      unpack(piece, unpacked);
      residuals = unpacked;
    }
    switch (degree) {
      case 0:
      case 1: return add_predictions<T, 1>(p, piece.local(), residuals, piece.rows, out);
      case 2: return add_predictions<T, 2>(p, piece.local(), residuals, piece.rows, out);
      default: return add_predictions<T, 3>(p, piece.local(), residuals, piece.rows, out);
    }
  }

  l3::Chunk chunk_;
  const std::byte* residuals_end_;
  uint32_t extent_partition_ = ~0u;
  l3::Extent extent_;
  uint32_t runs_partition_ = ~0u;
  l3::Runs runs_;
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
