// Arrow schemas to Basalt schemas and back: format strings, dictionary and extension types.
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "basalt/core/error.h"
#include "core/arrow_format.h"
#include "core/distinct_names.h"

namespace basalt {
namespace arrow {

namespace {

int32_t load_int32(const char* at) {
  int32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::string encode_metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string out;
  const auto put_count = [&](size_t count) {
    const auto value = static_cast<int32_t>(count);
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put_count(pairs.size());
  for (const auto& [key, value] : pairs) {
    put_count(key.size());
    out += key;
    put_count(value.size());
    out += value;
  }
  return out;
}

std::optional<TimeUnit> unit_of(char letter) {
  switch (letter) {
    case 's': return TimeUnit::kSecond;
    case 'm': return TimeUnit::kMilli;
    case 'u': return TimeUnit::kMicro;
    case 'n': return TimeUnit::kNano;
    default: return std::nullopt;
  }
}
char letter_of(TimeUnit unit) { return "smun"[static_cast<int>(unit)]; }

std::optional<DataType> decimal_type(std::string_view parameters) {
  int precision = 0, scale = 0, bits = 128;
  const char* at = parameters.data();
  const char* end = at + parameters.size();
  auto step = std::from_chars(at, end, precision);
  if (step.ec != std::errc() || step.ptr == end || *step.ptr != ',') return std::nullopt;
  step = std::from_chars(step.ptr + 1, end, scale);
  if (step.ec != std::errc()) return std::nullopt;
  if (step.ptr != end) {
    if (*step.ptr != ',') return std::nullopt;
    step = std::from_chars(step.ptr + 1, end, bits);
    if (step.ec != std::errc() || step.ptr != end) return std::nullopt;
  }
  if (bits != 32 && bits != 64 && bits != 128) return std::nullopt;
  if (precision < 1 || precision > 38 || scale < 0 || scale > precision) return std::nullopt;
  return DataType{TypeKind::kDecimal, static_cast<uint8_t>(precision), static_cast<uint8_t>(scale), TimeUnit::kMicro};
}

std::optional<TypeKind> simple_kind(std::string_view format) {
  if (format == "vu") return TypeKind::kUtf8;
  if (format == "vz") return TypeKind::kBinary;
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'b': return TypeKind::kBool;
    case 'c': return TypeKind::kInt8;
    case 'C': return TypeKind::kUInt8;
    case 's': return TypeKind::kInt16;
    case 'S': return TypeKind::kUInt16;
    case 'i': return TypeKind::kInt32;
    case 'I': return TypeKind::kUInt32;
    case 'l': return TypeKind::kInt64;
    case 'L': return TypeKind::kUInt64;
    case 'f': return TypeKind::kFloat32;
    case 'g': return TypeKind::kFloat64;
    case 'u':
    case 'U': return TypeKind::kUtf8;
    case 'z':
    case 'Z': return TypeKind::kBinary;
    default: return std::nullopt;
  }
}

// The type of one field without its children; nullopt if Basalt cannot hold it.
std::optional<DataType> type_of(std::string_view format, const char* metadata) {
  if (const auto kind = simple_kind(format)) return DataType{*kind};
  if (format.starts_with("d:")) return decimal_type(format.substr(2));
  if (format == "tdD" || format == "tdm") return DataType{TypeKind::kDate};
  if (format.size() == 3 && format.starts_with("tt")) {
    const auto unit = unit_of(format[2]);
    if (!unit) return std::nullopt;
    return DataType{TypeKind::kTime, 0, 0, *unit};
  }
  if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':') {
    const auto unit = unit_of(format[2]);
    if (!unit) return std::nullopt;
    return DataType{format.size() == 4 ? TypeKind::kTimestamp : TypeKind::kTimestampTz, 0, 0, *unit};
  }
  if (format.starts_with("w:")) {
    const std::string extension = metadata_value(metadata, kExtensionName);
    const bool wide = format == "w:16";
    if (wide && extension == kUuidExtension) return DataType{TypeKind::kUuid};
    if (wide && extension == kOpaqueExtension &&
        metadata_value(metadata, kExtensionMetadata).find("hugeint") != std::string::npos)
      return DataType{TypeKind::kInt128};
    return DataType{TypeKind::kBinary};
  }
  if (format == "n") return DataType{TypeKind::kInt32};
  if (format == "tiM" || format == "tiD") return DataType{TypeKind::kStruct};
  if (format == "tin") return DataType{TypeKind::kStruct, 0, 0, TimeUnit::kNano};
  if (format == "+l" || format == "+L" || format == "+m" || format.starts_with("+w:")) return DataType{TypeKind::kList};
  if (format == "+s") return DataType{TypeKind::kStruct};
  return std::nullopt;
}

// What the format says beyond the type that the field is stored as; intervals get their parts.
void set_meaning(std::string_view format, Field& field) {
  if (format == "n") field.meaning = Meaning::kNull;
  if (format == "+m") field.meaning = Meaning::kMap;
  if (format.starts_with("ti")) make_interval(field, field.type.unit);
  if (!format.starts_with("+w:")) return;
  uint32_t size = 0;
  const std::string_view digits = format.substr(3);
  std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (size == 0) return;  // lists that are all empty
  field.meaning = Meaning::kArray;
  field.array_size = size;
}

bool is_utc(std::string_view zone) {
  for (const std::string_view name : {"UTC", "Etc/UTC", "Z", "+00:00", "+0000"})
    if (zone == name) return true;
  return false;
}

// What of the Arrow type is not part of the type that it becomes.
void note_changes(const ArrowSchema& schema, const DataType& type, const std::string& path, Notices* notices) {
  const ArrowSchema& values = schema.dictionary == nullptr ? schema : *schema.dictionary;
  const std::string_view format = values.format;
  const std::string becomes = to_string(type);
  if (schema.dictionary != nullptr) add_notice(notices, path, "a dictionary (categories) becomes " + becomes);
  const std::string extension = metadata_value(values.metadata, kExtensionName);
  const bool known = type.kind == TypeKind::kUuid || type.kind == TypeKind::kInt128;
  if (!extension.empty() && !known)
    add_notice(notices, path, "the extension type " + extension + " becomes " + becomes);
  if (format == "tdm") add_notice(notices, path, "dates in milliseconds are cut to days");
  if (format.starts_with("w:") && !known) add_notice(notices, path, "binary values of a fixed size become " + becomes);
  if (type.kind == TypeKind::kTimestampTz && !is_utc(format.substr(4)))
    add_notice(notices, path,
               "the time zone " + std::string(format.substr(4)) + " is not kept: the instants are stored in UTC");
}

// Types that Basalt cannot hold, by the names that people know them by.
std::string name_of_refused(const char* format) {
  const std::string_view text = format == nullptr ? "?" : format;
  if (text == "e") return "float16";
  if (text.starts_with("+u")) return "union";
  if (text.starts_with("tD")) return "duration";
  if (text.starts_with("d:") && text.ends_with(",256"))
    return "decimal256(" + std::string(text.substr(2, text.size() - 6)) + ")";
  return "Arrow type " + std::string(text);
}

// `inherited`: the field is a member of a struct that may be NULL, and so may it be itself.
void import_field(const ArrowSchema& schema, const std::string& path, bool inherited, Field& field,
                  std::vector<std::string>& refused, Notices* notices) {
  field.name = schema.name == nullptr ? "" : schema.name;
  field.nullable = inherited || (schema.flags & ARROW_FLAG_NULLABLE) != 0;
  const ArrowSchema& values = schema.dictionary == nullptr ? schema : *schema.dictionary;
  const auto type = values.format == nullptr ? std::nullopt : type_of(values.format, values.metadata);
  if (!type) {
    refused.push_back(path + " (" + name_of_refused(values.format) + ")");
    return;
  }
  field.type = *type;
  set_meaning(values.format, field);
  field.nullable = field.nullable || field.meaning == Meaning::kNull;
  note_changes(schema, field.type, path, notices);
  const bool nested = type->kind == TypeKind::kList || type->kind == TypeKind::kStruct;
  if (!nested || field.meaning == Meaning::kInterval) return;
  if (type->kind == TypeKind::kList && values.n_children != 1) {
    refused.push_back(path + " (a list with " + std::to_string(values.n_children) + " children)");
    return;
  }
  field.children.resize(static_cast<size_t>(values.n_children));
  for (int64_t i = 0; i < values.n_children; ++i) {
    const ArrowSchema& child = *values.children[i];
    std::string child_path = path;
    child_path.append(".").append(child.name == nullptr ? "" : child.name);
    import_field(child, child_path, type->kind == TypeKind::kStruct && field.nullable,
                 field.children[static_cast<size_t>(i)], refused, notices);
  }
  if (refused.empty() && !fits_meaning(field)) refused.push_back(path + " (a map without keys and values)");
}

std::string format_of(const Field& field) {
  const DataType& type = field.type;
  switch (field.meaning) {
    case Meaning::kStored: break;
    case Meaning::kMap: return "+m";
    case Meaning::kArray: return "+w:" + std::to_string(field.array_size);
    case Meaning::kInterval: return "tin";
    case Meaning::kNull: return "n";
  }
  switch (type.kind) {
    case TypeKind::kBool: return "b";
    case TypeKind::kInt8: return "c";
    case TypeKind::kInt16: return "s";
    case TypeKind::kInt32: return "i";
    case TypeKind::kInt64: return "l";
    case TypeKind::kUInt8: return "C";
    case TypeKind::kUInt16: return "S";
    case TypeKind::kUInt32: return "I";
    case TypeKind::kUInt64: return "L";
    case TypeKind::kInt128:
    case TypeKind::kUuid: return "w:16";
    case TypeKind::kFloat32: return "f";
    case TypeKind::kFloat64: return "g";
    case TypeKind::kDecimal: return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale);
    case TypeKind::kDate: return "tdD";
    case TypeKind::kTime: return std::string("tt") + letter_of(type.unit);
    case TypeKind::kTimestamp: return std::string("ts") + letter_of(type.unit) + ":";
    case TypeKind::kTimestampTz: return std::string("ts") + letter_of(type.unit) + ":UTC";
    case TypeKind::kUtf8: return "u";
    case TypeKind::kBinary: return "z";
    case TypeKind::kList: return "+l";
    case TypeKind::kStruct: return "+s";
  }
  throw Error(ErrorCode::kInternal, "a column type without an Arrow format");
}

std::string metadata_of(const DataType& type) {
  if (type.kind == TypeKind::kUuid)
    return encode_metadata({{kExtensionName, kUuidExtension}, {kExtensionMetadata, ""}});
  if (type.kind == TypeKind::kInt128)
    return encode_metadata({{kExtensionName, kOpaqueExtension}, {kExtensionMetadata, kHugeintMetadata}});
  return {};
}

// Everything an exported schema points at; freed by release().
struct SchemaOwner {
  std::string format;
  std::string name;
  std::string metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
  std::unique_ptr<SchemaOwner> owner(static_cast<SchemaOwner*>(schema->private_data));
  for (ArrowSchema& child : owner->children)
    if (child.release != nullptr) child.release(&child);
  schema->release = nullptr;
  schema->private_data = nullptr;
}

// Entries of a map and their keys are never NULL in Arrow.
void fill_schema(const Field& field, bool nullable, ArrowSchema* out) {
  auto owner = std::make_unique<SchemaOwner>();
  owner->format = format_of(field);
  owner->name = field.name;
  owner->metadata = metadata_of(field.type);
  const size_t children = field.meaning == Meaning::kInterval ? 0 : field.children.size();
  owner->children.resize(children);
  for (size_t i = 0; i < children; ++i) {
    Field child = field.children[i];
    const bool inherited = field.type.kind == TypeKind::kStruct && nullable;
    const bool is_entry = field.meaning == Meaning::kMap;
    if (is_entry) child.children[0].nullable = false;
    fill_schema(child, !is_entry && (child.nullable || inherited), &owner->children[i]);
    owner->pointers.push_back(&owner->children[i]);
  }
  *out = ArrowSchema{};
  out->format = owner->format.c_str();
  out->name = owner->name.c_str();
  out->metadata = owner->metadata.empty() ? nullptr : owner->metadata.data();
  out->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  out->n_children = static_cast<int64_t>(children);
  out->children = owner->pointers.data();
  out->release = release_schema;
  out->private_data = owner.release();
}

}  // namespace

