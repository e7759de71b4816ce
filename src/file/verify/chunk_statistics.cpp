// One pass over a chunk's values for bounds, and one each for order and distinct values where they are claimed.
#include "file/verify/chunk_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "basalt/core/error.h"
#include "core/dispatch.h"
#include "core/utf8.h"
#include "file/format.h"
#include "file/verify/reasons.h"

namespace basalt::format_v1 {

namespace {

bool has_values(const DataType& type) { return type.kind != TypeKind::kList && type.kind != TypeKind::kStruct; }

template <typename T>
bool is_nan(const T& value) {
  if constexpr (std::is_floating_point_v<T>) return value != value;
  return false;
}

template <typename T>
bool is_follower(T before, T after) {
  if constexpr (std::is_integral_v<T> || sizeof(T) == 16) {
    return after > before && static_cast<uint128_t>(after) - static_cast<uint128_t>(before) == 1;
  }
  return false;
}
bool is_follower(std::string_view /*before*/, std::string_view /*after*/) { return false; }

// The rows of a column as values that compare.
template <typename T>
struct FixedRows {
  using Type = T;
  explicit FixedRows(const Column& column) : values(column.values.as<T>()) {}
  T at(uint64_t row) const { return values[row]; }
  static T of(const Value& bound) {
    T value{};
    if (!bound.null) store_value(bound, &value);
    return value;
  }
  Value value(T v, Physical type) const { return load_value(type, &v); }
  static bool same(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }
  const T* values;
};

struct TextRows {
  using Type = std::string_view;
  explicit TextRows(const Column& given) : column(given) {}
  std::string_view at(uint64_t row) const { return column.string_at(row); }
  static std::string_view of(const Value& bound) { return bound.bytes; }
  Value value(std::string_view text, Physical type) const {
    return text.size() <= kMaxBoundBytes ? Value::of_bytes(std::string(text)) : Value::of_null(type);
  }
  static bool same(std::string_view a, std::string_view b) { return a == b; }
  const Column& column;
};

// What a zone's values really are.
template <typename T>
struct ZoneFacts {
  uint64_t nulls = 0;
  bool nan = false;
  bool any = false;  // besides NULL and NaN
  T min{};
  T max{};
};

template <typename Rows>
class ChunkCheck {
 public:
  using T = typename Rows::Type;

  ChunkCheck(const Column& column, const ColumnChunkInfo& info, const Statistics& whole)
      : column_(column), rows_(column), info_(info), whole_(whole), type_(physical_of(column.type)) {}

  ChunkFacts run(DistinctSketch& sketch) {
    for (size_t zone = 0; zone < info_.zones.size(); ++zone) check_zone(zone);
    if (claims_order(info_.stats) || claims_order(whole_)) note_order();
    check_order(info_.stats, facts_.order);
    if (info_.stats.distinct != 0 || whole_.distinct != 0) {
      DistinctSketch own;
      note_distinct(own);
      check_distinct(info_.stats, own, facts_.order.values);
      sketch.merge(own);
    }
    return facts_;
  }

 private:
  ZoneFacts<T> facts_of(uint64_t begin, uint64_t end) const {
    ZoneFacts<T> facts;
    if constexpr (!std::is_floating_point_v<T> && !std::is_same_v<T, std::string_view>) {
      if (column_.validity.empty() && begin < end) return whole_zone(begin, end);
    }
    for (uint64_t row = begin; row < end; ++row) {
      if (!column_.is_valid(row)) {
        ++facts.nulls;
        continue;
      }
      const T value = rows_.at(row);
      if (is_nan(value)) {
        facts.nan = true;
        continue;
      }
      facts.min = !facts.any || value < facts.min ? value : facts.min;
      facts.max = !facts.any || facts.max < value ? value : facts.max;
      facts.any = true;
    }
    return facts;
  }

  // The same of integers without NULLs, in a loop without branches.
  ZoneFacts<T> whole_zone(uint64_t begin, uint64_t end) const {
    T min = rows_.at(begin);
    T max = min;
    for (uint64_t row = begin; row < end; ++row) {
      const T value = rows_.at(row);
      min = value < min ? value : min;
      max = max < value ? value : max;
    }
    return {0, false, true, min, max};
  }

  void check_zone(size_t number) {
    const Statistics& zone = info_.zones[number];
    const uint64_t begin = number * kZoneRows;
    const ZoneFacts<T> facts = facts_of(begin, begin + zone.rows);
    try {
      if (facts.nulls != zone.null_count) {
        fail(fmt::format("there are {} NULLs but its statistics say {}", facts.nulls, zone.null_count));
      }
      check_bound_form(zone, column_.type);
      check_bounds(zone, facts);
      check_values(facts);
    } catch (const Error& error) {
      throw error.within(fmt::format("zone {}", number));
    }
    facts_.order.nulls += facts.nulls;
    facts_.order.values += zone.rows - facts.nulls;
    facts_.nan = facts_.nan || facts.nan;
    if (!facts.any) return;
    facts_.bounded = true;
    if ((!whole_.min.null && facts.min < Rows::of(whole_.min)) ||
        (!whole_.max.null && Rows::of(whole_.max) < facts.max)) {
      fail(fmt::format("zone {} holds values beyond the bounds in the footer's statistics", number));
    }
    facts_.min_met = facts_.min_met || (!whole_.min.null && facts.min == Rows::of(whole_.min));
    facts_.max_met = facts_.max_met || (!whole_.max.null && facts.max == Rows::of(whole_.max));
  }

