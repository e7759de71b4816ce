// Comparing neighbouring rows: by the first sort column, where that is equal by the second, and so on.
#include "file/verify/sort_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "basalt/core/error.h"
#include "core/dispatch.h"

namespace basalt::format_v1 {

namespace {

// −1, 0, 1 as SQL orders rows: NULLs last, NaN above all other values, both zeros equal.
template <typename T>
int order_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

class SortCheck {
 public:
  SortCheck(const File& file, const std::vector<uint32_t>& columns, const DecodeLimits& limits)
      : file_(file), columns_(columns), limits_(limits) {}

  void check_columns() const {
    for (const uint32_t id : columns_) {
      const TypeKind kind = file_.fields()[id]->type.kind;
      bool has_rows = kind != TypeKind::kList && kind != TypeKind::kStruct;
      for (uint32_t field = id; file_.parent(field) != field; field = file_.parent(field)) {
        has_rows = has_rows && file_.fields()[file_.parent(field)]->type.kind == TypeKind::kStruct;
      }
      if (!has_rows) fail(fmt::format("rows cannot be sorted by column {}", file_.column(id).path));
    }
  }

  void check_chunk(uint32_t chunk) const {
    const ChunkInfo& rows = file_.chunks()[chunk];
    // Entry i: how row i compares with the row before it, by the columns so far.
    std::vector<int8_t> order(rows.rows, 0);
    for (const uint32_t id : columns_) {
      const Column column = rows_of(id, chunk, 0, rows.rows);
      if (chunk > 0) {
        const uint64_t before = file_.chunks()[chunk - 1].rows;
        const Column last = rows_of(id, chunk - 1, before - 1, before);
        refine(last, 0, column, 0, order[0]);
      }
      for (uint64_t row = 1; row < rows.rows; ++row) refine(column, row - 1, column, row, order[row]);
      const auto wrong = std::find(order.begin(), order.end(), int8_t{1});
      if (wrong == order.end()) continue;
      fail(fmt::format("row {} does not come after the row before it, by the sort order in the footer: column {}",
                       rows.first_row + static_cast<uint64_t>(wrong - order.begin()), file_.column(id).path));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorCode::kCorrupt, file_.name() + ": " + reason);
  }

  // A member of a NULL struct is NULL.
  Column rows_of(uint32_t id, uint32_t chunk, uint64_t begin, uint64_t end) const {
    Column column = decode(id, chunk, begin, end);
    for (uint32_t field = id; file_.parent(field) != field; field = file_.parent(field)) {
      const uint32_t above = file_.parent(field);
      const Column parent = decode(above, chunk, begin, end);
      if (parent.null_count == 0) continue;
      if (column.validity.empty()) {
        column.validity = parent.validity;
        continue;
      }
      for (size_t i = 0; i < column.validity.size(); ++i) {
        column.validity.as<uint8_t>()[i] &= parent.validity.as<uint8_t>()[i];
      }
    }
    return column;
  }

  Column decode(uint32_t id, uint32_t chunk, uint64_t begin, uint64_t end) const {
    const EncodedChunk encoded = file_.read_chunk(id, chunk);
    try {
      return decode_rows(encoded.root, file_.fields()[id]->type, begin, end, limits_);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column {}, chunk {}", file_.name(), file_.column(id).path, chunk));
    }
  }

  static void refine(const Column& a, uint64_t a_row, const Column& b, uint64_t b_row, int8_t& order) {
    if (order == 0) order = static_cast<int8_t>(compare_rows(a, a_row, b, b_row));
  }

  static int compare_rows(const Column& a, uint64_t a_row, const Column& b, uint64_t b_row) {
    const bool a_null = !a.is_valid(a_row);
    const bool b_null = !b.is_valid(b_row);
    if (a_null || b_null) return static_cast<int>(a_null) - static_cast<int>(b_null);
    const Physical type = physical_of(a.type);
    if (type == Physical::kBytes) return order_of(a.string_at(a_row), b.string_at(b_row));
    return dispatch_typed(type, [&](auto tag) {
      using T = decltype(tag);
      return order_of(a.values.as<T>()[a_row], b.values.as<T>()[b_row]);
    });
  }

  const File& file_;
  const std::vector<uint32_t>& columns_;
  DecodeLimits limits_;
};

}  // namespace

void check_sort_order(const File& file, const std::vector<uint32_t>& columns, ThreadPool& pool,
                      const DecodeLimits& limits) {
  if (columns.empty()) return;
  const SortCheck check(file, columns, limits);
  check.check_columns();
  pool.parallel_for(file.chunks().size(), [&](uint64_t chunk) {
    if (limits.cancel != nullptr) limits.cancel->check();
    check.check_chunk(static_cast<uint32_t>(chunk));
  });
}

}  // namespace basalt::format_v1
