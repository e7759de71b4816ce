// Physical forms, widths and names of types.
#include "basalt/core/types.h"

namespace basalt {

Physical physical_of(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kBool: return Physical::kU8;
    case TypeKind::kInt8: return Physical::kI8;
    case TypeKind::kInt16: return Physical::kI16;
    case TypeKind::kInt32: return Physical::kI32;
    case TypeKind::kInt64: return Physical::kI64;
    case TypeKind::kUInt8: return Physical::kU8;
    case TypeKind::kUInt16: return Physical::kU16;
    case TypeKind::kUInt32: return Physical::kU32;
    case TypeKind::kUInt64: return Physical::kU64;
    case TypeKind::kInt128: return Physical::kI128;
    case TypeKind::kFloat32: return Physical::kF32;
    case TypeKind::kFloat64: return Physical::kF64;
    case TypeKind::kDecimal:
      if (type.precision <= 4) return Physical::kI16;
      if (type.precision <= 9) return Physical::kI32;
      if (type.precision <= 18) return Physical::kI64;
      return Physical::kI128;
    case TypeKind::kDate: return Physical::kI32;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz: return Physical::kI64;
    case TypeKind::kUtf8:
    case TypeKind::kBinary: return Physical::kBytes;
    case TypeKind::kUuid: return Physical::kI128;
    case TypeKind::kList: return kListPhysical;
    case TypeKind::kStruct: return Physical::kNone;
  }
  return Physical::kNone;
}

uint32_t width_of(Physical physical) {
  switch (physical) {
    case Physical::kU8:
    case Physical::kI8: return 1;
    case Physical::kU16:
    case Physical::kI16: return 2;
    case Physical::kU32:
    case Physical::kI32:
    case Physical::kF32: return 4;
    case Physical::kU64:
    case Physical::kI64:
    case Physical::kF64: return 8;
    case Physical::kI128: return 16;
    case Physical::kNone:
    case Physical::kBytes: return 0;
  }
  return 0;
}

bool is_signed(Physical physical) { return physical >= Physical::kI8 && physical <= Physical::kI128; }
bool is_float(Physical physical) { return physical == Physical::kF32 || physical == Physical::kF64; }
bool is_integer(Physical physical) { return physical >= Physical::kU8 && physical <= Physical::kI128; }

const char* to_string(Physical physical) {
  switch (physical) {
    case Physical::kNone: return "none";
    case Physical::kU8: return "u8";
    case Physical::kU16: return "u16";
    case Physical::kU32: return "u32";
    case Physical::kU64: return "u64";
    case Physical::kI8: return "i8";
    case Physical::kI16: return "i16";
    case Physical::kI32: return "i32";
    case Physical::kI64: return "i64";
    case Physical::kI128: return "i128";
    case Physical::kF32: return "f32";
    case Physical::kF64: return "f64";
    case Physical::kBytes: return "bytes";
  }
  return "unknown";
}

const char* words_for(Physical physical) {
  switch (physical) {
    case Physical::kNone: return "structs";
    case Physical::kU8: return "unsigned 8-bit integers";
    case Physical::kU16: return "unsigned 16-bit integers";
    case Physical::kU32: return "unsigned 32-bit integers";
    case Physical::kU64: return "unsigned 64-bit integers";
    case Physical::kI8: return "8-bit integers";
    case Physical::kI16: return "16-bit integers";
    case Physical::kI32: return "32-bit integers";
    case Physical::kI64: return "64-bit integers";
    case Physical::kI128: return "128-bit integers";
    case Physical::kF32: return "32-bit floats";
    case Physical::kF64: return "64-bit floats";
    case Physical::kBytes: return "strings";
  }
  return "unknown values";
}

namespace {

const char* timestamp_suffix(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSecond: return "_s";
    case TimeUnit::kMilli: return "_ms";
    case TimeUnit::kMicro: return "";
    case TimeUnit::kNano: return "_ns";
  }
  return "";
}

}  // namespace

