// Ranges of integers against statistics; see zone_filter.h. Every answer is the one that truth_of() would give.
#include "exec/zone_filter.h"

#include <algorithm>

#include "exec/evaluate.h"

namespace basalt::exec {

namespace {

// Of a conjunction: one part that no row passes is enough, and all must be passed by every row.
Decision both(Decision a, Decision b) {
  if (a == Decision::kNone || b == Decision::kNone) return Decision::kNone;
  return a == Decision::kAll ? b : Decision::kUnknown;
}

}  // namespace

ZoneFilter::ZoneFilter(const Expr* predicate) {
  if (predicate == nullptr) return;
  for (const Expr* conjunct : conjuncts_of(*predicate)) {
    if (!add_to_ranges(*conjunct)) others_.push_back(conjunct);
  }
}

bool ZoneFilter::add_to_ranges(const Expr& conjunct) {
  if (conjunct.args.size() != 2) return false;
  const bool swapped = conjunct.args[0].op == ExprOp::kLiteral;
  const Expr& column = conjunct.args[swapped ? 1 : 0];
  const Expr& literal = conjunct.args[swapped ? 0 : 1];
  if (column.op != ExprOp::kColumn || literal.op != ExprOp::kLiteral) return false;
  if (!is_integer(column.type) || literal.literal.null || literal.literal.type != column.type) return false;
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
    return range.column == column.column && range.type == column.type;
  });
  if (known == ranges_.end()) {
    ranges_.push_back({column.column, column.type, of_type, passing});
  } else {
    known->passing.low = std::max(known->passing.low, passing.low);
    known->passing.high = std::min(known->passing.high, passing.high);
  }
  return true;
}

Decision ZoneFilter::Range::decide(const Statistics* stats) const {
  if (stats == nullptr) return Decision::kUnknown;  // the range has values of the type
  if (stats->null_count >= stats->rows) return Decision::kNone;
  const int128_t low = !stats->min.null && stats->min.type == type ? stats->min.integer : of_type.low;
  const int128_t high = !stats->max.null && stats->max.type == type ? stats->max.integer : of_type.high;
  if (low > passing.high || high < passing.low) return Decision::kNone;
  const bool all = low >= passing.low && high <= passing.high && stats->null_count == 0;
  return all ? Decision::kAll : Decision::kUnknown;
}

Decision ZoneFilter::decide_others(Decision so_far) const {
  for (const Expr* other : others_) {
    if (so_far == Decision::kNone) break;
    so_far = both(so_far, decide(*other, stats_));
  }
  return so_far;
}

Decision ZoneFilter::decide_chunk(const std::vector<const ColumnChunkInfo*>& columns) {
  stats_.clear();
  for (const ColumnChunkInfo* column : columns) stats_.push_back(column == nullptr ? nullptr : &column->stats);
  Decision out = Decision::kAll;
  for (const Range& range : ranges_) out = both(out, range.decide(stats_[range.column]));
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
    for (uint32_t zone = 0; zone < zones; ++zone) {
      zones_[zone] = both(zones_[zone], range.decide(of_zone(range.column, zone)));
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
