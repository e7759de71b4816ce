// Files for the tests of src/exec: random tables written with every tree shape their types allow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "exec/random_expr.h"

namespace basalt::test {

// A table in memory and the same as a file, opened. The file is removed when the object goes.
struct TestTable {
  std::vector<Column> columns;
  std::shared_ptr<const File> file;
  std::string path;
  uint64_t rows = 0;

  TestTable() = default;
  TestTable(TestTable&& other) noexcept { *this = std::move(other); }
  TestTable& operator=(TestTable&& other) noexcept {
    std::swap(columns, other.columns);
    std::swap(file, other.file);
    std::swap(path, other.path);
    std::swap(rows, other.rows);
    return *this;
  }
  ~TestTable();

  std::vector<const Column*> pointers() const;
  std::vector<PipelineColumn> pipeline_columns() const;
};

// Writes the columns (named c0, c1, …); `trees` forces encodings, an empty text leaves the choice to the writer.
TestTable write_table(std::vector<Column> columns, const std::vector<std::string>& trees = {},
                      uint64_t chunk_rows = kMaxChunkRows);

// A random column per type of all_types(), each in a random tree that can hold it.
TestTable random_table(Random& random, uint64_t rows, uint64_t chunk_rows);

// Rows of all columns as they are, of the table's file as often as asked for.
Pipeline all_columns_of(const TestTable& table, uint32_t files = 1);

template <typename T>
Column make_fixed(const DataType& type, const std::vector<T>& values) {
  Field field;
  field.type = type;
  Column column = make_column(field);
  column.length = values.size();
  column.values.append(values.data(), values.size() * sizeof(T));
  return column;
}
Column make_strings(const std::vector<std::string>& values);
void set_nulls(Column& column, const std::vector<uint64_t>& rows);

}  // namespace basalt::test
