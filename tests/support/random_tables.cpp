// Random schemas and rows; see the header.
#include "support/random_tables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "basalt/core/host_device.h"
#include "core/bitmap.h"
#include "support/sanitized.h"

namespace basalt::test {
namespace {

using Random = std::mt19937_64;

bool chance(Random& random, uint32_t percent) { return random() % 100 < percent; }

int128_t wide(Random& random) { return static_cast<int128_t>((static_cast<uint128_t>(random()) << 64) | random()); }

DataType random_scalar(Random& random) {
  DataType type;
  type.kind = static_cast<TypeKind>(1 + random() % static_cast<uint64_t>(TypeKind::kUuid));
  if (type.kind == TypeKind::kDecimal) {
    type.precision = static_cast<uint8_t>(1 + random() % 38);
    type.scale = static_cast<uint8_t>(random() % (type.precision + 1u));
  }
  const bool timed =
      type.kind == TypeKind::kTime || type.kind == TypeKind::kTimestamp || type.kind == TypeKind::kTimestampTz;
  if (timed) type.unit = static_cast<TimeUnit>(random() % 4);
  return type;
}

std::string random_name(Random& random, size_t number) {
  static const char* const kStems[] = {"a", "b_", "größe", "with space", "quote\"d", "it's", "x.y", "select", "C"};
  return kStems[random() % std::size(kStems)] + std::to_string(number);
}

Field random_field(Random& random, size_t number, uint32_t depth) {
  Field field;
  field.name = random_name(random, number);
  const uint64_t pick = random() % 10;
  if (depth == 0 || pick < 5) {
    field.type = random_scalar(random);
  } else if (pick < 7) {
    field.type.kind = TypeKind::kList;
    field.children.push_back(random_field(random, 0, depth - 1));
    field.children[0].name = "element";
  } else {
    field.type.kind = TypeKind::kStruct;
    const size_t members = 1 + random() % 3;
    for (size_t i = 0; i < members; ++i) field.children.push_back(random_field(random, i, depth - 1));
  }
  return field;
}

// How the values of one column repeat, so that every encoding gets its turn.
enum class Pattern { kRandom, kFew, kRuns, kConstant, kAscending };

int64_t units_per_second(TimeUnit unit) {
  static constexpr int64_t kUnits[] = {1, 1'000, 1'000'000, 1'000'000'000};
  return kUnits[static_cast<int>(unit)];
}

int128_t random_timestamp(Random& random, const DataType& type, bool extremes) {
  const int64_t units = units_per_second(type.unit);
  if (extremes && chance(random, 20)) {
    // SQL has instants in microseconds only: seconds and milliseconds must fit there.
    const bool rescaled = type.kind == TypeKind::kTimestampTz && type.unit < TimeUnit::kMicro;
    const int64_t most = std::numeric_limits<int64_t>::max() / (rescaled ? 1'000'000 / units : 1);
    return chance(random, 50) ? most : -most;
  }
  const int64_t seconds = static_cast<int64_t>(random() % (400ull * 365 * 86400)) - 200ll * 365 * 86400;
  return static_cast<int128_t>(seconds) * units + static_cast<int64_t>(random() % static_cast<uint64_t>(units));
}

int128_t random_integer(Random& random, uint32_t width, bool is_signed) {
  const auto bits = static_cast<int>(width * 8);
  const int128_t most = is_signed
                            ? (static_cast<int128_t>(1) << (bits - 2)) - 1 + (static_cast<int128_t>(1) << (bits - 2))
                            : (static_cast<int128_t>(1) << bits) - 1;
  switch (random() % 8) {
    case 0: return most;
    case 1: return is_signed ? -most - 1 : 0;
    case 2: return is_signed ? -1 : 1;
    case 3:
    case 4: return static_cast<int128_t>(random() % 100);
    default: return wide(random);
  }
}

double random_real(Random& random, bool extremes) {
  using Limits = std::numeric_limits<double>;
  static const double kSpecial[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                                    Limits::max(),       Limits::lowest(),   Limits::denorm_min()};
  if (extremes && chance(random, 15)) return kSpecial[random() % std::size(kSpecial)];
  if (chance(random, 5)) return -0.0;
  if (chance(random, 50)) return static_cast<double>(static_cast<int64_t>(random() % 200000) - 100000) / 100;
  return static_cast<double>(static_cast<int64_t>(random())) / 3e9;
}

int128_t random_value(Random& random, const DataType& type, bool extremes) {
  const Physical physical = physical_of(type);
  switch (type.kind) {
    case TypeKind::kBool: return static_cast<int128_t>(random() % 2);
    case TypeKind::kFloat32: {
      const auto value = static_cast<float>(random_real(random, extremes));
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    }
    case TypeKind::kFloat64: {
      const double value = random_real(random, extremes);
      uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    }
    case TypeKind::kDecimal: {
      int128_t limit = 1;
      for (int i = 0; i < type.precision; ++i) limit *= 10;
      if (chance(random, 10)) return chance(random, 50) ? limit - 1 : 1 - limit;
      return wide(random) % limit;
    }
    case TypeKind::kDate:
      if (extremes && chance(random, 20)) return random_integer(random, 4, true);
      return static_cast<int64_t>(random() % 1'000'000) - 500'000;
    case TypeKind::kTime:
      return static_cast<int64_t>(random() % (86'400ull * static_cast<uint64_t>(units_per_second(type.unit))));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz: return random_timestamp(random, type, extremes);
    default: return random_integer(random, width_of(physical), is_signed(physical));
  }
}

std::string random_text(Random& random, const DataType& type, bool extremes) {
  static const char* const kTexts[] = {"",           "a",          "NULL",   "größe",  "with, comma",
                                       "two\nlines", "\"quoted\"", "日本語", "'apos'", "{a:1}",
                                       "[1]",        "  ",         "0",      "-",      "tab\there"};
  std::string text;
  switch (random() % 6) {
    case 0:
    case 1: return kTexts[random() % std::size(kTexts)];
    case 2: return "user" + std::to_string(random() % 1000);
    case 3:
      for (uint64_t i = random() % 20; i > 0; --i)
        text += (text.empty() ? "word" : " word") + std::to_string(random() % 50);
      return text;
    case 4: return std::string(chance(random, 5) ? 6000 : 40, static_cast<char>('a' + random() % 26));
    default: break;
  }
  if (type.kind == TypeKind::kBinary)
    for (uint64_t i = random() % 20; i > 0; --i) text += static_cast<char>(random());
  else if (extremes)
    text = std::string("zero\0byte", 9);
  return text;
}

// NULLs of a column: those it inherits from the structs around it, and its own.
std::vector<bool> random_validity(Random& random, const std::vector<bool>& parent) {
  std::vector<bool> valid = parent;
  static constexpr uint32_t kShares[] = {0, 0, 5, 50, 100};
  const uint32_t share = kShares[random() % std::size(kShares)];
  for (size_t i = 0; i < valid.size(); ++i) valid[i] = valid[i] && !chance(random, share);
  return valid;
}

void set_validity(Column& column, const std::vector<bool>& valid) {
  column.length = valid.size();
  for (const bool bit : valid) column.null_count += !bit;
  if (column.null_count == 0) return;
  column.validity.resize((valid.size() + 7) / 8);
  std::memset(column.validity.data(), 0, column.validity.size());
  for (size_t i = 0; i < valid.size(); ++i) put_bit(column.validity.as<uint8_t>(), i, valid[i]);
}

// The value of a row in terms of a fresh one and those before.
template <typename Value, typename Fresh>
std::vector<Value> patterned(Random& random, uint64_t rows, Pattern pattern, const Fresh& fresh) {
  std::vector<Value> pool;
  for (int i = 0; i < 5; ++i) pool.push_back(fresh());
  std::vector<Value> out;
  for (uint64_t i = 0; i < rows; ++i) {
    switch (pattern) {
      case Pattern::kFew: out.push_back(pool[random() % pool.size()]); break;
      case Pattern::kRuns: out.push_back(i > 0 && !chance(random, 4) ? out.back() : fresh()); break;
      case Pattern::kConstant: out.push_back(pool[0]); break;
      default: out.push_back(fresh());
    }
  }
  if (pattern == Pattern::kAscending) std::sort(out.begin(), out.end());
  return out;
}

void fill(Column& column, const Field& field, const std::vector<bool>& parent, Random& random, bool extremes) {
  const std::vector<bool> valid = random_validity(random, parent);
  set_validity(column, valid);
  const auto pattern = static_cast<Pattern>(random() % 5);
  switch (field.type.kind) {
    case TypeKind::kStruct:
      for (size_t i = 0; i < field.children.size(); ++i)
        fill(column.children[i], field.children[i], valid, random, extremes);
      return;
    case TypeKind::kList: {
      const uint64_t most = 1 + random() % 5;
      const auto lengths = patterned<uint64_t>(random, valid.size(), pattern, [&] { return random() % most; });
      int64_t end = 0;
      for (size_t i = 0; i < valid.size(); ++i)
        column.offsets.push(end += valid[i] ? static_cast<int64_t>(lengths[i]) : 0);
      return fill(column.children[0], field.children[0], std::vector<bool>(static_cast<size_t>(end), true), random,
                  extremes);
    }
    case TypeKind::kUtf8:
    case TypeKind::kBinary: {
      const auto texts = patterned<std::string>(random, valid.size(), pattern,
                                                [&] { return random_text(random, field.type, extremes); });
      for (size_t i = 0; i < valid.size(); ++i) {
        if (valid[i]) column.bytes.append(texts[i].data(), texts[i].size());
        column.offsets.push(static_cast<int64_t>(column.bytes.size()));
      }
      return;
    }
    default: break;
  }
  const uint32_t width = width_of(physical_of(field.type));
  const auto values =
      patterned<int128_t>(random, valid.size(), pattern, [&] { return random_value(random, field.type, extremes); });
  column.values.resize(valid.size() * width);
  for (size_t i = 0; i < valid.size(); ++i) std::memcpy(column.values.data() + i * width, &values[i], width);
}

std::string difference(const Field& field, const Column& expected, const Column& actual, const std::string& path) {
  if (expected.length != actual.length)
    return path + ": " + std::to_string(actual.length) + " rows instead of " + std::to_string(expected.length);
  if (!(expected.type == actual.type))
    return path + ": " + to_string(actual.type) + " instead of " + to_string(expected.type);
  if (expected.null_count != actual.null_count)
    return path + ": " + std::to_string(actual.null_count) + " NULLs instead of " + std::to_string(expected.null_count);
  for (size_t i = 0; i < field.children.size(); ++i) {
    const std::string found =
        difference(field.children[i], expected.children[i], actual.children[i], path + "." + field.children[i].name);
    if (!found.empty()) return found;
  }
  return equal(expected, actual) ? "" : path + ": other values (" + to_string(field) + ")";
}

}  // namespace

Schema random_schema(Random& random, const RandomTableOptions& options) {
  Schema schema;
  const size_t columns = 1 + random() % 6;
  for (size_t i = 0; i < columns; ++i) schema.fields.push_back(random_field(random, i, options.most_depth));
  number_fields(schema);
  return schema;
}

Table random_rows(const Schema& schema, uint64_t rows, Random& random, const RandomTableOptions& options) {
  Table table;
  table.schema = schema;
  table.rows = rows;
  for (const Field& field : schema.fields) {
    table.columns.push_back(make_column(field));
    fill(table.columns.back(), field, std::vector<bool>(rows, true), random, options.extremes);
  }
  return table;
}

Table any_table(Random& random, const RandomTableOptions& options) {
  const Schema schema = random_schema(random, options);
  static constexpr uint64_t kSizes[] = {0, 1, 9, 40, 40, 40, 300};
  const uint64_t pick = random() % 8;
  const uint64_t most = pick < std::size(kSizes) ? kSizes[pick] : options.most_rows;
  return random_rows(schema, most == 0 ? 0 : 1 + random() % most, random, options);
}

std::string difference(const Table& expected, const Table& actual) {
  if (expected.schema != actual.schema) {
    std::string text = "the schema differs:";
    for (const Schema* schema : {&expected.schema, &actual.schema})
      for (const Field& field : schema->fields)
        text += (schema == &expected.schema ? " -" : " +") + field.name + " " + to_string(field);
    return text;
  }
  if (expected.rows != actual.rows)
    return std::to_string(actual.rows) + " rows instead of " + std::to_string(expected.rows);
  for (size_t i = 0; i < expected.columns.size(); ++i) {
    const Field& field = expected.schema.fields[i];
    const std::string found = difference(field, expected.columns[i], actual.columns[i], field.name);
    if (!found.empty()) return found;
  }
  return {};
}

namespace {

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace

uint64_t random_table_count(uint64_t usual) {
  return number_from_environment("BASALT_RANDOM_TABLES", kSanitized ? usual / 10 : usual);
}

uint64_t first_random_seed() { return number_from_environment("BASALT_RANDOM_SEED", 1); }

}  // namespace basalt::test
