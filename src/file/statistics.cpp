// Computing statistics: one pass per zone for bounds, one pass per chunk for order, one for the distinct sketch.
#include "file/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "basalt/core/error.h"
#include "core/bitmap.h"
#include "core/dispatch.h"
#include "core/utf8.h"
#include "file/format.h"

namespace basalt::format_v1 {

std::vector<int64_t> zone_bounds(const std::vector<Statistics>& zones) {
  const auto fits = [](const Value& end) {
    return !end.null && is_integer(end.type) && end.type != Physical::kU64 && width_of(end.type) <= sizeof(int64_t);
  };
  const bool known = std::ranges::all_of(zones, [&](const Statistics& zone) {
    return zone.rows > 0 && zone.null_count == 0 && fits(zone.min) && fits(zone.max);
  });
  std::vector<int64_t> out;
  if (!known) return out;
  out.reserve(2 * zones.size());
  for (const Statistics& zone : zones) out.push_back(static_cast<int64_t>(zone.min.integer));
  for (const Statistics& zone : zones) out.push_back(static_cast<int64_t>(zone.max.integer));
  return out;
}

void DistinctSketch::merge(const DistinctSketch& other) {
  for (size_t i = 0; i < registers_.size(); ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

uint64_t DistinctSketch::estimate() const {
  constexpr double kRegisters = 1024;
  std::array<uint32_t, 64> ranks{};
  for (const uint8_t rank : registers_) ++ranks[rank];
  double sum = 0;
  for (int rank = 0; rank < 64; ++rank) sum += std::ldexp(static_cast<double>(ranks[rank]), -rank);
  const uint32_t zeros = ranks[0];
  double value = 0.7213 / (1 + 1.079 / kRegisters) * kRegisters * kRegisters / sum;
  if (value <= 2.5 * kRegisters && zeros != 0) value = kRegisters * std::log(kRegisters / zeros);
  return static_cast<uint64_t>(std::llround(value));
}

void ZoneBounds::append(const ZoneBounds& other) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(flags, other.flags);
  add(null_counts, other.null_counts);
  add(mins, other.mins);
  add(maxs, other.maxs);
  add(min_lengths, other.min_lengths);
  add(max_lengths, other.max_lengths);
}

uint16_t order_flags(const Statistics& stats) {
  return static_cast<uint16_t>((stats.ascending ? kAscending : 0) | (stats.descending ? kDescending : 0) |
                               (stats.strict ? kStrict : 0) | (stats.constant ? kConstant : 0) |
                               (stats.dense ? kDense : 0));
}

uint16_t ChunkStatistics::flags() const { return order_flags(stats); }

uint8_t bound_flags(const Statistics& stats) {
  return static_cast<uint8_t>((stats.min.null ? 0 : kHasMin) | (stats.max.null ? 0 : kHasMax) |
                              (!stats.min.null && stats.min_exact ? kMinExact : 0) |
                              (!stats.max.null && stats.max_exact ? kMaxExact : 0) | (stats.has_nan ? kHasNan : 0));
}

std::vector<uint8_t> bound_bytes(const Value& value) {
  if (value.null) return {};
  if (value.type == Physical::kBytes) return {value.bytes.begin(), value.bytes.end()};
  std::vector<uint8_t> bytes(width_of(value.type));
  store_value(value, bytes.data());
  return bytes;
}

namespace {

// Zeros of floats: the minimum is stored as −0.0 and the maximum as +0.0, so that both bound both zeros in any order.
template <typename T>
T canonical(T value, bool is_min) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value == 0) return is_min ? T{-0.0} : T{0.0};
  }
  return value;
}

template <typename T>
struct Bounds {
  T min{};
  T max{};
  bool any = false;
  bool nan = false;
};

template <typename T>
Bounds<T> bounds_of(const T* values, const uint8_t* validity, uint64_t begin, uint64_t end) {
  Bounds<T> out;
  if constexpr (!std::is_floating_point_v<T>) {
    if (validity == nullptr) {
      T min = values[begin];
      T max = values[begin];
      for (uint64_t i = begin; i < end; ++i) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
      }
      return {min, max, true, false};
    }
  }
  for (uint64_t i = begin; i < end; ++i) {
    if (validity != nullptr && !get_bit(validity, i)) continue;
    const T value = values[i];
    if (value != value) {
      out.nan = true;
      continue;
    }
    out.min = !out.any || value < out.min ? value : out.min;
    out.max = !out.any || value > out.max ? value : out.max;
    out.any = true;
  }
  out.min = canonical(out.min, true);
  out.max = canonical(out.max, false);
  return out;
}

