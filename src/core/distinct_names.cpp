// Renaming fields whose names SQL takes for the same.
#include "core/distinct_names.h"

#include <fmt/format.h>

#include <unordered_set>

#include "basalt/core/notices.h"

namespace basalt {

namespace {

// As SQL compares names: letters of ASCII without regard to case.
std::string folded(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

std::string why_renamed(const std::string& name) {
  if (name.empty()) return "it had no name and is called by its position";
  return fmt::format("its name was {}, which differs from an earlier one in case only or not at all", name);
}

void rename_in(std::vector<Field>& fields, const std::string& parent, std::vector<std::string>* notices) {
  const std::vector<std::string> names = distinct_names(fields);
  for (size_t i = 0; i < fields.size(); ++i) {
    Field& field = fields[i];
    if (field.name != names[i]) add_notice(notices, parent + names[i], why_renamed(field.name));
    field.name = names[i];
    // The element of a list is found by its place, whatever its name.
    if (field.type.kind == TypeKind::kStruct) rename_in(field.children, parent + field.name + ".", notices);
    if (field.type.kind == TypeKind::kList) {
      for (Field& element : field.children) rename_in(element.children, parent + field.name + "[].", notices);
    }
  }
}

}  // namespace

std::vector<std::string> distinct_names(const std::vector<Field>& fields) {
  std::unordered_set<std::string> taken;
  for (const Field& field : fields) taken.insert(folded(field.name));
  std::unordered_set<std::string> seen;
  std::vector<std::string> names;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = fields[i].name;
    if (!name.empty() && seen.insert(folded(name)).second) {
      names.push_back(name);
      continue;
    }
    std::string fresh = name.empty() ? fmt::format("f{}", i + 1) : name + "_1";
    const std::string stem = name.empty() ? fresh : name;
    for (size_t count = name.empty() ? 1 : 2; !taken.insert(folded(fresh)).second; ++count) {
      fresh = fmt::format("{}_{}", stem, count);
    }
    names.push_back(std::move(fresh));
  }
  return names;
}

void make_names_distinct(std::vector<Field>& fields, std::vector<std::string>* notices) {
  rename_in(fields, "", notices);
}

}  // namespace basalt
