// Types and single values across the border between DuckDB and Basalt.
#include "sql/types.h"

#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "core/distinct_names.h"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using duckdb::PhysicalType;

LogicalType to_logical_type(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kBool: return LogicalType::BOOLEAN;
    case TypeKind::kInt8: return LogicalType::TINYINT;
    case TypeKind::kInt16: return LogicalType::SMALLINT;
    case TypeKind::kInt32: return LogicalType::INTEGER;
    case TypeKind::kInt64: return LogicalType::BIGINT;
    case TypeKind::kUInt8: return LogicalType::UTINYINT;
    case TypeKind::kUInt16: return LogicalType::USMALLINT;
    case TypeKind::kUInt32: return LogicalType::UINTEGER;
    case TypeKind::kUInt64: return LogicalType::UBIGINT;
    case TypeKind::kInt128: return LogicalType::HUGEINT;
    case TypeKind::kFloat32: return LogicalType::FLOAT;
    case TypeKind::kFloat64: return LogicalType::DOUBLE;
    case TypeKind::kDecimal: return LogicalType::DECIMAL(type.precision, type.scale);
    case TypeKind::kDate: return LogicalType::DATE;
    case TypeKind::kTime: return type.unit == TimeUnit::kNano ? LogicalType::TIME_NS : LogicalType::TIME;
    case TypeKind::kTimestamp:
      switch (type.unit) {
        case TimeUnit::kSecond: return LogicalType::TIMESTAMP_S;
        case TimeUnit::kMilli: return LogicalType::TIMESTAMP_MS;
        case TimeUnit::kMicro: return LogicalType::TIMESTAMP;
        case TimeUnit::kNano: return LogicalType::TIMESTAMP_NS;
      }
      break;
    case TypeKind::kTimestampTz: return LogicalType::TIMESTAMP_TZ;
    case TypeKind::kUtf8: return LogicalType::VARCHAR;
    case TypeKind::kBinary: return LogicalType::BLOB;
    case TypeKind::kUuid: return LogicalType::UUID;
    case TypeKind::kList:
    case TypeKind::kStruct: break;
  }
  throw Error(ErrorCode::kUnsupported, "no SQL type for " + to_string(type));
}

namespace {

// `places`: values that one row has places for, where it lies in arrays. DuckDB takes memory for all of them, so that
// arrays in arrays become lists once there are too many.
LogicalType logical_type(const Field& field, uint64_t places) {
  switch (field.meaning) {
    case Meaning::kMap: {
      const std::vector<Field>& entry = field.children.at(0).children;
      return LogicalType::MAP(to_logical_type(entry.at(0)), to_logical_type(entry.at(1)));
    }
    case Meaning::kArray:
      places *= field.array_size;
      if (places > duckdb::ArrayType::MAX_ARRAY_SIZE) break;
      return LogicalType::ARRAY(logical_type(field.children.at(0), places), field.array_size);
    case Meaning::kInterval: return LogicalType::INTERVAL;
    case Meaning::kNull:
    case Meaning::kStored: break;
  }
  if (field.type.kind == TypeKind::kList) return LogicalType::LIST(to_logical_type(field.children.at(0)));
  if (field.type.kind == TypeKind::kStruct) {
    duckdb::child_list_t<LogicalType> children;
    const std::vector<std::string> names = distinct_names(field.children);
    for (size_t i = 0; i < names.size(); ++i) children.emplace_back(names[i], logical_type(field.children[i], places));
    return LogicalType::STRUCT(std::move(children));
  }
  return to_logical_type(field.type);
}

}  // namespace

LogicalType to_logical_type(const Field& field) { return logical_type(field, 1); }

bool needs_rescale(const DataType& type) {
  if (type.kind == TypeKind::kTime) return type.unit == TimeUnit::kSecond || type.unit == TimeUnit::kMilli;
  return type.kind == TypeKind::kTimestampTz && type.unit != TimeUnit::kMicro;
}

int64_t to_micros(int64_t value, TimeUnit unit) {
  int64_t factor = 1;
  switch (unit) {
    case TimeUnit::kSecond: factor = 1'000'000; break;
    case TimeUnit::kMilli: factor = 1'000; break;
    case TimeUnit::kMicro: return value;
    case TimeUnit::kNano: return value / 1'000 - (value % 1'000 < 0 ? 1 : 0);
  }
  int64_t result = 0;
  if (__builtin_mul_overflow(value, factor, &result)) {
    throw Error(ErrorCode::kOutOfRange, "a time is too large for microseconds, the unit SQL has for it");
  }
  return result;
}