std::string metadata_value(const char* metadata, std::string_view key) {
  if (metadata == nullptr) return {};
  const int32_t pairs = load_int32(metadata);
  const char* at = metadata + sizeof(int32_t);
  for (int32_t i = 0; i < pairs; ++i) {
    const int32_t key_length = load_int32(at);
    const std::string_view found(at + sizeof(int32_t), static_cast<size_t>(key_length));
    at += sizeof(int32_t) + key_length;
    const int32_t value_length = load_int32(at);
    const char* value = at + sizeof(int32_t);
    at = value + value_length;
    if (found == key) return {value, static_cast<size_t>(value_length)};
  }
  return {};
}

}  // namespace arrow

Schema import_schema(const ArrowSchema& schema, Notices* notices) {
  if (schema.format == nullptr || std::string_view(schema.format) != "+s")
    throw Error(ErrorCode::kInvalidArgument, "an Arrow table must be a struct, this schema is of another type");
  Schema out;
  std::vector<std::string> refused;
  out.fields.resize(static_cast<size_t>(schema.n_children));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    arrow::import_field(child, child.name == nullptr ? "" : child.name, false, out.fields[static_cast<size_t>(i)],
                        refused, notices);
  }
  if (!refused.empty()) {
    std::string message = refused.size() == 1 ? "this column has a type that Basalt cannot hold: "
                                              : "these columns have types that Basalt cannot hold: ";
    for (size_t i = 0; i < refused.size(); ++i) message += (i == 0 ? "" : ", ") + refused[i];
    throw Error(ErrorCode::kUnsupported, message);
  }
  make_names_distinct(out.fields, notices);
  number_fields(out);
  return out;
}

void export_schema(const Schema& schema, ArrowSchema* out) {
  Field rows;
  rows.type.kind = TypeKind::kStruct;
  rows.children = schema.fields;
  arrow::fill_schema(rows, false, out);
}

}  // namespace basalt