std::string to_string(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kBool: return "boolean";
    case TypeKind::kInt8: return "tinyint";
    case TypeKind::kInt16: return "smallint";
    case TypeKind::kInt32: return "integer";
    case TypeKind::kInt64: return "bigint";
    case TypeKind::kUInt8: return "utinyint";
    case TypeKind::kUInt16: return "usmallint";
    case TypeKind::kUInt32: return "uinteger";
    case TypeKind::kUInt64: return "ubigint";
    case TypeKind::kInt128: return "hugeint";
    case TypeKind::kFloat32: return "float";
    case TypeKind::kFloat64: return "double";
    case TypeKind::kDecimal:
      return "decimal(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
    case TypeKind::kDate: return "date";
    case TypeKind::kTime: return std::string("time") + timestamp_suffix(type.unit);
    case TypeKind::kTimestamp: return std::string("timestamp") + timestamp_suffix(type.unit);
    case TypeKind::kTimestampTz: return std::string("timestamp") + timestamp_suffix(type.unit) + " with time zone";
    case TypeKind::kUtf8: return "varchar";
    case TypeKind::kBinary: return "blob";
    case TypeKind::kUuid: return "uuid";
    case TypeKind::kList: return "list";
    case TypeKind::kStruct: return "struct";
  }
  return "unknown";
}

bool fits_meaning(const Field& field) {
  const auto is = [](const Field& of, TypeKind kind) {
    return of.type.kind == kind && of.meaning == Meaning::kStored && of.children.empty();
  };
  switch (field.meaning) {
    case Meaning::kStored: return true;
    case Meaning::kMap: {
      if (field.type.kind != TypeKind::kList || field.children.size() != 1) return false;
      const Field& entry = field.children[0];
      return entry.type.kind == TypeKind::kStruct && entry.meaning == Meaning::kStored && entry.children.size() == 2;
    }
    case Meaning::kArray: return field.type.kind == TypeKind::kList && field.array_size >= 1;
    case Meaning::kInterval:
      return field.type.kind == TypeKind::kStruct && field.children.size() == 3 &&
             (field.type.unit == TimeUnit::kMicro || field.type.unit == TimeUnit::kNano) &&
             is(field.children[0], TypeKind::kInt32) && is(field.children[1], TypeKind::kInt32) &&
             is(field.children[2], TypeKind::kInt64);
    case Meaning::kNull: return field.type.kind == TypeKind::kInt32;
  }
  return false;
}

void make_interval(Field& field, TimeUnit unit) {
  field.type = {TypeKind::kStruct, 0, 0, unit};
  field.meaning = Meaning::kInterval;
  field.children.resize(3);
  const char* names[] = {"months", "days", unit == TimeUnit::kNano ? "nanos" : "micros"};
  for (size_t i = 0; i < 3; ++i) {
    field.children[i].name = names[i];
    field.children[i].type.kind = i < 2 ? TypeKind::kInt32 : TypeKind::kInt64;
  }
}

std::string to_string(const Field& field) {
  switch (field.meaning) {
    case Meaning::kStored: break;
    case Meaning::kMap:
      return "map(" + to_string(field.children[0].children[0]) + ", " + to_string(field.children[0].children[1]) + ")";
    case Meaning::kArray: return to_string(field.children[0]) + "[" + std::to_string(field.array_size) + "]";
    case Meaning::kInterval: return "interval";
    case Meaning::kNull: return "null";
  }
  if (field.type.kind == TypeKind::kList && field.children.size() == 1) return to_string(field.children[0]) + "[]";
  if (field.type.kind != TypeKind::kStruct) return to_string(field.type);
  std::string text = "struct(";
  for (size_t i = 0; i < field.children.size(); ++i) {
    if (i > 0) text += ", ";
    text += field.children[i].name + " " + to_string(field.children[i]);
  }
  return text + ")";
}

namespace {

template <typename FieldType, typename Visit>
void walk(FieldType& field, const Visit& visit) {
  visit(field);
  for (auto& child : field.children) walk(child, visit);
}

}  // namespace

void number_fields(Schema& schema) {
  uint32_t next = 0;
  for (Field& field : schema.fields) walk(field, [&](Field& f) { f.id = next++; });
}

std::vector<const Field*> flatten(const Schema& schema) {
  std::vector<const Field*> all;
  for (const Field& field : schema.fields) walk(field, [&](const Field& f) { all.push_back(&f); });
  return all;
}

}  // namespace basalt