// The next integer, wrapping at the end of the type.
template <typename T>
T follower(T value) {
  if constexpr (sizeof(T) == 16) {
    return static_cast<T>(static_cast<uint128_t>(value) + 1);
  } else {
    return static_cast<T>(static_cast<uint64_t>(value) + 1);
  }
}

// Order over a whole chunk. Slots under NULLs repeat a neighbour, which leaves "never falls" and "never rises" alone;
// strict and dense are only claimed for chunks without NULLs.
template <typename T>
void order_of(const T* values, uint64_t rows, bool has_nulls, Statistics& stats) {
  bool ascending = true;
  bool descending = true;
  bool strict = !has_nulls;
  bool dense = !has_nulls && !std::is_floating_point_v<T>;
  for (uint64_t begin = 0; begin + 1 < rows && (ascending || descending); begin += kTileRows) {
    const uint64_t end = std::min<uint64_t>(begin + kTileRows, rows - 1);
    bool rises = false;
    bool falls = false;
    bool same = false;
    bool jumps = false;
    for (uint64_t i = begin; i < end; ++i) {
      // Written so that a NaN counts as both.
      rises |= !(values[i] >= values[i + 1]);
      falls |= !(values[i] <= values[i + 1]);
      same |= values[i] == values[i + 1];
      if constexpr (!std::is_floating_point_v<T>) jumps |= follower(values[i]) != values[i + 1];
    }
    ascending = ascending && !falls;
    descending = descending && !rises;
    strict = strict && !same;
    dense = dense && !jumps;
  }
  stats.ascending = ascending;
  stats.descending = descending;
  stats.strict = strict && (ascending || descending);
  stats.constant = ascending && descending && !has_nulls && rows > 0;
  stats.dense = dense && ascending;
}

void note_zone(ChunkStatistics& out, const Statistics& zone, uint32_t width, bool strings) {
  out.zones.flags.push_back(bound_flags(zone));
  out.zones.null_counts.push_back(static_cast<uint32_t>(zone.null_count));
  const auto put = [&](const Value& bound, std::vector<uint8_t>& bytes, std::vector<uint8_t>& lengths) {
    std::vector<uint8_t> encoded = bound_bytes(bound);
    if (strings) lengths.push_back(static_cast<uint8_t>(encoded.size()));
    if (!strings) encoded.resize(width);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  };
  put(zone.min, out.zones.mins, out.zones.min_lengths);
  put(zone.max, out.zones.maxs, out.zones.max_lengths);
}

template <typename T>
void fixed_statistics(const Column& column, Physical type, const ChunkDictionary* dictionary, ChunkStatistics& out) {
  const T* values = column.values.as<T>();
  const uint8_t* validity = column.null_count == 0 ? nullptr : column.validity.as<uint8_t>();
  for (uint64_t begin = 0; begin < column.length; begin += kZoneRows) {
    const uint64_t end = std::min<uint64_t>(begin + kZoneRows, column.length);
    const Bounds<T> bounds = bounds_of(values, validity, begin, end);
    Statistics zone;
    zone.rows = end - begin;
    zone.null_count = validity == nullptr ? 0 : zone.rows - count_bits(validity, begin, zone.rows);
    zone.has_nan = bounds.nan;
    zone.min = bounds.any ? load_value(type, &bounds.min) : Value::of_null(type);
    zone.max = bounds.any ? load_value(type, &bounds.max) : Value::of_null(type);
    note_zone(out, zone, sizeof(T), false);
    Statistics& chunk = out.stats;
    chunk.has_nan = chunk.has_nan || zone.has_nan;
    if (bounds.any && (chunk.min.null || compare(zone.min, chunk.min) < 0)) chunk.min = zone.min;
    if (bounds.any && (chunk.max.null || compare(zone.max, chunk.max) > 0)) chunk.max = zone.max;
  }
  if (column.null_count == column.length) return;
  order_of(values, column.length, column.null_count != 0, out.stats);
  if (out.stats.has_nan) {
    out.stats.ascending = out.stats.descending = out.stats.strict = out.stats.constant = false;
  }
  const T* all = dictionary != nullptr ? reinterpret_cast<const T*>(dictionary->values) : values;
  const uint64_t count = dictionary != nullptr ? dictionary->entries : column.length;
  for (uint64_t i = 0; i < count; ++i) {
    if (i == 0 || std::memcmp(&all[i], &all[i - 1], sizeof(T)) != 0) out.sketch.add_hash(distinct_hash(all[i]));
  }
  out.first = load_value(type, &values[0]);
  out.last = load_value(type, &values[column.length - 1]);
}

