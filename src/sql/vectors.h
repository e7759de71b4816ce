// Rows across the border: DuckDB's vectors to columns and back, by copying whole arrays where both sides lay them out
// the same way.
#pragma once

#include <memory>

#include "basalt/codec/codec.h"
#include "basalt/core/column.h"
#include "duckdb.hpp"

namespace basalt::sql {

// Fills `out`, a flat vector of to_logical_type(field), with the column's rows. Strings are not copied: the vector
// takes the column's bytes over. Strings that are not UTF-8 in a VARCHAR column are Error(kCorrupt).
void fill_vector(Column&& column, const Field& field, duckdb::Vector& out);

// The same for strings of which half or more are empty, as a vector over a dictionary of the others: DuckDB then hashes
// and compares the empty one once. False if that does not hold; the column is as it was.
bool fill_filled_strings(Column& column, const Field& field, duckdb::Vector& out);

// Makes `out` a flat vector of rows [begin, end) of a table's column; `begin` is a multiple of 64. Values and the bytes
// of strings are not copied where DuckDB lays them out as we do: the vector keeps the table alive.
void refer_to_rows(const std::shared_ptr<const Table>& table, size_t column, uint64_t begin, uint64_t end,
                   duckdb::Vector& out);

// The strings of a list as a dictionary, which many vectors share; NULL stands behind the last.
duckdb::buffer_ptr<duckdb::VectorChildBuffer> make_dictionary(const StringRows& entries,
                                                              const duckdb::LogicalType& type);
// Makes `out` a vector over that dictionary: the column's values are places in it.
void fill_codes(const Column& column, const duckdb::buffer_ptr<duckdb::VectorChildBuffer>& dictionary,
                duckdb::Vector& out);

// Appends rows of a vector whose type is the stored type of `field`.
void append_vector(Column& column, const Field& field, duckdb::Vector& vector, uint64_t rows);

// Collects chunks of any types into tables of a schema, casting columns whose type is not the stored one.
class TableBuilder {
 public:
  // `types` are those of the chunks.
  TableBuilder(const Schema& schema, const duckdb::vector<duckdb::LogicalType>& types);

  void append(duckdb::DataChunk& chunk);
  uint64_t rows() const { return table_.rows; }
  uint64_t plain_bytes() const;
  // Hands the rows over and starts again.
  Table take();

 private:
  void start();
  void reserve_like(const Table& last);

  Schema schema_;
  duckdb::vector<duckdb::LogicalType> stored_;
  std::vector<bool> cast_;
  Table table_;
};

}  // namespace basalt::sql
