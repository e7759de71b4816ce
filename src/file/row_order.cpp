#include "file/row_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "basalt/core/error.h"
#include "core/dispatch.h"
#include "file/write_checks.h"

namespace basalt::format_v1 {

namespace {

template <typename T>
int order_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

// `value(column, row)` reads one that is not NULL.
template <typename Value>
void refine_by(const Column& column, const Column* before, std::vector<int8_t>& order, Value value) {
  const auto compare = [&](const Column& a, uint64_t a_row, const Column& b, uint64_t b_row) {
    const bool a_null = !a.is_valid(a_row);
    const bool b_null = !b.is_valid(b_row);
    if (a_null || b_null) return static_cast<int>(a_null) - static_cast<int>(b_null);
    return order_of(value(a, a_row), value(b, b_row));
  };
  if (before != nullptr && order[0] == 0) order[0] = static_cast<int8_t>(compare(*before, 0, column, 0));
  for (uint64_t row = 1; row < column.length; ++row) {
    if (order[row] == 0) order[row] = static_cast<int8_t>(compare(column, row - 1, column, row));
  }
}

// Where each flattened field lies in a table.
void note_places(const std::vector<Field>& fields, const std::vector<size_t>& above,
                 std::vector<std::vector<size_t>>& places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    std::vector<size_t> place = above;
    place.push_back(i);
    places.push_back(place);
    note_places(fields[i].children, place, places);
  }
}

// The rows of a member, in `made` where they are not as they lie in the table.
const Column& rows_at(const Table& table, const std::vector<size_t>& place, Column& made) {
  const Column* column = &table.columns[place[0]];
  if (place.size() == 1) return *column;
  std::vector<const Column*> above;
  for (size_t step = 1; step < place.size(); ++step) {
    above.push_back(column);
    column = &column->children[place[step]];
  }
  made = *column;
  for (const Column* parent : above) hide_members(*parent, made);
  return made;
}

}  // namespace

void refine_order(const Column& column, const Column* before, std::vector<int8_t>& order) {
  if (column.length == 0) return;
  const Physical type = physical_of(column.type);
  if (type == Physical::kBytes) {
    refine_by(column, before, order, [](const Column& of, uint64_t row) { return of.string_at(row); });
    return;
  }
  dispatch_typed(type, [&](auto tag) {
    using T = decltype(tag);
    refine_by(column, before, order, [](const Column& of, uint64_t row) { return of.values.as<T>()[row]; });
  });
}

void hide_members(const Column& of, Column& member) {
  if (of.null_count == 0) return;
  if (member.validity.empty()) {
    member.validity = of.validity;
    return;
  }
  for (size_t i = 0; i < member.validity.size(); ++i) {
    member.validity.as<uint8_t>()[i] &= of.validity.as<uint8_t>()[i];
  }
}

SortedTables::SortedTables(const Schema& schema, const std::vector<uint32_t>& columns) {
  std::vector<std::vector<size_t>> places;
  note_places(schema.fields, {}, places);
  const std::vector<std::string> paths = paths_of(schema);
  const std::vector<const Field*> fields = flatten(schema);
  for (const uint32_t id : columns) columns_.push_back({paths[id], places[id], *fields[id], {}});
}

void SortedTables::check(const Table& table, const std::string& path) {
  if (columns_.empty() || table.rows == 0) return;
  std::vector<int8_t> order(table.rows, 0);
  for (SortColumn& by : columns_) {
    Column made;
    const Column& column = rows_at(table, by.place, made);
    refine_order(column, rows_ == 0 ? nullptr : &by.last, order);
    const auto wrong = std::ranges::find(order, int8_t{1});
    if (wrong != order.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: rows must come sorted by the columns that the file is to be sorted by, but row {} "
                              "comes before the one above it, by column {}",
                              path, rows_ + static_cast<uint64_t>(wrong - order.begin()), by.path));
    }
    by.last = make_column(by.field);
    append_rows(by.last, column, table.rows - 1, table.rows);
  }
  rows_ += table.rows;
}

}  // namespace basalt::format_v1