// Gathers what zones of strings have in common, however their bounds were found.
class StringZones {
 public:
  StringZones(bool utf8, ChunkStatistics& out) : utf8_(utf8), out_(out) {}

  // `any`: whether the zone has a value; else the bounds do not matter.
  void add(uint64_t rows, uint64_t nulls, bool any, std::string_view min, std::string_view max) {
    Statistics& chunk = out_.stats;
    Statistics zone;
    zone.rows = rows;
    zone.null_count = nulls;
    zone.min = zone.max = Value::of_null(Physical::kBytes);
    if (any) {
      zone.min_exact = min.size() <= kMaxBoundBytes;
      zone.min = Value::of_bytes(zone.min_exact ? std::string(min) : cut_down(min, utf8_));
      zone.max_exact = max.size() <= kMaxBoundBytes;
      std::string upper = zone.max_exact ? std::string(max) : round_up(max, utf8_);
      if (zone.max_exact || !upper.empty()) zone.max = Value::of_bytes(std::move(upper));
      min_known_ = min_known_ && !zone.min.null;
      max_known_ = max_known_ && !zone.max.null;
      if (min_known_ && (chunk.min.null || compare(zone.min, chunk.min) < 0)) {
        chunk.min = zone.min;
        chunk.min_exact = zone.min_exact;
      }
      if (max_known_ && (chunk.max.null || compare(zone.max, chunk.max) > 0)) {
        chunk.max = zone.max;
        chunk.max_exact = zone.max_exact;
      }
    }
    note_zone(out_, zone, 0, true);
  }

  // After the last zone. Nothing but the bounds is known of a chunk without values.
  void finish(bool any, bool ascending, bool descending, bool strict, bool has_nulls, std::string_view first,
              std::string_view last) {
    Statistics& chunk = out_.stats;
    if (!max_known_) chunk.max = Value::of_null(Physical::kBytes);
    if (!any) return;
    chunk.ascending = ascending;
    chunk.descending = descending;
    chunk.strict = strict && (ascending || descending);
    chunk.constant = ascending && descending && !has_nulls;
    if (first.size() <= kMaxBoundBytes) out_.first = Value::of_bytes(std::string(first));
    if (last.size() <= kMaxBoundBytes) out_.last = Value::of_bytes(std::string(last));
  }

 private:
  bool utf8_;
  ChunkStatistics& out_;
  bool min_known_ = true;
  bool max_known_ = true;
};

void statistics_of_rows(const Column& column, StringZones& zones, ChunkStatistics& out) {
  const bool has_nulls = column.null_count != 0;
  bool ascending = true;
  bool descending = true;
  bool strict = !has_nulls;
  bool any = false;
  std::string_view first;
  std::string_view last;
  for (uint64_t begin = 0; begin < column.length; begin += kZoneRows) {
    const uint64_t end = std::min<uint64_t>(begin + kZoneRows, column.length);
    uint64_t nulls = 0;
    std::string_view min;
    std::string_view max;
    bool zone_any = false;
    for (uint64_t row = begin; row < end; ++row) {
      if (has_nulls && !column.is_valid(row)) {
        ++nulls;
        continue;
      }
      const std::string_view text = column.string_at(row);
      if (!zone_any) {
        min = max = text;
      } else if (text < min) {
        min = text;
      } else if (text > max) {
        max = text;
      }
      zone_any = true;
      if (!any) {
        first = text;
        out.sketch.add_hash(distinct_hash(text));
      } else if (text != last) {
        out.sketch.add_hash(distinct_hash(text));
        if (ascending || descending) {
          const bool rises = last < text;
          ascending = ascending && rises;
          descending = descending && !rises;
        }
      } else {
        strict = false;
      }
      any = true;
      last = text;
    }
    zones.add(end - begin, nulls, zone_any, min, max);
  }
  zones.finish(any, ascending, descending, strict, has_nulls, first, last);
}

