#include "exec/cpu/sort.h"

#include <algorithm>
#include <numeric>

#include "core/dispatch.h"
#include "exec/cpu/column_builder.h"
#include "exec/scalar.h"

namespace basalt::exec {

namespace {

RowComparison::OfColumn comparison_of(const Column& column) {
  const Physical type = physical_of(column.type);
  if (type == Physical::kBytes) {
    return [&column](uint64_t a, uint64_t b) { return column.string_at(a).compare(column.string_at(b)); };
  }
  return dispatch_typed(type, [&](auto tag) -> RowComparison::OfColumn {
    using T = decltype(tag);
    const T* values = column.values.as<T>();
    return [values](uint64_t a, uint64_t b) {
      if constexpr (std::is_floating_point_v<T>) {
        return sql_less(values[a], values[b]) ? -1 : sql_less(values[b], values[a]) ? 1 : 0;
      } else {
        return values[a] < values[b] ? -1 : values[b] < values[a] ? 1 : 0;
      }
    };
  });
}

// Looks at the token every so many calls.
class CancelCheck {
 public:
  explicit CancelCheck(const CancelToken* cancel) : cancel_(cancel) {}
  void operator()() {
    if (cancel_ != nullptr && calls_++ % kCalls == 0) cancel_->check();
  }

 private:
  static constexpr uint32_t kCalls = 1 << 16;
  const CancelToken* cancel_;
  uint32_t calls_ = 0;
};

// Rows that are equal stay in order.
class RowOrder {
 public:
  RowOrder(const RowComparison& comparison, CancelCheck& cancel) : comparison_(comparison), cancel_(cancel) {}
  bool operator()(uint64_t a, uint64_t b) const {
    cancel_();
    const int order = comparison_.compare(a, b);
    return order != 0 ? order < 0 : a < b;
  }

 private:
  const RowComparison& comparison_;
  CancelCheck& cancel_;
};

Table take_rows(const Table& table, const uint64_t* rows, uint64_t count, CancelCheck& cancel) {
  Table out;
  out.schema = table.schema;
  out.rows = count;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    ColumnBuilder column(table.schema.fields[i]);
    column.reserve(count);
    for (uint64_t r = 0; r < count; ++r) {
      cancel();
      column.add_row(table.columns[i], rows[r]);
    }
    out.columns.push_back(column.take());
  }
  return out;
}

}  // namespace

RowComparison::RowComparison(const Table& table, const std::vector<SortKey>& order) {
  for (const SortKey& key : order) {
    const Column& column = table.columns.at(key.column);
    keys_.push_back({&column, key, comparison_of(column)});
  }
}

int RowComparison::compare(uint64_t a, uint64_t b) const {
  for (const Key& key : keys_) {
    const bool a_valid = key.column->is_valid(a);
    const bool b_valid = key.column->is_valid(b);
    if (a_valid != b_valid) return a_valid != key.how.nulls_first ? -1 : 1;
    if (!a_valid) continue;
    const int order = key.compare(a, b);
    if (order != 0) return key.how.descending ? -order : order;
  }
  return 0;
}

std::vector<uint64_t> sorted_rows(const Table& table, const std::vector<SortKey>& order, const CancelToken* cancel) {
  CancelCheck check(cancel);
  std::vector<uint64_t> rows(table.rows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  if (order.empty()) return rows;
  const RowComparison comparison(table, order);
  std::sort(rows.begin(), rows.end(), RowOrder(comparison, check));
  return rows;
}

Table first_rows(Table table, const std::vector<SortKey>& order, uint64_t limit, uint64_t offset,
                 const CancelToken* cancel) {
  CancelCheck check(cancel);
  const uint64_t begin = std::min(offset, table.rows);
  const uint64_t end = begin + std::min(limit, table.rows - begin);
  if (end == table.rows) {
    const std::vector<uint64_t> rows = sorted_rows(table, order, cancel);
    return take_rows(table, rows.data() + begin, end - begin, check);
  }
  std::vector<uint64_t> rows(table.rows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  if (!order.empty()) {
    const RowComparison comparison(table, order);
    std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(end), rows.end(),
                      RowOrder(comparison, check));
  }
  return take_rows(table, rows.data() + begin, end - begin, check);
}

}  // namespace basalt::exec
