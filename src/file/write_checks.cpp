// Checks of what is to be written.
#include "file/write_checks.h"

#include <fmt/format.h>

#include <set>

#include "basalt/core/error.h"
#include "core/meaning.h"
#include "core/utf8.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

std::string unsupported_reason(const Field& field, uint32_t depth) {
  if (depth >= kMaxSchemaDepth) return "nested more than 64 levels deep";
  if (!fits_meaning(field)) return "stored in another form than its meaning asks";
  switch (field.type.kind) {
    case TypeKind::kList: return field.children.size() == 1 ? "" : "a list without exactly one element type";
    case TypeKind::kStruct: return "";
    case TypeKind::kDecimal:
      if (field.type.precision < 1 || field.type.precision > 38 || field.type.scale > field.type.precision) {
        return fmt::format("decimal({},{})", field.type.precision, field.type.scale);
      }
      break;
    default:
      if (field.type.kind < TypeKind::kBool || field.type.kind > TypeKind::kStruct) {
        return fmt::format("type number {}", static_cast<int>(field.type.kind));
      }
  }
  return field.children.empty() ? "" : "children below " + to_string(field.type);
}

// Collects every column that cannot be written, so that one message names them all.
void find_problems(const std::vector<Field>& fields, const std::string& prefix, uint32_t depth,
                   std::vector<std::string>& problems) {
  std::set<std::string> names;
  for (const Field& field : fields) {
    const std::string path = prefix.empty() ? field.name : prefix + "." + field.name;
    const std::string reason = unsupported_reason(field, depth);
    if (!reason.empty()) problems.push_back(fmt::format("{} ({})", path, reason));
    if (!is_utf8(field.name)) problems.push_back(fmt::format("column {} (its name is not UTF-8)", names.size() + 1));
    if (!names.insert(field.name).second) problems.push_back(fmt::format("{} (the name is used twice)", path));
    if (reason.empty()) find_problems(field.children, path, depth + 1, problems);
  }
}

void note_paths(const std::vector<Field>& fields, const std::string& prefix, std::vector<std::string>& paths) {
  for (const Field& field : fields) {
    paths.push_back(prefix.empty() ? field.name : prefix + "." + field.name);
    note_paths(field.children, std::string(paths.back()), paths);
  }
}

// For each flattened field: lists and structs have no order that the format knows, and elements of lists are not rows.
void note_sortable(const std::vector<Field>& fields, bool are_rows, std::vector<bool>& sortable) {
  for (const Field& field : fields) {
    const bool is_list = field.type.kind == TypeKind::kList;
    sortable.push_back(are_rows && !is_list && field.type.kind != TypeKind::kStruct);
    note_sortable(field.children, are_rows && !is_list, sortable);
  }
}

bool same_shape(const Column& column, const Field& field) {
  if (!(column.type == field.type) || column.children.size() != field.children.size()) return false;
  for (size_t i = 0; i < field.children.size(); ++i) {
    if (!same_shape(column.children[i], field.children[i])) return false;
  }
  return true;
}

void check_promises(const Column& column, const Field& field, bool is_key, const std::string& path) {
  if (const char* broken = broken_promise(column, field, is_key))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: column {}: {}", path, field.name, broken));
  for (size_t i = 0; i < field.children.size(); ++i) {
    const Field& child = field.children[i];
    check_promises(column.children[i], child, false, path);
    if (field.meaning == Meaning::kMap) check_promises(column.children[i].children[0], child.children[0], true, path);
  }
}

}  // namespace

void check_schema(const Schema& schema, const std::string& path) {
  std::vector<std::string> problems;
  find_problems(schema.fields, "", 0, problems);
  if (problems.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: these columns cannot be written: {}", path, fmt::join(problems, ", ")));
}

void check_table(const Table& table, const Schema& schema, const std::string& path) {
  if (table.columns.size() != schema.fields.size()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: a table of {} columns was appended to a file of {}", path,
                                                         table.columns.size(), schema.fields.size()));
  }
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const Field& field = schema.fields[i];
    if (column.length != table.rows || !same_shape(column, field)) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: column {} was appended with another type or length", path, field.name));
    }
    check_promises(column, field, false, path);
  }
}

std::vector<std::string> paths_of(const Schema& schema) {
  std::vector<std::string> paths;
  note_paths(schema.fields, "", paths);
  return paths;
}

std::vector<bool> sortable_fields(const Schema& schema) {
  std::vector<bool> sortable;
  note_sortable(schema.fields, true, sortable);
  return sortable;
}

}  // namespace basalt::format_v1
