// Integers against statistics; see zone_filter.h. Every answer is the one that truth_of() would give.
#include "exec/zone_filter.h"

#include <algorithm>
#include <limits>

#include "exec/evaluate.h"
#include "exec/set_places.h"

namespace basalt::exec {

namespace {

// Of a conjunction: one part that no row passes is enough, and all must be passed by every row.
Decision both(Decision a, Decision b) {
  if (a == Decision::kNone || b == Decision::kNone) return Decision::kNone;
  return a == Decision::kAll ? b : Decision::kUnknown;
}

bool has_values(const Statistics* stats) { return stats == nullptr || stats->null_count < stats->rows; }
bool has_nulls(const Statistics* stats) { return stats == nullptr || stats->null_count > 0; }

bool same_end(const Value& a, const Value& b) { return a.null == b.null && a.type == b.type && a.bytes == b.bytes; }

// Whether everything is equal that decides a test of strings.
bool same_texts(const Statistics& a, const Statistics& b) {
  return a.rows == b.rows && a.null_count == b.null_count && same_end(a.min, b.min) && same_end(a.max, b.max);
}

// Whether all columns that the expression reads are strings.
bool reads_texts_only(const Expr& expr) {
  if (expr.op == ExprOp::kColumn) return expr.type == Physical::kBytes;
  return std::all_of(expr.args.begin(), expr.args.end(), reads_texts_only);
}

bool is_integers(const Expr& expr) { return expr.op == ExprOp::kColumn && is_integer(expr.type); }

}  // namespace

ZoneFilter::ZoneFilter(const Expr* predicate) {
  if (predicate == nullptr) return;
  for (const Expr* conjunct : conjuncts_of(*predicate)) {
    const bool numbers = add_to_ranges(*conjunct) || add_pair(*conjunct) || add_member(*conjunct);
    if (!numbers) add_other(*conjunct);
  }
}

bool ZoneFilter::add_to_ranges(const Expr& conjunct) {
  if (conjunct.args.size() != 2) return false;
  const bool swapped = conjunct.args[0].op == ExprOp::kLiteral;
  const Expr& column = conjunct.args[swapped ? 1 : 0];
  const Expr& literal = conjunct.args[swapped ? 0 : 1];
  if (!is_integers(column) || literal.op != ExprOp::kLiteral) return false;
  if (literal.literal.null || literal.literal.type != column.type) return false;
  const IntegerRange of_type = range_of(column.type);
  IntegerRange passing = of_type;
  const int128_t value = literal.literal.integer;
  if (value < of_type.low || value > of_type.high) return false;
  switch (swapped ? mirrored(conjunct.op) : conjunct.op) {
    case ExprOp::kEqual: passing = {value, value}; break;
    case ExprOp::kLessEqual: passing.high = value; break;
    case ExprOp::kGreaterEqual: passing.low = value; break;
    case ExprOp::kLess:
      if (value == of_type.low) return false;
      passing.high = value - 1;
      break;
    case ExprOp::kGreater:
      if (value == of_type.high) return false;
      passing.low = value + 1;
      break;
    default: return false;
  }
  const auto known = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.values.column == column.column && range.values.type == column.type && !range.may_fail;
  });
  if (known == ranges_.end()) {
    ranges_.push_back({{column.column, column.type, of_type}, passing, false});
  } else {
    known->passing.low = std::max(known->passing.low, passing.low);
    known->passing.high = std::min(known->passing.high, passing.high);
  }
  return true;
}

bool ZoneFilter::add_pair(const Expr& conjunct) {
  if (conjunct.args.size() != 2) return false;
  const bool greater = conjunct.op == ExprOp::kGreater || conjunct.op == ExprOp::kGreaterEqual;
  const Expr& less = conjunct.args[greater ? 1 : 0];
  const Expr& more = conjunct.args[greater ? 0 : 1];
  if (!is_integers(less) || !is_integers(more)) return false;
  const ExprOp op = greater ? mirrored(conjunct.op) : conjunct.op;
  if (op != ExprOp::kLess && op != ExprOp::kLessEqual) return false;
  pairs_.push_back({{less.column, less.type, range_of(less.type)},
                    {more.column, more.type, range_of(more.type)},
                    op == ExprOp::kLessEqual});
  return true;
}

bool ZoneFilter::add_member(const Expr& conjunct) {
  if (conjunct.op != ExprOp::kMember || !is_integers(conjunct.args[0])) return false;
  const Expr& column = conjunct.args[0];
  const SetPlace set = set_place(conjunct);
  const int128_t last = static_cast<int128_t>(set.least) + set.count - 1;
  ranges_.push_back({{column.column, column.type, range_of(column.type)}, {set.least, last}, true});
  return true;
}

void ZoneFilter::add_other(const Expr& conjunct) {
  Other other;
  other.conjunct = &conjunct;
  const std::vector<uint32_t> columns = columns_of(conjunct);
  if (columns.size() == 1 && reads_texts_only(conjunct)) other.texts = columns[0];
  others_.push_back(other);
}

