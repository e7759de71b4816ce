// Random tables with a column of every type, nested ones included, for tests at the Arrow border.
#pragma once

#include <cstring>
#include <random>
#include <string>

#include "basalt/core/column.h"
#include "basalt/core/host_device.h"

namespace basalt::test {

inline Field field(std::string name, DataType type, std::vector<Field> children = {}) {
  Field out;
  out.name = std::move(name);
  out.type = type;
  out.children = std::move(children);
  return out;
}

inline Schema every_type() {
  const auto simple = [](const char* name, TypeKind kind) { return field(name, DataType{kind}); };
  Schema schema;
  schema.fields = {
      simple("flag", TypeKind::kBool),   simple("i8", TypeKind::kInt8),     simple("i16", TypeKind::kInt16),
      simple("i32", TypeKind::kInt32),   simple("i64", TypeKind::kInt64),   simple("u8", TypeKind::kUInt8),
      simple("u16", TypeKind::kUInt16),  simple("u32", TypeKind::kUInt32),  simple("u64", TypeKind::kUInt64),
      simple("i128", TypeKind::kInt128), simple("f32", TypeKind::kFloat32), simple("f64", TypeKind::kFloat64),
      simple("date", TypeKind::kDate),   simple("text", TypeKind::kUtf8),   simple("blob", TypeKind::kBinary),
      simple("uuid", TypeKind::kUuid)};
  for (const int precision : {4, 9, 18, 38})
    schema.fields.push_back(field("decimal" + std::to_string(precision),
                                  DataType{TypeKind::kDecimal, static_cast<uint8_t>(precision), 2, TimeUnit::kMicro}));
  for (const TimeUnit unit : {TimeUnit::kSecond, TimeUnit::kMilli, TimeUnit::kMicro, TimeUnit::kNano})
    for (const TypeKind kind : {TypeKind::kTime, TypeKind::kTimestamp, TypeKind::kTimestampTz})
      schema.fields.push_back(field("t" + std::to_string(schema.fields.size()), DataType{kind, 0, 0, unit}));
  schema.fields.push_back(field("list", DataType{TypeKind::kList}, {simple("item", TypeKind::kInt32)}));
  schema.fields.push_back(field(
      "nested", DataType{TypeKind::kStruct},
      {simple("a", TypeKind::kUtf8), field("b", DataType{TypeKind::kList}, {simple("item", TypeKind::kFloat64)})}));
  number_fields(schema);
  return schema;
}

// Fields that mean more than they are stored as.
inline Schema every_meaning() {
  const auto simple = [](const char* name, TypeKind kind) { return field(name, DataType{kind}); };
  Schema schema;
  Field entries = field(
      "entries", DataType{TypeKind::kStruct},
      {simple("key", TypeKind::kUtf8), field("value", DataType{TypeKind::kList}, {simple("item", TypeKind::kInt16)})});
  entries.nullable = entries.children[0].nullable = false;
  Field map = field("map", DataType{TypeKind::kList}, {entries});
  map.meaning = Meaning::kMap;
  Field array = field("array", DataType{TypeKind::kList}, {simple("item", TypeKind::kFloat32)});
  array.meaning = Meaning::kArray;
  array.array_size = 3;
  Field interval;
  interval.name = "interval";
  make_interval(interval, TimeUnit::kNano);
  Field nothing = simple("nothing", TypeKind::kInt32);
  nothing.meaning = Meaning::kNull;
  schema.fields = {map, array, interval, nothing,
                   field("inside", DataType{TypeKind::kStruct}, {map, array, interval, nothing})};
  number_fields(schema);
  return schema;
}

// Values under a NULL are zero or empty, as an importer leaves them.
inline void fill_random(Column& column, const Field& shape, uint64_t rows, double nulls, std::mt19937_64& random) {
  column.length = rows;
  std::bernoulli_distribution is_null(nulls);
  std::vector<bool> valid(rows);
  for (uint64_t i = 0; i < rows; ++i)
    column.null_count += !(valid[i] = shape.meaning != Meaning::kNull && (!shape.nullable || !is_null(random)));
  if (column.null_count != 0) {
    column.validity.resize((rows + 7) / 8);
    std::memset(column.validity.data(), 0, column.validity.size());
    for (uint64_t i = 0; i < rows; ++i)
      column.validity.as<uint8_t>()[i / 8] |= static_cast<uint8_t>(valid[i] << (i % 8));
  }
  const Physical physical = physical_of(shape.type);
  switch (shape.type.kind) {
    case TypeKind::kStruct:
      for (size_t i = 0; i < shape.children.size(); ++i)
        fill_random(column.children[i], shape.children[i], rows, shape.meaning == Meaning::kInterval ? 0 : nulls,
                    random);
      return;
    case TypeKind::kList: {
      int64_t total = 0;
      for (uint64_t i = 0; i < rows; ++i)
        column.offsets.push(total += !valid[i]                          ? 0
                                     : shape.meaning == Meaning::kArray ? shape.array_size
                                                                        : static_cast<int64_t>(random() % 4));
      fill_random(column.children[0], shape.children[0], static_cast<uint64_t>(total), nulls, random);
      return;
    }
    case TypeKind::kUtf8:
    case TypeKind::kBinary:
      for (uint64_t i = 0; i < rows; ++i) {
        const std::string text = "größe " + std::to_string(random() % 1000);
        if (valid[i]) column.bytes.append(text.data(), random() % 5 == 0 ? 0 : text.size());
        column.offsets.push(static_cast<int64_t>(column.bytes.size()));
      }
      return;
    default: break;
  }
  const size_t width = width_of(physical);
  column.values.resize(rows * width);
  for (uint64_t i = 0; i < rows; ++i) {
    int128_t bits = static_cast<int128_t>((static_cast<uint128_t>(random()) << 64) | random());
    if (shape.type.kind == TypeKind::kBool) bits &= 1;
    if (shape.type.kind == TypeKind::kTime) bits = static_cast<int64_t>(random() % 86'000);
    if (shape.type.kind == TypeKind::kDecimal)
      bits = shape.type.precision == 38 ? bits / 1000 : static_cast<int64_t>(random() % 20'000) - 9'999;
    if (shape.type.kind == TypeKind::kDecimal && shape.type.precision == 4)
      bits = static_cast<int64_t>(random() % 9'999);
    if (!valid[i]) bits = 0;
    std::memcpy(column.values.data() + i * width, &bits, width);
  }
}

inline Table random_table(uint64_t rows, double nulls, uint64_t seed, const Schema& schema = every_type()) {
  std::mt19937_64 random(seed);
  Table table;
  table.schema = schema;
  table.rows = rows;
  for (const Field& shape : table.schema.fields) {
    table.columns.push_back(make_column(shape));
    fill_random(table.columns.back(), shape, rows, nulls, random);
  }
  return table;
}

}  // namespace basalt::test