LogicalType stored_type(const LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::SQLNULL: return LogicalType::INTEGER;
    case LogicalTypeId::ENUM:
    case LogicalTypeId::CHAR:
    case LogicalTypeId::VARCHAR: return LogicalType::VARCHAR;  // without an alias such as JSON
    case LogicalTypeId::ARRAY:
      return LogicalType::ARRAY(stored_type(duckdb::ArrayType::GetChildType(type)), duckdb::ArrayType::GetSize(type));
    case LogicalTypeId::MAP:
      return LogicalType::MAP(stored_type(duckdb::MapType::KeyType(type)),
                              stored_type(duckdb::MapType::ValueType(type)));
    case LogicalTypeId::LIST: return LogicalType::LIST(stored_type(duckdb::ListType::GetChildType(type)));
    case LogicalTypeId::STRUCT: {
      duckdb::child_list_t<LogicalType> children;
      for (const auto& child : duckdb::StructType::GetChildTypes(type)) {
        children.emplace_back(child.first, stored_type(child.second));
      }
      return LogicalType::STRUCT(std::move(children));
    }
    default: return type;
  }
}

namespace {

// Visits the types inside a list, an array, a map or a struct with their paths.
template <typename Visit>
void visit_children(const LogicalType& type, const std::string& path, const Visit& visit) {
  switch (type.id()) {
    case LogicalTypeId::MAP:
    case LogicalTypeId::LIST: return visit(duckdb::ListType::GetChildType(type), path + "[]");
    case LogicalTypeId::ARRAY: return visit(duckdb::ArrayType::GetChildType(type), path + "[]");
    case LogicalTypeId::STRUCT:
      for (const auto& child : duckdb::StructType::GetChildTypes(type)) visit(child.second, path + "." + child.first);
      return;
    default: return;
  }
}

}  // namespace

void note_stored_type(const LogicalType& type, const std::string& path, Notices& notices) {
  switch (type.id()) {
    case LogicalTypeId::ENUM: add_notice(&notices, path, "an enum becomes varchar"); break;
    default:
      if (type.HasAlias())
        add_notice(&notices, path,
                   duckdb::StringUtil::Lower(type.GetAlias()) + " becomes " +
                       duckdb::StringUtil::Lower(duckdb::LogicalTypeIdToString(type.id())));
  }
  visit_children(type, path, [&](const LogicalType& child, const std::string& child_path) {
    note_stored_type(child, child_path, notices);
  });
}

void note_sql_type(const Field& field, const std::string& path, Notices& notices) {
  if (field.type.kind == TypeKind::kTimestampTz && field.type.unit == TimeUnit::kNano)
    add_notice(&notices, path, "nanoseconds are cut to microseconds, the unit that SQL has for instants");
  if (field.meaning == Meaning::kInterval && field.type.unit == TimeUnit::kNano)
    add_notice(&notices, path, "nanoseconds are cut to microseconds, the unit that SQL has for intervals");
  const bool list = field.type.kind == TypeKind::kList;
  for (const Field& child : field.children) note_sql_type(child, list ? path + "[]" : path + "." + child.name, notices);
}

void note_parquet_type(const LogicalType& type, const std::string& path, Notices& notices) {
  if (type.id() == LogicalTypeId::HUGEINT || type.id() == LogicalTypeId::UHUGEINT)
    add_notice(&notices, path, "128-bit integers become double in Parquet: digits behind the 15th are lost");
  if (type.id() == LogicalTypeId::TIME_NS) add_notice(&notices, path, "times in nanoseconds become text in Parquet");
  if (type.id() == LogicalTypeId::INTERVAL)
    add_notice(&notices, path, "intervals have milliseconds in Parquet: finer parts are lost");
  if (type.id() == LogicalTypeId::ARRAY)
    add_notice(&notices, path, "arrays of a fixed size become lists of any size in Parquet");
  visit_children(type, path, [&](const LogicalType& child, const std::string& child_path) {
    note_parquet_type(child, child_path, notices);
  });
}

