// Sinks of rows as kernels see them. Where few rows leave, a kernel reads what the filter and the order need and keeps
// the numbers of rows; else it evaluates what leaves, strings by their numbers, and columns of strings without a list
// are fetched by the rows' numbers.
#include <algorithm>
#include <map>

#include "basalt/exec/expressions.h"
#include "exec/column_facts.h"
#include "exec/device/generate/decode_ahead.h"
#include "exec/device/generate/texts.h"
#include "exec/evaluate.h"
#include "exec/set_places.h"

namespace basalt::device {

namespace {

class RowsPipeline {
 public:
  RowsPipeline(const Pipeline& given, const std::vector<ArrayShape>& arrays, uint64_t rows, const TextNumbers* known,
               bool whole_order)
      : given_(given), arrays_(arrays), whole_order_(whole_order), numbering_(device_, known) {
    device_.rows = rows;
    for (const auto& file : given.files) {
      // Numbers of rows count whole tiles.
      for (const ChunkInfo& chunk : file->chunks())
        device_.rows += (chunk.rows + kTileRows - 1) / kTileRows * kTileRows;
    }
  }

  DevicePipeline make() {
    Pipeline& kernel = device_.pipeline;
    kernel.files = given_.files;
    kernel.sink = Sink::kRows;
    kernel.limit = given_.limit;
    kernel.offset = given_.offset;
    kernel.has_filter = given_.has_filter;
    if (given_.has_filter) {
      // In the table's order, so that the order of conjuncts makes no difference.
      for (const uint32_t column : exec::columns_of(given_.filter)) place_of(column, false);
      kernel.filter = numbering_.predicate(over_kernel_columns(given_.filter));
    }
    RowsSources& sources = device_.sources.emplace();
    // What sets hold, the host cannot see.
    const bool has_sets = std::ranges::any_of(given_.rows, exec::has_sets);
    sources.late = given_.limit <= kFewRows && arrays_.empty() && !has_sets;
    if (!sources.late) keep_columns(sources);
    add_order(sources);
    if (sources.late && !given_.order.empty()) add_throwing();
    for (const PipelineColumn& column : given_.columns) {
      if (column.type.kind == TypeKind::kList || column.type.kind == TypeKind::kStruct) {
        device_.reason = "column " + column.name + " is nested";
      }
    }
    if (device_.reason.empty()) numbering_.drop_unused();
    decode_ahead(device_);
    return std::move(device_);
  }

 private:
  // The kernel's column of this field; of strings `by_place`: as places in their list.
  uint32_t place_of(uint32_t column, bool by_place) {
    const auto [found, added] =
        places_.try_emplace({column, by_place}, static_cast<uint32_t>(device_.pipeline.columns.size()));
    if (added) {
      PipelineColumn own = given_.columns[column];
      own.as_codes = by_place && arrays_.empty();
      if (by_place) own.type = {TypeKind::kUInt32};
      device_.pipeline.columns.push_back(std::move(own));
      device_.codes.push_back(by_place ? codes_of(column) : nullptr);
      device_.arrays.emplace_back();
      if (!arrays_.empty()) device_.arrays.back() = arrays_[column];
    }
    return found->second;
  }

  Expr over_kernel_columns(Expr expr) {
    if (expr.op == ExprOp::kColumn) expr.column = place_of(expr.column, false);
    for (Expr& arg : expr.args) arg = over_kernel_columns(std::move(arg));
    return expr;
  }

  // Those of a column of strings; nullptr if it has none.
  std::shared_ptr<const exec::TextCodes> codes_of(uint32_t column) {
    const auto [found, added] = codes_.try_emplace(column);
    if (added) {
      found->second =
          arrays_.empty() ? codes_of_files(given_, given_.columns[column].field_id) : arrays_[column].listed;
    }
    return found->second;
  }

  // The kernel's row that holds an expression.
  uint32_t row_of(const Expr& expr, bool by_place) {
    std::vector<Expr>& rows = device_.pipeline.rows;
    Expr own = by_place ? column_reference(place_of(expr.column, true), Physical::kU32)
                        : numbering_.value(over_kernel_columns(expr));
    const auto same = std::ranges::find_if(rows, [&](const Expr& other) { return exec::same_expression(other, own); });
    if (same != rows.end()) return static_cast<uint32_t>(same - rows.begin());
    rows.push_back(std::move(own));
    return static_cast<uint32_t>(rows.size() - 1);
  }

