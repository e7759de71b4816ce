// Rows are sorted by partition and order; places in that order are what partitions, groups of equal rows and frames are
// ranges of.
#include "exec/cpu/windows.h"

#include <algorithm>

#include "exec/aggregate.h"
#include "exec/cpu/column_builder.h"
#include "exec/cpu/sort.h"

namespace basalt::exec {

namespace {

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Value value_of(const Column& column, uint64_t row) {
  const Physical type = physical_of(column.type);
  if (!column.is_valid(row)) return Value::of_null(type);
  if (type == Physical::kBytes) return Value::of_bytes(std::string(column.string_at(row)));
  return load_value(type, column.values.data() + row * width_of(type));
}

std::vector<SortKey> keys_of(const std::vector<uint32_t>& columns) {
  std::vector<SortKey> keys;
  for (const uint32_t column : columns) keys.push_back({column, false, false});
  return keys;
}

std::vector<SortKey> all_keys(const WindowFunction& function) {
  std::vector<SortKey> keys = keys_of(function.partition);
  keys.insert(keys.end(), function.order.begin(), function.order.end());
  return keys;
}

// An aggregate over a range of places that changes little from row to row.
class FrameAggregate {
 public:
  FrameAggregate(const Aggregate& aggregate, const Table& rows) : aggregate_(aggregate), rows_(rows) {}

  Value over(const Range& frame, const std::vector<uint64_t>& places) {
    const bool grows = frame.begin <= done_.begin && done_.end <= frame.end && done_.begin < done_.end;
    if (!grows) {
      state_ = {};
      done_ = {frame.begin, frame.begin};
    }
    for (uint64_t i = done_.begin; i > frame.begin; --i) add(places[i - 1]);
    for (uint64_t i = done_.end; i < frame.end; ++i) add(places[i]);
    done_ = frame;
    return finish(aggregate_, state_);
  }

 private:
  void add(uint64_t row) {
    if (aggregate_.filter) {
      const Value pass = value_of(rows_.columns[aggregate_.filter->column], row);
      if (pass.null || pass.integer == 0) return;
    }
    if (aggregate_.op != AggregateOp::kCountStar) {
      Value value = value_of(rows_.columns[aggregate_.arg.column], row);
      if (value.null) return;
      state_.sum.add(value.integer);
      state_.real_sum += value.real;
      const bool extreme = aggregate_.op == AggregateOp::kMin || aggregate_.op == AggregateOp::kMax;
      if (extreme && is_better(aggregate_.op, value, state_.extreme)) state_.extreme = std::move(value);
    }
    ++state_.count;
  }

  const Aggregate& aggregate_;
  const Table& rows_;
  AggregateState state_;
  Range done_;
};

class WindowRun {
 public:
  WindowRun(const Table& rows, const WindowFunction& function, const CancelToken* cancel)
      : rows_(rows),
        function_(function),
        cancel_(cancel),
        places_(sorted_rows(rows, all_keys(function), cancel)),
        same_partition_(rows, keys_of(function.partition)),
        same_order_(rows, function.order),
        results_(rows.rows) {}

  Column run(const Field& field) {
    for (uint64_t begin = 0; begin < places_.size();) {
      if (cancel_ != nullptr) cancel_->check();
      partition_ = {begin, end_of_equals(begin, places_.size(), same_partition_)};
      find_peers();
      run_partition();
      begin = partition_.end;
    }
    ColumnBuilder column(field);
    column.reserve(results_.size());
    for (const Value& value : results_) column.add_value(value);
    return column.take();
  }

 private:
  uint64_t end_of_equals(uint64_t begin, uint64_t end, const RowComparison& comparison) const {
    uint64_t at = begin + 1;
    while (at < end && comparison.compare(places_[begin], places_[at]) == 0) ++at;
    return at;
  }

  void find_peers() {
    peers_.resize(places_.size());
    groups_ = 0;
    for (uint64_t begin = partition_.begin; begin < partition_.end; ++groups_) {
      const Range equals{begin, end_of_equals(begin, partition_.end, same_order_)};
      for (uint64_t at = equals.begin; at < equals.end; ++at) peers_[at] = {equals, groups_};
      begin = equals.end;
    }
  }

  void run_partition() {
    if (function_.op == WindowOp::kAggregate) return run_aggregate();
    for (uint64_t at = partition_.begin; at < partition_.end; ++at) results_[places_[at]] = result_at(at);
  }

  // Towards the side that does not move, so that frames grow.
  void run_aggregate() {
    FrameAggregate aggregate(function_.aggregate, rows_);
    const bool backwards = function_.end.kind == FrameBound::Kind::kUnbounded;
    for (uint64_t i = partition_.begin; i < partition_.end; ++i) {
      if (cancel_ != nullptr && i % kRowsPerCheck == 0) cancel_->check();
      const uint64_t at = backwards ? partition_.end - 1 - (i - partition_.begin) : i;
      results_[places_[at]] = aggregate.over(frame_of(at), places_);
    }
  }