  static void check_bounds(const Statistics& zone, const ZoneFacts<T>& facts) {
    require(!facts.nan || zone.has_nan, "it holds a NaN that its statistics do not mention");
    require(facts.nan || !zone.has_nan, "its statistics mention a NaN that it does not hold");
    if (!facts.any) {
      require(zone.min.null && zone.max.null, "its statistics have bounds, but there are no values");
      return;
    }
    const bool below = !zone.min.null && facts.min < Rows::of(zone.min);
    const bool above = !zone.max.null && Rows::of(zone.max) < facts.max;
    require(!below && !above, "it holds values beyond the bounds in its statistics");
    const bool min_met = zone.min.null || !zone.min_exact || facts.min == Rows::of(zone.min);
    const bool max_met = zone.max.null || !zone.max_exact || facts.max == Rows::of(zone.max);
    require(min_met && max_met, "it does not hold the bounds that its statistics call exact");
  }

  // What the type allows but the physical type does not show.
  void check_values(const ZoneFacts<T>& facts) const {
    if constexpr (!std::is_floating_point_v<T> && !std::is_same_v<T, std::string_view>) {
      if (!facts.any) return;
      if (column_.type.kind == TypeKind::kBool) require(facts.max <= 1, "a boolean is neither 0 nor 1");
      if (column_.type.kind != TypeKind::kDecimal) return;
      int128_t limit = 1;
      for (int digit = 0; digit < column_.type.precision; ++digit) limit *= 10;
      const bool inside = static_cast<int128_t>(facts.min) > -limit && static_cast<int128_t>(facts.max) < limit;
      if (!inside) fail("it holds values with more digits than " + to_string(column_.type) + " has");
    }
  }

  void note_order() {
    OrderFacts& order = facts_.order;
    order.first = order.last = Value::of_null(type_);
    order.nan = facts_.nan;
    bool any = false;
    uint64_t last = 0;
    for (uint64_t row = 0; row < column_.length; ++row) {
      if (!column_.is_valid(row)) continue;
      const T value = rows_.at(row);
      if (any) {
        const T before = rows_.at(last);
        order.rises = order.rises || before < value;
        order.falls = order.falls || value < before;
        order.repeats = order.repeats || before == value;
        order.jumps = order.jumps || !is_follower(before, value);
      } else {
        order.first = rows_.value(value, type_);
      }
      any = true;
      last = row;
    }
    if (any) order.last = rows_.value(rows_.at(last), type_);
  }

  void note_distinct(DistinctSketch& sketch) const {
    bool any = false;
    T last{};
    for (uint64_t row = 0; row < column_.length; ++row) {
      if (!column_.is_valid(row)) continue;
      const T value = rows_.at(row);
      if (!any || !Rows::same(value, last)) sketch.add_hash(distinct_hash(value));
      last = value;
      any = true;
    }
  }