  // What leaves is kept by the kernel, each expression once.
  void keep_columns(RowsSources& sources) {
    Pipeline& kernel = device_.pipeline;
    for (size_t i = 0; i < given_.rows.size(); ++i) {
      const Expr& expr = given_.rows[i];
      RowsSources::Source source;
      if (expr.type == Physical::kBytes && expr.op == ExprOp::kColumn) {
        source.texts_of = expr.column;
        if (arrays_.empty()) source.listed = codes_of(expr.column);
      }
      if (!source.texts_of || source.listed != nullptr || !arrays_.empty()) {
        source.row = row_of(expr, source.texts_of.has_value());
        source.numbered = expr.type == Physical::kBytes && !source.texts_of;
        if (*source.row == kernel.output.size()) {
          kernel.output.push_back(given_.output[i]);
          if (expr.type == Physical::kBytes) kernel.output.back().type = {TypeKind::kUInt32};
        }
      }
      sources.columns.push_back(std::move(source));
    }
  }

  // Whether the keys before one of strings, whose numbers nothing else needs, may leave few rows.
  bool may_cut_order() const {
    if (whole_order_ || !device_.sources->late || !device_.texts.empty() || device_.pipeline.order.empty())
      return false;
    return given_.offset <= kFewRows / 2 && given_.limit <= kFewRows / 2;
  }

  void add_order(RowsSources& sources) {
    for (SortKey key : given_.order) {
      const Expr& expr = given_.rows[key.column];
      const bool text = expr.type == Physical::kBytes;
      const bool by_place = text && expr.op == ExprOp::kColumn && codes_of(expr.column) != nullptr;
      if (text && !by_place) {
        sources.cut_order = may_cut_order();
        if (sources.cut_order) return;
        numbering_.need_order();
      }
      key.column = row_of(expr, by_place);
      device_.pipeline.order.push_back(key);
    }
  }

  // Rows that do not leave raise errors, too.
  void add_throwing() {
    const std::vector<Statistics> statistics = exec::column_statistics(given_);
    const exec::StatisticsList stats = exec::list_of(statistics, given_.columns.size());
    for (const Expr& expr : given_.rows) {
      if (!has_strings(expr) && exec::bounds_of(expr, stats).may_throw) row_of(expr, false);
    }
  }

  static bool has_strings(const Expr& expr) {
    return expr.type == Physical::kBytes || std::ranges::any_of(expr.args, has_strings);
  }

  const Pipeline& given_;
  const std::vector<ArrayShape>& arrays_;
  bool whole_order_;
  DevicePipeline device_;
  TextNumbering numbering_;
  std::map<std::pair<uint32_t, bool>, uint32_t> places_;
  std::map<uint32_t, std::shared_ptr<const exec::TextCodes>> codes_;
};

// Columns [first, end), then those of the order that are not among them.
Pipeline part_of(const Pipeline& pipeline, size_t first, size_t end) {
  const auto place = [](size_t i) { return static_cast<ptrdiff_t>(i); };
  Pipeline part = pipeline;
  part.rows.assign(pipeline.rows.begin() + place(first), pipeline.rows.begin() + place(end));
  part.output.assign(pipeline.output.begin() + place(first), pipeline.output.begin() + place(end));
  std::map<uint32_t, uint32_t> added;
  for (SortKey& key : part.order) {
    if (key.column >= first && key.column < end) {
      key.column -= static_cast<uint32_t>(first);
      continue;
    }
    const auto [found, is_new] = added.try_emplace(key.column, static_cast<uint32_t>(part.rows.size()));
    if (is_new) {
      part.rows.push_back(pipeline.rows[key.column]);
      part.output.push_back(pipeline.output[key.column]);
    }
    key.column = found->second;
  }
  return part;
}

}  // namespace

std::optional<RowsHalves> halves_of(const Pipeline& pipeline) {
  if (pipeline.sink != Sink::kRows || (pipeline.limit <= kFewRows && !pipeline.files.empty())) return std::nullopt;
  const size_t all = pipeline.rows.size();
  RowsHalves halves;
  halves.first_columns = all / 2;
  halves.second_columns = all - all / 2;
  halves.first = part_of(pipeline, 0, all / 2);
  halves.second = part_of(pipeline, all / 2, all);
  if (halves.first.rows.size() >= all || halves.second.rows.size() >= all) return std::nullopt;
  return halves;
}

DevicePipeline rows_to_device(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays, uint64_t rows,
                              const TextNumbers* known, bool whole_order) {
  return RowsPipeline(pipeline, arrays, rows, known, whole_order).make();
}

}  // namespace basalt::device
