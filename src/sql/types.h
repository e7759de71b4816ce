// Types and single values across the border: DuckDB's logical types to Basalt's fields and back. Values have the same
// physical form on both sides, except where a unit has no DuckDB type of its own (see needs_rescale).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "basalt/core/notices.h"
#include "basalt/core/types.h"
#include "basalt/core/value.h"
#include "duckdb.hpp"

namespace basalt::sql {

duckdb::LogicalType to_logical_type(const Field& field);
duckdb::LogicalType to_logical_type(const DataType& type);

// DuckDB has one unit for TIME and for TIMESTAMP WITH TIME ZONE; other units are converted to microseconds when read,
// so that filters on them cannot run on the stored values.
bool needs_rescale(const DataType& type);
int64_t to_micros(int64_t value, TimeUnit unit);

// What is stored for a type that has a close relative: ENUM → VARCHAR, NULL → INTEGER; else the type itself.
duckdb::LogicalType stored_type(const duckdb::LogicalType& type);
// Notes where the stored type says less than the type itself.
void note_stored_type(const duckdb::LogicalType& type, const std::string& path, Notices& notices);
// Notes where SQL's type for a stored field says less than the field: instants finer than microseconds.
void note_sql_type(const Field& field, const std::string& path, Notices& notices);
// Notes what DuckDB writes to Parquet as another type.
void note_parquet_type(const duckdb::LogicalType& type, const std::string& path, Notices& notices);

// A schema for these columns, which must be stored types. All columns that cannot be held are named in one
// Error(kUnsupported).
Schema to_schema(const duckdb::vector<duckdb::string>& names, const duckdb::vector<duckdb::LogicalType>& types,
                 Notices* notices = nullptr);

Physical to_physical(duckdb::PhysicalType type);  // kNone where there is none

// A non-NULL constant as a value of this physical type; nullopt if it has another form.
std::optional<Value> to_value(const duckdb::Value& value, Physical physical);
duckdb::Value to_duckdb_value(const Value& value, const duckdb::LogicalType& type);

int128_t to_int128(duckdb::hugeint_t value);
duckdb::hugeint_t to_hugeint(int128_t value);

}  // namespace basalt::sql
