// Basalt as a library: write a table, read some rows, then filter and aggregate it without decoding more than needed.
// Built against an installed Basalt with find_package(basalt), see CMakeLists.txt beside this file.
#include <basalt/basalt.h>

#include <iostream>

using namespace basalt;

int main() try {
  // A thousand sales a day, from 2022-01-08 on; amounts in cents.
  std::vector<int32_t> days;
  std::vector<int32_t> amounts;
  for (int64_t i = 0; i < 1'000'000; ++i) {
    days.push_back(static_cast<int32_t>(19'000 + i / 1000));
    amounts.push_back(static_cast<int32_t>(i * 7919 % 100'000));
  }
  Table sales;
  sales.add("day", DataType::date(), days).add("amount", DataType::decimal(9, 2), amounts);
  const WriteSummary written = write_table("sales.basalt", std::move(sales));
  std::cout << written.plain_bytes << " bytes became " << written.file_bytes << "\n";
  for (const ColumnSummary& part : written.columns) {
    std::cout << "  " << part.path << " " << part.type << ": " << part.trees.front() << "\n";
  }

  const auto file = File::open("sales.basalt");
  const Table rows = read_table(*file, {.columns = {"amount"}, .first_row = 500'000, .rows = 3});
  for (const int32_t cents : rows.columns[0].values.span<int32_t>()) std::cout << cents << " cents\n";

  // select count(*), sum(amount) from sales where day < date '2022-01-18'
  Pipeline query;
  query.files = {file};
  query.has_filter = true;
  query.filter = less(column(*file, "day", query.columns), literal(int64_t{19'010}));
  query.aggregates = {count_rows(), sum(column(*file, "amount", query.columns))};
  RunReport report;
  const std::vector<Value> result = run_pipeline(query, {}, &report);
  std::cout << "first ten days: " << format_value(result[0], DataType::bigint()) << " sales, "
            << format_value(result[1], DataType::decimal(38, 2)) << " in all; " << report.tiles.skipped << " of "
            << report.tiles.total << " tiles skipped by statistics, ran on "
            << (report.ran_on == Device::kCuda ? "the GPU" : "the CPU") << "\n";
  return result[0].integer == 10'000 ? 0 : 1;
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
