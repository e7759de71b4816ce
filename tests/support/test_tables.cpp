#include "support/test_tables.h"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/bitmap.h"
#include "core/dispatch.h"

namespace basalt::test {

DataType type_of(TypeKind kind, uint8_t precision, uint8_t scale, TimeUnit unit) {
  return {kind, precision, scale, unit};
}

uint64_t scramble(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

namespace {

NamedColumn start(const std::string& name, const DataType& type, uint64_t rows, const IsNull& is_null) {
  NamedColumn out;
  out.field.name = name;
  out.field.type = type;
  out.column.type = type;
  out.column.length = rows;
  if (!is_null) return out;
  out.column.validity.resize((rows + 7) / 8);
  if (rows > 0) std::memset(out.column.validity.data(), 0, out.column.validity.size());
  for (uint64_t i = 0; i < rows; ++i) {
    put_bit(out.column.validity.as<uint8_t>(), i, !is_null(i));
    out.column.null_count += is_null(i);
  }
  if (out.column.null_count == 0) out.column.validity.clear();
  return out;
}

}  // namespace

NamedColumn integers(const std::string& name, const DataType& type, uint64_t rows,
                     const std::function<int64_t(uint64_t)>& value, const IsNull& is_null) {
  NamedColumn out = start(name, type, rows, is_null);
  const uint32_t width = width_of(physical_of(type));
  out.column.values.resize(rows * width);
  for (uint64_t i = 0; i < rows; ++i) {
    const auto wide = static_cast<int128_t>(value(i));
    std::memcpy(out.column.values.data() + i * width, &wide, width);
  }
  return out;
}

NamedColumn reals(const std::string& name, TypeKind kind, uint64_t rows, const std::function<double(uint64_t)>& value,
                  const IsNull& is_null) {
  NamedColumn out = start(name, type_of(kind), rows, is_null);
  for (uint64_t i = 0; i < rows; ++i) {
    if (kind == TypeKind::kFloat32) {
      out.column.values.push(static_cast<float>(value(i)));
    } else {
      out.column.values.push(value(i));
    }
  }
  return out;
}

NamedColumn strings(const std::string& name, TypeKind kind, uint64_t rows,
                    const std::function<std::string(uint64_t)>& value, const IsNull& is_null) {
  NamedColumn out = start(name, type_of(kind), rows, is_null);
  out.column.offsets.push<int64_t>(0);
  for (uint64_t i = 0; i < rows; ++i) {
    if (out.column.is_valid(i)) {
      const std::string text = value(i);
      out.column.bytes.append(text.data(), text.size());
    }
    out.column.offsets.push(static_cast<int64_t>(out.column.bytes.size()));
  }
  return out;
}

NamedColumn list_of(const std::string& name, uint64_t rows, const std::function<uint64_t(uint64_t)>& length,
                    const std::function<NamedColumn(uint64_t)>& elements, const IsNull& is_null) {
  NamedColumn out = start(name, type_of(TypeKind::kList), rows, is_null);
  int64_t at = 0;
  out.column.offsets.push(at);
  for (uint64_t i = 0; i < rows; ++i) {
    at += out.column.is_valid(i) ? static_cast<int64_t>(length(i)) : 0;
    out.column.offsets.push(at);
  }
  NamedColumn child = elements(static_cast<uint64_t>(at));
  out.field.children.push_back(child.field);
  out.column.children.push_back(std::move(child.column));
  return out;
}

NamedColumn struct_of(const std::string& name, uint64_t rows, std::vector<NamedColumn> members, const IsNull& is_null) {
  NamedColumn out = start(name, type_of(TypeKind::kStruct), rows, is_null);
  for (NamedColumn& member : members) {
    out.field.children.push_back(member.field);
    out.column.children.push_back(std::move(member.column));
  }
  return out;
}

Table make_table(uint64_t rows, std::vector<NamedColumn> columns) {
  Table table;
  table.rows = rows;
  for (NamedColumn& column : columns) {
    table.schema.fields.push_back(column.field);
    table.columns.push_back(std::move(column.column));
  }
  number_fields(table.schema);
  return table;
}

Table everything(uint64_t rows) {
  const IsNull some = [](uint64_t i) { return scramble(i) % 7 == 0; };
  const IsNull all = [](uint64_t) { return true; };
  const auto noise = [](uint64_t i) { return static_cast<int64_t>(scramble(i)); };
  const auto small = [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 1000) - 300; };
  const auto word = [](uint64_t i) { return "word-" + std::to_string(scramble(i) % 50); };
  const auto text = [](uint64_t i) { return std::string(scramble(i) % 40, static_cast<char>('a' + i % 26)) + "ß漢"; };
  std::vector<NamedColumn> columns;
  const auto add = [&](NamedColumn column) { columns.push_back(std::move(column)); };
  add(integers(
      "bool", type_of(TypeKind::kBool), rows, [](uint64_t i) { return scramble(i) % 2; }, some));
  add(integers("i8", type_of(TypeKind::kInt8), rows, noise));
  add(integers("i16", type_of(TypeKind::kInt16), rows, noise, some));
  add(integers("i32", type_of(TypeKind::kInt32), rows, small));
  add(integers("i64", type_of(TypeKind::kInt64), rows, noise, some));
  add(integers("u8", type_of(TypeKind::kUInt8), rows, noise));
  add(integers("u16", type_of(TypeKind::kUInt16), rows, noise, some));
  add(integers("u32", type_of(TypeKind::kUInt32), rows, noise));
  add(integers("u64", type_of(TypeKind::kUInt64), rows, noise, some));
  add(integers("i128", type_of(TypeKind::kInt128), rows, noise, some));
  add(reals("f32", TypeKind::kFloat32, rows,
            [](uint64_t i) { return i % 11 == 3 ? -0.0 : 0.5 * static_cast<double>(i); }));
  add(reals(
      "f64", TypeKind::kFloat64, rows,
      [](uint64_t i) {
        return i % 13 == 5 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / (1.0 + static_cast<double>(i));
      },
      some));
  add(integers("decimal_4_1", type_of(TypeKind::kDecimal, 4, 1), rows, small));
  add(integers("decimal_9_2", type_of(TypeKind::kDecimal, 9, 2), rows, small, some));
  add(integers("decimal_18_4", type_of(TypeKind::kDecimal, 18, 4), rows, small));
  add(integers("decimal_38_10", type_of(TypeKind::kDecimal, 38, 10), rows, noise, some));
  add(integers(
      "date", type_of(TypeKind::kDate), rows, [](uint64_t i) { return 8000 + static_cast<int64_t>(i / 10); }, some));
  add(integers("time", type_of(TypeKind::kTime), rows,
               [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 86400000000u); }));
  add(integers(
      "timestamp", type_of(TypeKind::kTimestamp, 0, 0, TimeUnit::kNano), rows,
      [](uint64_t i) { return static_cast<int64_t>(i * 1000003); }, some));
  add(integers("timestamptz", type_of(TypeKind::kTimestampTz), rows,
               [](uint64_t i) { return static_cast<int64_t>(i) * -77; }));
  add(strings("utf8", TypeKind::kUtf8, rows, text, some));
  add(strings("words", TypeKind::kUtf8, rows, word));
  add(strings(
      "binary", TypeKind::kBinary, rows, [](uint64_t i) { return std::string(i % 5, '\xFF'); }, some));
  add(integers("uuid", type_of(TypeKind::kUuid), rows, noise));
  add(integers("constant", type_of(TypeKind::kInt32), rows, [](uint64_t) { return 42; }));
  add(integers("nothing", type_of(TypeKind::kInt64), rows, small, all));
  add(strings("no text", TypeKind::kUtf8, rows, text, all));
  add(integers("sorted", type_of(TypeKind::kInt64), rows, [](uint64_t i) { return static_cast<int64_t>(i) - 5; }));
  add(list_of(
      "list", rows, [](uint64_t i) { return scramble(i) % 4; },
      [&](uint64_t n) { return integers("element", type_of(TypeKind::kInt32), n, small, some); }, some));
  add(struct_of("struct", rows,
                {integers("a", type_of(TypeKind::kInt16), rows, small, some), strings("b", TypeKind::kUtf8, rows, word),
                 list_of(
                     "c", rows, [](uint64_t i) { return i % 3; },
                     [&](uint64_t n) { return strings("element", TypeKind::kUtf8, n, word, some); })},
                some));
  add(struct_of("full struct", rows, {integers("x", type_of(TypeKind::kInt16), rows, small)}));
  add(list_of(
      "list of structs", rows, [](uint64_t i) { return i % 3; },
      [&](uint64_t n) {
        return struct_of("element", n,
                         {integers("k", type_of(TypeKind::kInt64), n, small),
                          list_of(
                              "l", n, [](uint64_t i) { return i % 2; },
                              [&](uint64_t m) {
                                return reals("element", TypeKind::kFloat64, m,
                                             [](uint64_t i) { return static_cast<double>(i); });
                              })},
                         some);
      }));
  return make_table(rows, std::move(columns));
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "basalt-test-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

Buffer to_buffer(const std::vector<std::byte>& bytes) {
  Buffer buffer;
  buffer.append(bytes.data(), bytes.size());
  return buffer;
}

WriteOptions chunks_of(uint64_t rows, uint32_t threads) {
  WriteOptions options;
  options.chunk_rows = rows;
  options.threads = threads;
  return options;
}

WriteSummary write(const std::string& path, const Table& table, const WriteOptions& options) {
  WriteOptions plain = options;
  plain.wrap_small = false;
  Writer writer(path, table.schema, plain);
  writer.append(table);
  return writer.finish();
}

std::shared_ptr<File> open_bytes(const std::vector<std::byte>& bytes) {
  return File::open(memory_source(to_buffer(bytes), "test.basalt"));
}

}  // namespace basalt::test