  const Column& column_;
  Rows rows_;
  const ColumnChunkInfo& info_;
  const Statistics& whole_;
  Physical type_;
  ChunkFacts facts_;
};

// Lists and structs have NULLs and nothing else.
ChunkFacts check_nested(const Column& column, const ColumnChunkInfo& info) {
  ChunkFacts facts;
  for (size_t number = 0; number < info.zones.size(); ++number) {
    const Statistics& zone = info.zones[number];
    uint64_t nulls = 0;
    for (uint64_t row = 0; row < zone.rows; ++row) nulls += column.is_valid(number * kZoneRows + row) ? 0 : 1;
    if (nulls != zone.null_count) {
      fail(fmt::format("zone {}: there are {} NULLs but its statistics say {}", number, nulls, zone.null_count));
    }
    check_bound_form(zone, column.type);
    facts.order.nulls += nulls;
  }
  require(!info.zones.empty() || column.null_count == 0, "there are NULLs but its statistics say that there are none");
  facts.order.values = column.length - facts.order.nulls;
  const bool nothing = !claims_order(info.stats) && info.stats.distinct == 0;
  require(nothing, "its statistics tell of values, which lists and structs do not have");
  return facts;
}

// The size of the values alone, and with what a column in memory has beside them. Bytes under NULLs may have been
// anything.
void check_plain_bytes(const Column& column, uint64_t claimed) {
  uint64_t least = column.values.size();
  if (!column.offsets.empty()) least += column.length * sizeof(uint32_t);
  bool known = true;
  if (physical_of(column.type) == Physical::kBytes) {
    known = column.null_count == 0;
    for (uint64_t row = 0; row < column.length; ++row) {
      if (column.is_valid(row)) least += column.string_at(row).size();
    }
  }
  constexpr uint64_t kRoom = 64;
  const uint64_t most = least + column.length / 8 + kRoom;
  if (claimed < least || (known && claimed > most)) {
    fail(fmt::format("its plain size is said to be {} bytes, but its values have {}", claimed, least));
  }
}

}  // namespace

void OrderFacts::append(const OrderFacts& next) {
  if (values > 0 && next.values > 0) {
    if (last.null || next.first.null) {
      rises = falls = repeats = jumps = true;
    } else {
      const int order = compare(last, next.first);
      rises = rises || order < 0;
      falls = falls || order > 0;
      repeats = repeats || order == 0;
      jumps = jumps || is_float(last.type) || !is_follower(last.integer, next.first.integer);
    }
  }
  if (values == 0) first = next.first;
  if (next.values > 0) last = next.last;
  values += next.values;
  nulls += next.nulls;
  nan = nan || next.nan;
  rises = rises || next.rises;
  falls = falls || next.falls;
  repeats = repeats || next.repeats;
  jumps = jumps || next.jumps;
}

bool claims_order(const Statistics& stats) {
  return stats.ascending || stats.descending || stats.strict || stats.constant || stats.dense;
}

void check_order(const Statistics& claims, const OrderFacts& facts) {
  if (!claims_order(claims)) return;
  require(!facts.nan, "its statistics claim an order of values with a NaN among them");
  require(!claims.ascending || !facts.falls, "its statistics call it ascending, but its values fall");
  require(!claims.descending || !facts.rises, "its statistics call it descending, but its values rise");
  const bool ordered = !facts.falls || !facts.rises;
  require(!claims.strict || (ordered && facts.nulls == 0 && !facts.repeats),
          "its statistics call its order strict, but values repeat, or there are NULLs, or there is no order");
  require(!claims.constant || (facts.values > 0 && facts.nulls == 0 && !facts.rises && !facts.falls),
          "its statistics call it constant, but there is not one value in all rows");
  require(!claims.dense || (facts.nulls == 0 && !facts.jumps),
          "its statistics call it dense, but not every value is one more than the one before");
}

void check_distinct(const Statistics& claims, const DistinctSketch& sketch, uint64_t values) {
  if (claims.distinct == 0) return;
  // Of the writer's own sketches, only those that are told wrong differ; others may count exactly or estimate as well.
  constexpr uint64_t kShare = 5;
  constexpr uint64_t kFew = 8;
  const uint64_t estimate = values == 0 ? 0 : sketch.estimate();
  const uint64_t room = values == 0 ? 0 : estimate / kShare + kFew;
  const uint64_t difference = std::max(claims.distinct, estimate) - std::min(claims.distinct, estimate);
  if (difference > room) {
    fail(fmt::format("its statistics say {} different values, but there are about {}", claims.distinct, estimate));
  }
}

void check_bound_form(const Statistics& claims, const DataType& type) {
  require(!claims.min.null || !claims.min_exact, "its statistics call a minimum exact that they do not have");
  require(!claims.max.null || !claims.max_exact, "its statistics call a maximum exact that they do not have");
  if (!has_values(type)) {
    require(claims.min.null && claims.max.null && !claims.has_nan,
            "its statistics tell of values, which lists and structs do not have");
    return;
  }
  const Physical physical = physical_of(type);
  if (is_float(physical)) {
    const bool numbers = !std::isnan(claims.min.real) && !std::isnan(claims.max.real);
    const bool signs = (claims.min.null || claims.min.real != 0 || std::signbit(claims.min.real)) &&
                       (claims.max.null || claims.max.real != 0 || !std::signbit(claims.max.real));
    require(numbers && signs, "a bound in its statistics is a NaN or a zero of the wrong sign");
  }
  if (type.kind == TypeKind::kUtf8) {
    require(is_utf8(claims.min.bytes) && is_utf8(claims.max.bytes), "a bound in its statistics is not UTF-8");
  }
}

ChunkFacts check_chunk(const Column& column, const ColumnChunkInfo& info, const Statistics& claims,
                       DistinctSketch& sketch) {
  check_plain_bytes(column, info.plain_bytes);
  if (!has_values(column.type)) return check_nested(column, info);
  const Physical type = physical_of(column.type);
  if (type == Physical::kBytes) return ChunkCheck<TextRows>(column, info, claims).run(sketch);
  return dispatch_typed(
      type, [&](auto tag) { return ChunkCheck<FixedRows<decltype(tag)>>(column, info, claims).run(sketch); });
}

}  // namespace basalt::format_v1