  static Value number(uint64_t value) { return Value::of_integer(Physical::kI64, static_cast<int128_t>(value)); }
  static Value share(uint64_t part, uint64_t of) {
    return Value::of_real(Physical::kF64, of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of));
  }
  Value argument(size_t index, uint64_t at) const {
    return value_of(rows_.columns[function_.arguments.at(index)], places_[at]);
  }
  Value no_value() const { return Value::of_null(physical_of(rows_.columns[function_.arguments.front()].type)); }

  Value result_at(uint64_t at) const {
    const uint64_t count = partition_.end - partition_.begin;
    const Range& equals = peers_[at].equals;
    switch (function_.op) {
      case WindowOp::kRowNumber: return number(at - partition_.begin + 1);
      case WindowOp::kRank: return number(equals.begin - partition_.begin + 1);
      case WindowOp::kDenseRank: return number(peers_[at].group + 1);
      case WindowOp::kPercentRank: return share(equals.begin - partition_.begin, count - 1);
      case WindowOp::kCumeDist: return share(equals.end - partition_.begin, count);
      case WindowOp::kLag: return shifted(at, -1);
      case WindowOp::kLead: return shifted(at, 1);
      case WindowOp::kFirstValue:
      case WindowOp::kLastValue: {
        const Range frame = frame_of(at);
        if (frame.begin == frame.end) return no_value();
        return argument(0, function_.op == WindowOp::kFirstValue ? frame.begin : frame.end - 1);
      }
      case WindowOp::kAggregate: break;
    }
    return {};
  }

  Value shifted(uint64_t at, int64_t direction) const {
    const Value rows = argument(1, at);
    if (rows.null) return no_value();
    const int128_t place = static_cast<int128_t>(at) + direction * rows.integer;
    const bool inside =
        place >= static_cast<int128_t>(partition_.begin) && place < static_cast<int128_t>(partition_.end);
    return inside ? argument(0, static_cast<uint64_t>(place)) : argument(2, at);
  }

  // --- frames

  Range frame_of(uint64_t at) const {
    const uint64_t begin =
        function_.start.kind == FrameBound::Kind::kUnbounded ? partition_.begin : bound(function_.start, at, false);
    const uint64_t end =
        function_.end.kind == FrameBound::Kind::kUnbounded ? partition_.end : bound(function_.end, at, true);
    return {begin, std::max(begin, end)};
  }

  // `behind`: the place behind the rows that the bound takes in.
  uint64_t bound(const FrameBound& bound, uint64_t at, bool behind) const {
    const Range& equals = peers_[at].equals;
    if (function_.unit == FrameUnit::kRows) {
      const int64_t distance = bound.kind == FrameBound::Kind::kCurrent ? 0 : bound.distance;
      return clamped(static_cast<int128_t>(at) + distance + (behind ? 1 : 0));
    }
    if (bound.kind == FrameBound::Kind::kCurrent) return behind ? equals.end : equals.begin;
    return bound_of_value(bound, at, behind);
  }
  uint64_t clamped(int128_t place) const {
    const auto low = static_cast<int128_t>(partition_.begin);
    const auto high = static_cast<int128_t>(partition_.end);
    return static_cast<uint64_t>(std::clamp(place, low, high));
  }

  // Among rows whose key is not NULL, the first one that does not lie before the value, or that lies behind it.
  uint64_t bound_of_value(const FrameBound& bound, uint64_t at, bool behind) const {
    const SortKey& how = function_.order.front();
    const Column& key = rows_.columns[how.column];
    const Range& equals = peers_[at].equals;
    if (!key.is_valid(places_[at])) return behind ? equals.end : equals.begin;
    const Value limit = value_of(rows_.columns[bound.column], places_[at]);
    const auto valid = [&](uint64_t row) { return key.is_valid(row); };
    auto first = places_.begin() + static_cast<ptrdiff_t>(partition_.begin);
    auto last = places_.begin() + static_cast<ptrdiff_t>(partition_.end);
    if (how.nulls_first) {
      first = std::partition_point(first, last, [&](uint64_t row) { return !valid(row); });
    } else {
      last = std::partition_point(first, last, valid);
    }
    const auto found = std::partition_point(first, last, [&](uint64_t row) {
      const int order = compare(value_of(key, row), limit);
      const int directed = how.descending ? -order : order;
      return behind ? directed <= 0 : directed < 0;
    });
    return static_cast<uint64_t>(found - places_.begin());
  }

  static constexpr uint64_t kRowsPerCheck = 1 << 12;
  struct Peers {
    Range equals;
    uint64_t group = 0;
  };

  const Table& rows_;
  const WindowFunction& function_;
  const CancelToken* cancel_;
  std::vector<uint64_t> places_;
  RowComparison same_partition_;
  RowComparison same_order_;
  std::vector<Value> results_;
  Range partition_;
  std::vector<Peers> peers_;
  uint64_t groups_ = 0;
};

}  // namespace

Table add_windows(Table rows, const std::vector<WindowFunction>& functions, const std::vector<Field>& fields,
                  const CancelToken* cancel) {
  std::vector<Column> added;
  for (size_t i = 0; i < functions.size(); ++i) {
    added.push_back(WindowRun(rows, functions[i], cancel).run(fields.at(rows.columns.size() + i)));
  }
  for (Column& column : added) rows.columns.push_back(std::move(column));
  rows.schema.fields = fields;
  return rows;
}

}  // namespace basalt::exec