IntegerRange ZoneFilter::Integers::range(const Statistics* stats) const {
  if (stats == nullptr) return of_type;
  return {!stats->min.null && stats->min.type == type ? stats->min.integer : of_type.low,
          !stats->max.null && stats->max.type == type ? stats->max.integer : of_type.high};
}

Decision ZoneFilter::Range::decide(const Statistics* stats) const {
  if (!has_values(stats)) return Decision::kNone;
  const IntegerRange range = values.range(stats);
  if (range.low > passing.high || range.high < passing.low) return Decision::kNone;
  const bool all = !may_fail && range.low >= passing.low && range.high <= passing.high && !has_nulls(stats);
  return all ? Decision::kAll : Decision::kUnknown;
}

bool ZoneFilter::Range::decide_all(const ColumnChunkInfo* column, std::vector<Decision>& zones) const {
  if (column == nullptr || column->zone_bounds.size() != 2 * zones.size()) return false;
  if (column->zones.front().min.type != values.type) return false;
  constexpr int128_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int128_t kMost = std::numeric_limits<int64_t>::max();
  if (passing.low > kMost || passing.high < kLeast) {
    std::ranges::fill(zones, Decision::kNone);
    return true;
  }
  const auto low = static_cast<int64_t>(std::max(passing.low, kLeast));
  const auto high = static_cast<int64_t>(std::min(passing.high, kMost));
  const int64_t* least = column->zone_bounds.data();
  const int64_t* most = least + zones.size();
  for (size_t zone = 0; zone < zones.size(); ++zone) {
    const bool all = !may_fail && least[zone] >= low && most[zone] <= high;
    if (least[zone] > high || most[zone] < low) {
      zones[zone] = Decision::kNone;
    } else if (!all && zones[zone] == Decision::kAll) {
      zones[zone] = Decision::kUnknown;
    }
  }
  return true;
}

Decision ZoneFilter::Pair::decide(const Statistics* of_less, const Statistics* of_more) const {
  if (!has_values(of_less) || !has_values(of_more)) return Decision::kNone;
  const IntegerRange a = less.range(of_less);
  const IntegerRange b = more.range(of_more);
  const bool some = or_equal ? a.low <= b.high : a.low < b.high;
  if (!some) return Decision::kNone;
  const bool all = or_equal ? a.high <= b.low : a.high < b.low;
  return all && !has_nulls(of_less) && !has_nulls(of_more) ? Decision::kAll : Decision::kUnknown;
}

Decision ZoneFilter::decide_others(Decision so_far) {
  for (Other& other : others_) {
    if (so_far == Decision::kNone) break;
    const Statistics* texts = other.texts ? stats_[*other.texts] : nullptr;
    const bool asked_before = texts != nullptr && other.asked != nullptr && same_texts(*texts, *other.asked);
    if (!asked_before) {
      other.answer = decide(*other.conjunct, stats_);
      other.asked = texts;
    }
    so_far = both(so_far, other.answer);
  }
  return so_far;
}

Decision ZoneFilter::decide_chunk(const std::vector<const ColumnChunkInfo*>& columns) {
  stats_.clear();
  for (const ColumnChunkInfo* column : columns) stats_.push_back(column == nullptr ? nullptr : &column->stats);
  Decision out = Decision::kAll;
  for (const Range& range : ranges_) out = both(out, range.decide(stats_[range.values.column]));
  for (const Pair& pair : pairs_) out = both(out, pair.decide(stats_[pair.less.column], stats_[pair.more.column]));
  return decide_others(out);
}

const std::vector<Decision>& ZoneFilter::decide_zones(const std::vector<const ColumnChunkInfo*>& columns,
                                                      uint64_t rows) {
  const auto of_zone = [&](uint32_t column, uint32_t zone) {
    const bool known = columns[column] != nullptr && zone < columns[column]->zones.size();
    return known ? &columns[column]->zones[zone] : nullptr;
  };
  const auto zones = static_cast<uint32_t>((rows + kZoneRows - 1) / kZoneRows);
  const Decision whole = decide_chunk(columns);
  zones_.assign(zones, whole == Decision::kUnknown ? Decision::kAll : whole);
  if (whole != Decision::kUnknown) return zones_;
  for (const Range& range : ranges_) {
    if (range.decide_all(columns[range.values.column], zones_)) continue;
    for (uint32_t zone = 0; zone < zones; ++zone) {
      zones_[zone] = both(zones_[zone], range.decide(of_zone(range.values.column, zone)));
    }
  }
  for (const Pair& pair : pairs_) {
    for (uint32_t zone = 0; zone < zones; ++zone) {
      const Decision one = pair.decide(of_zone(pair.less.column, zone), of_zone(pair.more.column, zone));
      zones_[zone] = both(zones_[zone], one);
    }
  }
  if (others_.empty()) return zones_;
  for (uint32_t zone = 0; zone < zones; ++zone) {
    if (zones_[zone] == Decision::kNone) continue;
    for (uint32_t column = 0; column < columns.size(); ++column) stats_[column] = of_zone(column, zone);
    zones_[zone] = decide_others(zones_[zone]);
  }
  return zones_;
}

}  // namespace basalt::exec
