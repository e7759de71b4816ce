// Logical types of columns and the physical forms their values take in memory and in streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace basalt {

// Numbers are part of the file format: never reorder, only append.
enum class TypeKind : uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kInt128 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kDecimal = 13,      // precision 1..38; stored in the narrowest of 2, 4, 8, 16 bytes that holds the precision
  kDate = 14,         // days since 1970-01-01, int32
  kTime = 15,         // units since midnight, int64
  kTimestamp = 16,    // units since 1970-01-01 00:00:00, no zone, int64
  kTimestampTz = 17,  // the same, an instant in UTC
  kUtf8 = 18,
  kBinary = 19,
  kUuid = 20,  // int128: the big-endian number minus 2^127, so that signed order is byte order
  kList = 21,
  kStruct = 22,
};

// What a field is beyond how it is stored. Numbers are part of the file format: only append. Whoever does not know one
// sees what is stored.
enum class Meaning : uint8_t {
  kStored = 0,
  kMap = 1,       // a list of struct(key, value); keys are not NULL
  kArray = 2,     // a list, each of Field::array_size elements
  kInterval = 3,  // a struct of months, days (32 bits) and parts of a day (64 bits) in microseconds or nanoseconds
  kNull = 4,      // 32-bit integers that are all NULL
};

enum class TimeUnit : uint8_t { kSecond = 0, kMilli = 1, kMicro = 2, kNano = 3 };

// How one value is represented in memory: the type that codecs work on.
enum class Physical : uint8_t {
  kNone = 0,  // struct: no values of its own
  kU8 = 1,    // bool too: one byte, 0 or 1
  kU16 = 2,
  kU32 = 3,
  kU64 = 4,
  kI8 = 5,
  kI16 = 6,
  kI32 = 7,
  kI64 = 8,
  kI128 = 9,
  kF32 = 10,
  kF64 = 11,
  kBytes = 12,  // variable length
};

struct DataType {
  TypeKind kind = TypeKind::kInt64;
  uint8_t precision = 0;  // decimal
  uint8_t scale = 0;      // decimal
  TimeUnit unit = TimeUnit::kMicro;

  static DataType integer() { return {TypeKind::kInt32}; }
  static DataType bigint() { return {TypeKind::kInt64}; }
  static DataType real() { return {TypeKind::kFloat64}; }
  static DataType date() { return {TypeKind::kDate}; }            // days since 1970, 32 bits
  static DataType timestamp() { return {TypeKind::kTimestamp}; }  // microseconds since 1970
  static DataType varchar() { return {TypeKind::kUtf8}; }
  // Up to 9 digits are integers of 32 bits, up to 18 of 64, up to 38 of 128.
  static DataType decimal(uint8_t digits, uint8_t behind_point) { return {TypeKind::kDecimal, digits, behind_point}; }

  bool operator==(const DataType&) const = default;
};

struct Field {
  std::string name;
  DataType type;
  bool nullable = true;
  uint32_t id = 0;              // stable: position in a depth-first walk of the schema at creation
  std::vector<Field> children;  // list: exactly one; struct: any number
  Meaning meaning = Meaning::kStored;
  uint32_t array_size = 0;  // kArray: at least 1

  bool operator==(const Field&) const = default;
};

// Whether type, children and size are those that the meaning is stored as.
bool fits_meaning(const Field& field);
// Makes the field an interval; `unit` is kMicro or kNano.
void make_interval(Field& field, TimeUnit unit);

struct Schema {
  std::vector<Field> fields;
  bool operator==(const Schema&) const = default;
};

Physical physical_of(const DataType& type);
// List lengths are what a list column itself stores.
constexpr Physical kListPhysical = Physical::kU32;

uint32_t width_of(Physical physical);  // bytes per value; 0 for kNone and kBytes
bool is_signed(Physical physical);     // kI8 … kI128
bool is_float(Physical physical);
bool is_integer(Physical physical);  // every fixed-width non-float
const char* to_string(Physical physical);
const char* words_for(Physical physical);  // "32-bit integers": for messages

// "bigint", "decimal(15,2)", "struct(a integer, b varchar)": SQL names, as DuckDB spells them, in lower case.
std::string to_string(const Field& field);
std::string to_string(const DataType& type);

// Depth-first list of all fields, each the owner of one encoded column. Index = Field::id after number_fields().
void number_fields(Schema& schema);
std::vector<const Field*> flatten(const Schema& schema);

}  // namespace basalt
