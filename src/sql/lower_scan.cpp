// Lowering of scans over .basalt files: which columns are read, and filters that DuckDB has pushed into the scan. A
// scan's columns are numbered as they are met in its column list.
#include "duckdb/planner/operator/logical_get.hpp"
#include "sql/query_lowering.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/statistics.h"
#include "sql/types.h"

namespace basalt::sql {

namespace {

constexpr size_t kMaxFiles = 100'000;

}  // namespace

struct QueryLowering::FileColumns {
  const duckdb::MultiFileBindData& bind_data;
  QueryNode node;
  std::map<duckdb::idx_t, size_t> numbers;  // column of the table → place in the scan

  // Adds a column unless it is there. Every file must hold it at the same place with the same type. Gives the reason
  // why it cannot be read.
  std::string add(duckdb::idx_t column);
};

std::string QueryLowering::FileColumns::add(duckdb::idx_t column) {
  const std::string& name = bind_data.names.at(column);
  if (numbers.contains(column)) return {};
  if (comes_from_path(bind_data, column)) return "column " + name + " comes from the file's path";
  const Field* first = nullptr;
  for (const auto& file : node.files) {
    const int found = find_column(*file, name);
    if (found < 0) return "column " + name + " is not in every file";
    const Field& field = file->schema().fields[static_cast<size_t>(found)];
    if (first == nullptr) first = &field;
    if (field.id != first->id || field.type != first->type) return "column " + name + " differs between files";
  }
  const Physical physical = physical_of(first->type);
  if ((width_of(physical) == 0 && physical != Physical::kBytes) || !first->children.empty()) {
    return "column " + name + " is nested";
  }
  if (needs_rescale(first->type) || to_logical_type(first->type) != bind_data.types.at(column)) {
    return "column " + name + " is read as another type";
  }
  numbers[column] = node.columns.size();
  node.columns.push_back({first->id, first->name, first->type});
  node.output.push_back(*first);
  return {};
}

QueryNode QueryLowering::scan(duckdb::LogicalGet& get) {
  if (!is_scan(get.function)) throw NotLowered("the table is not a .basalt file");
  if (get.extra_info.sample_options) throw NotLowered("SAMPLE");
  if (get.ordinality_idx.IsValid()) throw NotLowered("WITH ORDINALITY");
  FileColumns columns{get.bind_data->Cast<duckdb::MultiFileBindData>(), {}, {}};
  if (!columns.bind_data.bind_data->Cast<ScanBindData>().options->all_rows()) throw NotLowered("a range of rows");
  columns.node.files = open_files(context_, columns.bind_data, kMaxFiles);
  if (columns.node.files.empty()) throw NotLowered("there is no file to read");
  const auto& ids = get.GetColumnIds();
  for (duckdb::idx_t i = 0; i < ids.size(); ++i) {
    const duckdb::idx_t column = ids[i].GetPrimaryIndex();
    std::string reason = ids[i].IsVirtualColumn() ? "the column " + get.GetColumnName(ids[i]) : columns.add(column);
    const size_t place = reason.empty() ? columns.numbers.at(column) : 0;
    bind(get.table_index, i, place, std::move(reason));
  }
  std::vector<Expr> filters;
  for (const auto& [column, table_filter] : get.table_filters.filters) {
    add_table_filter(columns, column, *table_filter, filters);
  }
  if (filters.empty()) return std::move(columns.node);
  QueryNode filtered = node_over(QueryOp::kFilter, std::move(columns.node));
  filtered.predicate = conjunction(std::move(filters));
  return filtered;
}

void QueryLowering::add_table_filter(FileColumns& columns, duckdb::idx_t column,
                                     const duckdb::TableFilter& table_filter, std::vector<Expr>& filters) {
  // A hint costs work and changes nothing here: what it hints at is among the other filters.
  if (table_filter.filter_type == duckdb::TableFilterType::OPTIONAL_FILTER) return;
  if (duckdb::IsVirtualColumn(column)) throw NotLowered("a filter on a virtual column");
  if (std::string reason = columns.add(column); !reason.empty()) throw NotLowered(reason);
  const std::string& name = columns.bind_data.names.at(column);
  LoweredFilter lowered = lower_filter(table_filter, reference_to(columns.node, columns.numbers[column]),
                                       columns.bind_data.types.at(column));
  if (!lowered.exact) throw NotLowered("the filter " + table_filter.ToString(name));
  if (!lowered.expr) return;
  filters.push_back(*std::move(lowered.expr));
  add_filter_text(table_filter.ToString(name));
}

}  // namespace basalt::sql
