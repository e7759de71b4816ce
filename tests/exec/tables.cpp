#include "exec/tables.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>

#include "core/bitmap.h"

namespace basalt::test {

TestTable::~TestTable() {
  file.reset();
  if (!path.empty()) std::remove(path.c_str());
}

std::vector<const Column*> TestTable::pointers() const {
  std::vector<const Column*> out;
  for (const Column& column : columns) out.push_back(&column);
  return out;
}

std::vector<PipelineColumn> TestTable::pipeline_columns() const {
  std::vector<PipelineColumn> out;
  for (const Field& field : file->schema().fields) out.push_back({field.id, field.name, field.type});
  return out;
}

TestTable write_table(std::vector<Column> columns, const std::vector<std::string>& trees, uint64_t chunk_rows) {
  static std::atomic<int> counter{0};
  TestTable out;
  out.path = (std::filesystem::temp_directory_path() /
              ("basalt_exec_" + std::to_string(getpid()) + "_" + std::to_string(counter++) + ".basalt"))
                 .string();
  Table table;
  WriteOptions options;
  options.threads = 1;
  options.chunk_rows = chunk_rows;
  options.chunk_bytes = 256 << 20;  // rows alone decide
  table.rows = columns.empty() ? 0 : columns[0].length;
  for (size_t i = 0; i < columns.size(); ++i) {
    Field field;
    field.name = "c" + std::to_string(i);
    field.type = columns[i].type;
    table.schema.fields.push_back(field);
    if (i < trees.size() && !trees[i].empty()) options.encodings[field.name] = parse_tree(trees[i]);
  }
  number_fields(table.schema);
  table.columns = std::move(columns);
  Writer writer(out.path, table.schema, options);
  writer.append(table);
  writer.finish();
  out.columns = std::move(table.columns);
  out.rows = table.rows;
  out.file = File::open(out.path);
  return out;
}

namespace {

std::string random_tree(Random& random, Physical type) {
  static const std::vector<std::string> kIntegers = {"",
                                                     "plain",
                                                     "packed",
                                                     "dict(packed, plain)",
                                                     "dict(rle(packed, packed), packed)",
                                                     "rle(packed, packed)",
                                                     "rle(plain, plain)",
                                                     "rle(dict(packed, plain), packed)",
                                                     "delta(packed)",
                                                     "dict(packed, packed)",
                                                     "delta(rle(packed, packed))"};
  static const std::vector<std::string> kFloats = {"", "plain", "dict(packed, plain)", "rle(plain, packed)",
                                                   "rle(dict(packed, plain), packed)"};
  static const std::vector<std::string> kStrings = {"",
                                                    "strings(packed, plain)",
                                                    "dict(packed, strings(packed, plain))",
                                                    "dict(rle(packed, packed), strings(packed, plain))",
                                                    "strings(dict(packed, plain), plain)",
                                                    "strings(packed, fsst(packed))",
                                                    "dict(packed, strings(packed, fsst(packed)))"};
  const auto& trees = type == Physical::kBytes ? kStrings : is_float(type) ? kFloats : kIntegers;
  return trees[below(random, trees.size())];
}

}  // namespace

TestTable random_table(Random& random, uint64_t rows, uint64_t chunk_rows) {
  std::vector<Column> columns;
  std::vector<std::string> trees;
  for (const DataType& type : all_types()) {
    columns.push_back(random_column(random, type, rows));
    // Ranges of 128-bit values may not fit `packed`; those columns are left to the writer.
    const bool wide = physical_of(type) == Physical::kI128;
    trees.push_back(wide ? "" : random_tree(random, physical_of(type)));
  }
  return write_table(std::move(columns), trees, chunk_rows);
}

Column make_strings(const std::vector<std::string>& values) {
  Field field;
  field.type = {TypeKind::kUtf8};
  Column column = make_column(field);
  column.length = values.size();
  for (const std::string& value : values) {
    column.bytes.append(value.data(), value.size());
    column.offsets.push(static_cast<int64_t>(column.bytes.size()));
  }
  return column;
}

void set_nulls(Column& column, const std::vector<uint64_t>& rows) {
  column.validity.resize((column.length + 7) / 8);
  set_bits(column.validity.as<uint8_t>(), 0, column.validity.size() * 8, true);
  for (const uint64_t row : rows) put_bit(column.validity.as<uint8_t>(), row, false);
  column.null_count = rows.size();
}

Pipeline all_columns_of(const TestTable& table, uint32_t files) {
  Pipeline pipeline;
  pipeline.files.assign(files, table.file);
  pipeline.columns = table.pipeline_columns();
  pipeline.sink = Sink::kRows;
  for (uint32_t i = 0; i < table.columns.size(); ++i) {
    pipeline.rows.push_back(column_expr(i, physical_of(table.columns[i].type)));
    Field field;
    field.name = pipeline.columns[i].name;
    field.type = table.columns[i].type;
    pipeline.output.push_back(field);
  }
  return pipeline;
}

}  // namespace basalt::test