// The same without NULLs: codes are ordered as their entries are.
void statistics_of_codes(const ChunkDictionary& dictionary, StringZones& zones, ChunkStatistics& out) {
  const StringRows& entries = *dictionary.strings;
  for (uint64_t i = 0; i < dictionary.entries; ++i) out.sketch.add_hash(distinct_hash(entries.at(i)));
  const std::unique_ptr<Reader> reader = open_reader(dictionary.codes);
  const uint64_t rows = dictionary.codes.count;
  bool rises = false;
  bool falls = false;
  bool repeats = false;
  uint32_t first = 0;
  uint32_t last = 0;
  // The last code of the tile before lies in front of a tile's codes.
  uint32_t codes[kTileRows + 1];
  for (uint64_t begin = 0; begin < rows; begin += kZoneRows) {
    const uint64_t end = std::min<uint64_t>(begin + kZoneRows, rows);
    uint32_t min = ~0u;
    uint32_t max = 0;
    for (uint64_t row = begin; row < end; row += kTileRows) {
      const auto tile = static_cast<uint32_t>(row / kTileRows);
      const uint32_t count = rows_in_tile(rows, tile);
      codes[0] = last;
      reader->decode_tile(tile, codes + 1);
      if (tile == 0) first = codes[1];
      for (uint32_t i = 1; i <= count; ++i) {
        min = std::min(min, codes[i]);
        max = std::max(max, codes[i]);
      }
      uint32_t up = 0;
      uint32_t down = 0;
      uint32_t same = 0;
      for (uint32_t i = tile == 0 ? 1 : 0; i < count; ++i) {
        up |= codes[i] < codes[i + 1] ? 1 : 0;
        down |= codes[i] > codes[i + 1] ? 1 : 0;
        same |= codes[i] == codes[i + 1] ? 1 : 0;
      }
      rises = rises || up != 0;
      falls = falls || down != 0;
      repeats = repeats || same != 0;
      last = codes[count];
    }
    zones.add(end - begin, 0, true, entries.at(min), entries.at(max));
  }
  if (rows > 0) zones.finish(true, !falls, !rises, !repeats, false, entries.at(first), entries.at(last));
}

void string_statistics(const Column& column, const ChunkDictionary* dictionary, ChunkStatistics& out) {
  const bool utf8 = column.type.kind == TypeKind::kUtf8;
  // Readers refuse such a column: it must not be written. Looked for here, where its bytes pass the cache anyway.
  const StringRows* entries = dictionary == nullptr ? nullptr : dictionary->strings;
  const bool sound =
      !utf8 || (entries != nullptr && are_utf8(entries->bytes.as<char>(), entries->offsets.data(), entries->size()));
  if (const auto row = sound ? std::nullopt : find_invalid_utf8(column)) {
    throw Error(ErrorCode::kInvalidArgument,
                "row " + std::to_string(*row) + " is not valid UTF-8 (a binary column may hold any bytes)");
  }
  StringZones zones(utf8, out);
  // Under a NULL may lie an entry that no row has.
  if (dictionary != nullptr && column.null_count == 0) {
    statistics_of_codes(*dictionary, zones, out);
  } else {
    statistics_of_rows(column, zones, out);
  }
}

void null_statistics(const Column& column, ChunkStatistics& out) {
  for (uint64_t begin = 0; begin < column.length; begin += kZoneRows) {
    const uint64_t rows = std::min<uint64_t>(kZoneRows, column.length - begin);
    out.zones.flags.push_back(0);
    const uint64_t valid = column.null_count == 0 ? rows : count_bits(column.validity.as<uint8_t>(), begin, rows);
    out.zones.null_counts.push_back(static_cast<uint32_t>(rows - valid));
  }
}

// Readers take a decimal's digits for granted: a value with more of them must not be written.
void check_digits(const DataType& type, const Statistics& stats) {
  if (type.kind != TypeKind::kDecimal || stats.min.null || stats.max.null) return;
  int128_t limit = 1;
  for (int digit = 0; digit < type.precision; ++digit) limit *= 10;
  if (stats.min.integer > -limit && stats.max.integer < limit) return;
  throw Error(ErrorCode::kInvalidArgument, "a value has more digits than " + to_string(type) + " allows");
}

}  // namespace

std::string cut_down(std::string_view text, bool utf8) {
  size_t cut = std::min<size_t>(text.size(), kMaxBoundBytes);
  if (utf8 && cut < text.size()) {
    // Back to the beginning of a character; at most three bytes, whatever the text is.
    for (int i = 0; i < 3 && cut > 0 && is_continuation(static_cast<uint8_t>(text[cut])); ++i) --cut;
  }
  return std::string(text.substr(0, cut));
}