namespace {

// Nesting is bounded by the format; deeper types are refused like unknown ones.
constexpr int kMaxDepth = 64;

bool fill_field(const LogicalType& type, const std::string& path, int depth, Field& field, std::string& refused) {
  const auto refuse = [&] {
    if (!refused.empty()) refused += ", ";
    refused += path + " (" + type.ToString() + ")";
    return false;
  };
  if (depth > kMaxDepth) return refuse();
  const auto set = [&](TypeKind kind, TimeUnit unit = TimeUnit::kMicro) {
    field.type = DataType{.kind = kind, .unit = unit};
    return true;
  };
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN: return set(TypeKind::kBool);
    case LogicalTypeId::TINYINT: return set(TypeKind::kInt8);
    case LogicalTypeId::SMALLINT: return set(TypeKind::kInt16);
    case LogicalTypeId::INTEGER: return set(TypeKind::kInt32);
    case LogicalTypeId::BIGINT: return set(TypeKind::kInt64);
    case LogicalTypeId::UTINYINT: return set(TypeKind::kUInt8);
    case LogicalTypeId::USMALLINT: return set(TypeKind::kUInt16);
    case LogicalTypeId::UINTEGER: return set(TypeKind::kUInt32);
    case LogicalTypeId::UBIGINT: return set(TypeKind::kUInt64);
    case LogicalTypeId::HUGEINT: return set(TypeKind::kInt128);
    case LogicalTypeId::FLOAT: return set(TypeKind::kFloat32);
    case LogicalTypeId::DOUBLE: return set(TypeKind::kFloat64);
    case LogicalTypeId::DATE: return set(TypeKind::kDate);
    case LogicalTypeId::TIME: return set(TypeKind::kTime);
    case LogicalTypeId::TIME_NS: return set(TypeKind::kTime, TimeUnit::kNano);
    case LogicalTypeId::TIMESTAMP_SEC: return set(TypeKind::kTimestamp, TimeUnit::kSecond);
    case LogicalTypeId::TIMESTAMP_MS: return set(TypeKind::kTimestamp, TimeUnit::kMilli);
    case LogicalTypeId::TIMESTAMP: return set(TypeKind::kTimestamp);
    case LogicalTypeId::TIMESTAMP_NS: return set(TypeKind::kTimestamp, TimeUnit::kNano);
    case LogicalTypeId::TIMESTAMP_TZ: return set(TypeKind::kTimestampTz);
    case LogicalTypeId::VARCHAR: return set(TypeKind::kUtf8);
    case LogicalTypeId::BLOB: return set(TypeKind::kBinary);
    case LogicalTypeId::UUID: return set(TypeKind::kUuid);
    case LogicalTypeId::DECIMAL:
      field.type = DataType{.kind = TypeKind::kDecimal,
                            .precision = duckdb::DecimalType::GetWidth(type),
                            .scale = duckdb::DecimalType::GetScale(type)};
      return true;
    case LogicalTypeId::INTERVAL: make_interval(field, TimeUnit::kMicro); return true;
    case LogicalTypeId::ARRAY:
      set(TypeKind::kList);
      field.meaning = Meaning::kArray;
      field.array_size = static_cast<uint32_t>(duckdb::ArrayType::GetSize(type));
      field.children.emplace_back().name = "element";
      return fill_field(duckdb::ArrayType::GetChildType(type), path + "[]", depth + 1, field.children[0], refused);
    case LogicalTypeId::MAP:
      set(TypeKind::kList);
      field.meaning = Meaning::kMap;
      field.children.emplace_back().name = "entries";
      return fill_field(duckdb::ListType::GetChildType(type), path + "[]", depth + 1, field.children[0], refused);
    case LogicalTypeId::LIST: {
      set(TypeKind::kList);
      Field& child = field.children.emplace_back();
      child.name = "element";
      return fill_field(duckdb::ListType::GetChildType(type), path + "[]", depth + 1, child, refused);
    }
    case LogicalTypeId::STRUCT: {
      set(TypeKind::kStruct);
      bool good = true;
      for (const auto& entry : duckdb::StructType::GetChildTypes(type)) {
        Field& child = field.children.emplace_back();
        child.name = entry.first;
        good = fill_field(entry.second, path + "." + entry.first, depth + 1, child, refused) && good;
      }
      return good;
    }
    default: return refuse();
  }
}

}  // namespace

Schema to_schema(const duckdb::vector<duckdb::string>& names, const duckdb::vector<LogicalType>& types,
                 Notices* notices) {
  Schema schema;
  std::string refused;
  for (size_t i = 0; i < names.size(); ++i) {
    Field& field = schema.fields.emplace_back();
    field.name = names[i];
    fill_field(types[i], names[i], 0, field, refused);
  }
  if (!refused.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "these columns have types that a .basalt file cannot hold: " + refused + "; cast them, to VARCHAR say");
  }
  make_names_distinct(schema.fields, notices);
  number_fields(schema);
  return schema;
}

Physical to_physical(PhysicalType type) {
  switch (type) {
    case PhysicalType::BOOL:
    case PhysicalType::UINT8: return Physical::kU8;
    case PhysicalType::UINT16: return Physical::kU16;
    case PhysicalType::UINT32: return Physical::kU32;
    case PhysicalType::UINT64: return Physical::kU64;
    case PhysicalType::INT8: return Physical::kI8;
    case PhysicalType::INT16: return Physical::kI16;
    case PhysicalType::INT32: return Physical::kI32;
    case PhysicalType::INT64: return Physical::kI64;
    case PhysicalType::INT128: return Physical::kI128;
    case PhysicalType::FLOAT: return Physical::kF32;
    case PhysicalType::DOUBLE: return Physical::kF64;
    case PhysicalType::VARCHAR: return Physical::kBytes;
    default: return Physical::kNone;
  }
}

