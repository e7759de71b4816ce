// Tables whose columns one kernel cannot read as they are stored: a column has another encoding in every file, or all
// columns together need more shared memory than there is.
#pragma once

#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {

inline const std::vector<std::string>& many_integer_trees() {
  static const std::vector<std::string> trees = {"plain",
                                                 "packed",
                                                 "dict(packed, plain)",
                                                 "dict(packed, packed)",
                                                 "dict(rle(packed, packed), packed)",
                                                 "rle(packed, packed)",
                                                 "rle(plain, plain)",
                                                 "rle(dict(packed, plain), packed)",
                                                 "delta(packed)",
                                                 "delta(rle(packed, packed))",
                                                 "validity(packed, rle(packed, packed))",
                                                 "dict(ans, packed)",
                                                 "stride(rle(delta(packed), packed))",
                                                 "dict(grouped(dict(packed, plain)), plain)",
                                                 "validity(ans, ans)"};
  return trees;
}

inline const std::vector<std::string>& many_text_trees() {
  static const std::vector<std::string> trees = {"strings(packed, plain)",
                                                 "strings(dict(packed, plain), plain)",
                                                 "strings(rle(packed, packed), plain)",
                                                 "strings(packed, fsst(packed))",
                                                 "strings(rle(packed, packed), fsst(packed))",
                                                 "strings(dict(packed, plain), fsst(packed))",
                                                 "strings(packed, fsst(dict(packed, plain)))",
                                                 "dict(packed, strings(packed, plain))",
                                                 "dict(rle(packed, packed), strings(packed, plain))",
                                                 "dict(packed, strings(packed, fsst(packed)))",
                                                 "validity(packed, strings(packed, plain))",
                                                 "dict(ans, strings(packed, plain))",
                                                 "validity(ans, strings(ans, plain))"};
  return trees;
}

// A file for each tree: integers, strings, integers in one encoding. Where trees hold NULLs there are some.
struct ManyEncodings {
  std::vector<TestTable> tables;
  Pipeline pipeline;

  Expr column(uint32_t i) const { return column_expr(i, physical_of(pipeline.columns[i].type)); }
};

inline ManyEncodings many_encodings(uint64_t rows_of_file) {
  ManyEncodings out;
  Random random(7);
  for (size_t i = 0; i < many_integer_trees().size(); ++i) {
    const uint64_t rows = rows_of_file + 100 * i;
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
    std::vector<int32_t> others;
    std::vector<uint64_t> nulls;
    for (uint64_t row = 0; row < rows; ++row) {
      numbers.push_back(row % 3 == 0 || numbers.empty() ? static_cast<int64_t>(below(random, 500)) : numbers.back());
      texts.push_back("text " + std::to_string(below(random, 300)));
      others.push_back(static_cast<int32_t>(below(random, 40)));
      if (below(random, 9) == 0) nulls.push_back(row);
    }
    std::vector<Column> columns;
    columns.push_back(make_fixed(DataType::bigint(), numbers));
    columns.push_back(make_strings(texts));
    columns.push_back(make_fixed<int32_t>({TypeKind::kInt32}, others));
    const std::vector<std::string> trees = {many_integer_trees()[i], many_text_trees()[i % many_text_trees().size()],
                                            "packed"};
    for (size_t column = 0; column < trees.size(); ++column) {
      if (trees[column].starts_with("validity")) set_nulls(columns[column], nulls);
    }
    out.tables.push_back(write_table(std::move(columns), trees, 8192));
    out.pipeline.files.push_back(out.tables.back().file);
  }
  out.pipeline.columns = out.tables.front().pipeline_columns();
  return out;
}

// Columns of runs: each needs some KiB to be read.
inline TestTable many_runs(uint32_t columns_wanted, uint64_t rows) {
  Random random(8);
  std::vector<Column> columns;
  std::vector<std::string> trees;
  for (uint32_t i = 0; i < columns_wanted; ++i) {
    std::vector<int64_t> numbers;
    std::vector<uint64_t> nulls;
    for (uint64_t row = 0; row < rows; ++row) {
      const bool repeats = !numbers.empty() && below(random, 5) != 0;
      numbers.push_back(repeats ? numbers.back() : static_cast<int64_t>(below(random, 1000 + i)));
      if (i % 3 == 1 && below(random, 11) == 0) nulls.push_back(row);
    }
    columns.push_back(make_fixed(DataType::bigint(), numbers));
    if (i % 3 == 1) set_nulls(columns.back(), nulls);
    trees.push_back(i % 3 == 1 ? "validity(packed, rle(packed, packed))" : "rle(packed, packed)");
  }
  return write_table(std::move(columns), trees, 8192);
}

inline Field field_named(const std::string& name, const DataType& type) {
  Field field;
  field.name = name;
  field.type = type;
  return field;
}

// Rows of all columns.
inline Pipeline rows_of_columns(Pipeline pipeline) {
  pipeline.sink = Sink::kRows;
  for (uint32_t i = 0; i < pipeline.columns.size(); ++i) {
    pipeline.rows.push_back(column_expr(i, physical_of(pipeline.columns[i].type)));
    pipeline.output.push_back(field_named(pipeline.columns[i].name, pipeline.columns[i].type));
  }
  return pipeline;
}

// Groups by a key, with sums of columns [first, end).
inline Pipeline sums_by(Pipeline pipeline, const Expr& key, uint32_t first, uint32_t end) {
  pipeline.sink = Sink::kGroups;
  pipeline.keys = {key};
  pipeline.output = {field_named("key", key.type == Physical::kBytes ? DataType{TypeKind::kUtf8} : DataType::bigint())};
  for (uint32_t i = first; i < end; ++i) {
    pipeline.aggregates.push_back(aggregate(AggregateOp::kSum, column_expr(i, physical_of(pipeline.columns[i].type))));
    pipeline.output.push_back(field_named("sum", {TypeKind::kInt128}));
  }
  return pipeline;
}

}  // namespace basalt::test