namespace {

// The next character of UTF-8 text in place of the last one; false if the bytes are not UTF-8 or there is no next one.
bool next_character(std::string& text) {
  size_t start = text.size() - 1;
  while (start > 0 && is_continuation(static_cast<uint8_t>(text[start])) && text.size() - start < 4) --start;
  const auto lead = static_cast<uint8_t>(text[start]);
  const size_t length = text.size() - start;
  const size_t expected = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
  if (expected != length) return false;
  uint32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t i = start + 1; i < text.size(); ++i) point = point << 6 | (static_cast<uint8_t>(text[i]) & 0x3Fu);
  ++point;
  if (point >= 0xD800 && point <= 0xDFFF) point = 0xE000;
  if (point > 0x10FFFF) return false;
  text.resize(start);
  append_code_point(point, text);
  return true;
}

}  // namespace

std::string round_up(std::string_view text, bool utf8) {
  std::string bound = cut_down(text, utf8);
  while (!bound.empty()) {
    if (utf8) {
      std::string next = bound;
      // The bound has to exceed what it replaces also where the text was not UTF-8 to begin with.
      if (next_character(next) && next.size() <= kMaxBoundBytes && next > bound) return next;
      size_t start = bound.size() - 1;
      while (start > 0 && is_continuation(static_cast<uint8_t>(bound[start]))) --start;
      bound.resize(start);
    } else {
      const auto last = static_cast<uint8_t>(bound.back());
      if (last != 0xFF) {
        bound.back() = static_cast<char>(last + 1);
        return bound;
      }
      bound.pop_back();
    }
  }
  return {};
}

ChunkStatistics compute_statistics(const Column& column, const ChunkDictionary* dictionary) {
  ChunkStatistics out;
  const Physical type = physical_of(column.type);
  out.stats.rows = column.length;
  out.stats.null_count = column.null_count;
  out.stats.min = out.stats.max = out.first = out.last = Value::of_null(type);
  switch (column.type.kind) {
    case TypeKind::kList:
    case TypeKind::kStruct: null_statistics(column, out); return out;
    case TypeKind::kUtf8:
    case TypeKind::kBinary: string_statistics(column, dictionary, out); break;
    default: dispatch_typed(type, [&](auto tag) { fixed_statistics<decltype(tag)>(column, type, dictionary, out); });
  }
  check_digits(column.type, out.stats);
  out.stats.distinct = out.stats.constant ? 1 : out.sketch.estimate();
  return out;
}

ColumnStatistics::ColumnStatistics(Physical type) { total_.min = total_.max = last_ = Value::of_null(type); }

void ColumnStatistics::add(const ChunkStatistics& chunk) {
  const Statistics& stats = chunk.stats;
  total_.rows += stats.rows;
  total_.null_count += stats.null_count;
  total_.has_nan = total_.has_nan || stats.has_nan;
  sketch_.merge(chunk.sketch);
  const bool all_null = stats.null_count == stats.rows;
  const bool only_nan = stats.has_nan && stats.min.null && stats.max.null;
  if (!all_null && !only_nan) {
    min_known_ = min_known_ && !stats.min.null;
    max_known_ = max_known_ && !stats.max.null;
    if (min_known_ && (total_.min.null || compare(stats.min, total_.min) < 0)) {
      total_.min = stats.min;
      total_.min_exact = stats.min_exact;
    }
    if (max_known_ && (total_.max.null || compare(stats.max, total_.max) > 0)) {
      total_.max = stats.max;
      total_.max_exact = stats.max_exact;
    }
  }
  if (all_null) {
    total_.strict = total_.dense = total_.constant = false;
    return;
  }
  if (empty_) {
    total_.ascending = stats.ascending;
    total_.descending = stats.descending;
    total_.strict = stats.strict && total_.null_count == 0;
    total_.constant = stats.constant && total_.null_count == 0;
    total_.dense = stats.dense && total_.null_count == 0;
  } else {
    const bool known = !last_.null && !chunk.first.null;
    const int step = known ? compare(last_, chunk.first) : 0;
    total_.ascending = total_.ascending && stats.ascending && known && step <= 0;
    total_.descending = total_.descending && stats.descending && known && step >= 0;
    total_.strict = total_.strict && stats.strict && known && step != 0 && (total_.ascending || total_.descending);
    total_.constant = total_.constant && stats.constant && known && step == 0;
    total_.dense = total_.dense && stats.dense && known && chunk.first.integer - last_.integer == 1;
  }
  empty_ = false;
  last_ = chunk.last;
}

Statistics ColumnStatistics::result() const {
  Statistics out = total_;
  if (!min_known_) out.min = Value::of_null(out.min.type);
  if (!max_known_) out.max = Value::of_null(out.max.type);
  out.distinct = out.constant ? 1 : empty_ ? 0 : sketch_.estimate();
  return out;
}

}  // namespace basalt::format_v1