int128_t to_int128(duckdb::hugeint_t value) {
  return static_cast<int128_t>((static_cast<uint128_t>(static_cast<uint64_t>(value.upper)) << 64) | value.lower);
}

duckdb::hugeint_t to_hugeint(int128_t value) {
  return duckdb::hugeint_t(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
}

std::optional<Value> to_value(const duckdb::Value& value, Physical physical) {
  const PhysicalType type = value.type().InternalType();
  if (value.IsNull() || to_physical(type) != physical) return std::nullopt;
  switch (type) {
    case PhysicalType::BOOL: return Value::of_integer(physical, value.GetValueUnsafe<bool>() ? 1 : 0);
    case PhysicalType::UINT8: return Value::of_integer(physical, value.GetValueUnsafe<uint8_t>());
    case PhysicalType::UINT16: return Value::of_integer(physical, value.GetValueUnsafe<uint16_t>());
    case PhysicalType::UINT32: return Value::of_integer(physical, value.GetValueUnsafe<uint32_t>());
    case PhysicalType::UINT64: return Value::of_integer(physical, value.GetValueUnsafe<uint64_t>());
    case PhysicalType::INT8: return Value::of_integer(physical, value.GetValueUnsafe<int8_t>());
    case PhysicalType::INT16: return Value::of_integer(physical, value.GetValueUnsafe<int16_t>());
    case PhysicalType::INT32: return Value::of_integer(physical, value.GetValueUnsafe<int32_t>());
    case PhysicalType::INT64: return Value::of_integer(physical, value.GetValueUnsafe<int64_t>());
    case PhysicalType::INT128: return Value::of_integer(physical, to_int128(value.GetValueUnsafe<duckdb::hugeint_t>()));
    case PhysicalType::FLOAT: return Value::of_real(physical, value.GetValueUnsafe<float>());
    case PhysicalType::DOUBLE: return Value::of_real(physical, value.GetValueUnsafe<double>());
    case PhysicalType::VARCHAR: return Value::of_bytes(duckdb::StringValue::Get(value));
    default: return std::nullopt;
  }
}

duckdb::Value to_duckdb_value(const Value& value, const LogicalType& type) {
  if (value.null) return duckdb::Value(type);
  duckdb::Value plain;
  switch (type.InternalType()) {
    case PhysicalType::BOOL: return duckdb::Value::BOOLEAN(value.integer != 0);
    case PhysicalType::UINT8: plain = duckdb::Value::UTINYINT(static_cast<uint8_t>(value.integer)); break;
    case PhysicalType::UINT16: plain = duckdb::Value::USMALLINT(static_cast<uint16_t>(value.integer)); break;
    case PhysicalType::UINT32: plain = duckdb::Value::UINTEGER(static_cast<uint32_t>(value.integer)); break;
    case PhysicalType::UINT64: plain = duckdb::Value::UBIGINT(static_cast<uint64_t>(value.integer)); break;
    case PhysicalType::INT8: plain = duckdb::Value::TINYINT(static_cast<int8_t>(value.integer)); break;
    case PhysicalType::INT16: plain = duckdb::Value::SMALLINT(static_cast<int16_t>(value.integer)); break;
    case PhysicalType::INT32: plain = duckdb::Value::INTEGER(static_cast<int32_t>(value.integer)); break;
    case PhysicalType::INT64: plain = duckdb::Value::BIGINT(static_cast<int64_t>(value.integer)); break;
    case PhysicalType::INT128: plain = duckdb::Value::HUGEINT(to_hugeint(value.integer)); break;
    case PhysicalType::FLOAT: return duckdb::Value::FLOAT(static_cast<float>(value.real));
    case PhysicalType::DOUBLE: return duckdb::Value::DOUBLE(value.real);
    case PhysicalType::VARCHAR:
      if (type.id() == LogicalTypeId::BLOB) return duckdb::Value::BLOB_RAW(value.bytes);
      return duckdb::Value(value.bytes);
    default: throw Error(ErrorCode::kInternal, "no constant of type " + type.ToString());
  }
  plain.Reinterpret(type);
  return plain;
}

}  // namespace basalt::sql

namespace basalt {

void note_sql_types(const Schema& schema, Notices& notices) {
  for (const Field& field : schema.fields) sql::note_sql_type(field, field.name, notices);
}

}  // namespace basalt
