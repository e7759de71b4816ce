// Basalt as a library: write a small table, read a column back, then filter and aggregate it without decoding more than
// needed. Built against an installed Basalt with find_package(basalt), see CMakeLists.txt beside this file.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/exec/pipeline.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"

using namespace basalt;

namespace {

constexpr uint64_t kRows = 1'000'000;

Schema sales_schema() {
  Field day, amount;
  day.name = "day";
  day.type = DataType{TypeKind::kDate};
  day.nullable = false;
  amount.name = "amount";
  amount.type = DataType{TypeKind::kDecimal, 9, 2, TimeUnit::kMicro};  // stored as 32-bit integers, in cents
  amount.nullable = false;
  Schema schema;
  schema.fields = {day, amount};
  number_fields(schema);
  return schema;
}

Table sales() {
  Table table;
  table.schema = sales_schema();
  table.rows = kRows;
  for (const Field& field : table.schema.fields) {
    table.columns.push_back(make_column(field));
    table.columns.back().length = kRows;
  }
  for (uint64_t row = 0; row < kRows; ++row) {
    table.columns[0].values.push(static_cast<int32_t>(19'000 + row / 1000));  // 1000 sales a day from 2022-01-08
    table.columns[1].values.push(static_cast<int32_t>(row * 7919 % 100'000));
  }
  return table;
}

Expr column(uint32_t index, Physical type) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.type = type;
  expr.column = index;
  return expr;
}

Expr literal(Physical type, int128_t value) {
  Expr expr;
  expr.op = ExprOp::kLiteral;
  expr.type = type;
  expr.literal = Value::of_integer(type, value);
  return expr;
}

// select count(*), sum(amount) where day < date '2022-01-18'
Pipeline first_ten_days(std::shared_ptr<const File> file) {
  Pipeline pipeline;
  pipeline.columns = {{0, "day", file->schema().fields[0].type}, {1, "amount", file->schema().fields[1].type}};
  pipeline.files = {std::move(file)};
  pipeline.has_filter = true;
  pipeline.filter.op = ExprOp::kLess;
  pipeline.filter.type = Physical::kU8;
  pipeline.filter.args = {column(0, Physical::kI32), literal(Physical::kI32, 19'010)};
  pipeline.aggregates.resize(2);
  pipeline.aggregates[0].op = AggregateOp::kCountStar;
  pipeline.aggregates[1].op = AggregateOp::kSum;
  pipeline.aggregates[1].arg = column(1, Physical::kI32);
  return pipeline;
}

}  // namespace

int main() {
  try {
    const std::string path = "sales.basalt";
    Writer writer(path, sales_schema());
    writer.append(sales());
    const WriteSummary summary = writer.finish();
    std::printf("%s: %llu rows, %llu bytes in, %llu bytes in the file\n", path.c_str(),
                static_cast<unsigned long long>(summary.rows), static_cast<unsigned long long>(summary.plain_bytes),
                static_cast<unsigned long long>(summary.file_bytes));
    for (const ColumnSummary& part : summary.columns)
      std::printf("  %-6s %-12s %s\n", part.path.c_str(), part.type.c_str(),
                  part.trees.empty() ? "" : part.trees[0].c_str());

    const std::shared_ptr<const File> file = File::open(path);
    ReadOptions some;
    some.columns = {"amount"};
    some.first_row = 500'000;
    some.rows = 3;
    const Table rows = read_table(*file, some);
    for (uint64_t i = 0; i < rows.rows; ++i)
      std::printf(
          "row %llu: %s\n", static_cast<unsigned long long>(some.first_row + i),
          format_value(load_value(Physical::kI32, rows.columns[0].values.as<int32_t>() + i), rows.columns[0].type)
              .c_str());

    RunReport report;
    const std::vector<Value> result = run_pipeline(first_ten_days(file), RunOptions(), &report);
    std::printf("first ten days: %s sales, %s in all; %llu of %llu tiles skipped by statistics, ran on %s\n",
                format_value(result[0], DataType{TypeKind::kInt64}).c_str(),
                format_value(result[1], DataType{TypeKind::kDecimal, 38, 2, TimeUnit::kMicro}).c_str(),
                static_cast<unsigned long long>(report.tiles.skipped),
                static_cast<unsigned long long>(report.tiles.total),
                report.ran_on == Device::kCuda ? "the GPU" : "the CPU");
    return result[0].integer == 10'000 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
