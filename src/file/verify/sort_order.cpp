// Comparing neighbouring rows: by the first sort column, where that is equal by the second, and so on.
#include "file/verify/sort_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "basalt/core/error.h"
#include "file/row_order.h"

namespace basalt::format_v1 {

namespace {

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
      std::optional<Column> last;
      if (chunk > 0) {
        const uint64_t before = file_.chunks()[chunk - 1].rows;
        last = rows_of(id, chunk - 1, before - 1, before);
      }
      refine_order(column, last ? &*last : nullptr, order);
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

  Column rows_of(uint32_t id, uint32_t chunk, uint64_t begin, uint64_t end) const {
    Column column = decode(id, chunk, begin, end);
    for (uint32_t field = id; file_.parent(field) != field; field = file_.parent(field)) {
      const uint32_t above = file_.parent(field);
      hide_members(decode(above, chunk, begin, end), column);
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
