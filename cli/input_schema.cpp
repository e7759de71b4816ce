// Comparing the columns of inputs.
#include "cli/input_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "cli/command.h"

namespace basalt::cli {
namespace {

bool same_name(const std::string& a, const std::string& b) {
  return CLI::detail::to_lower(a) == CLI::detail::to_lower(b);
}

// A part of the other, or of the same beginning.
bool resembles(const std::string& a, const std::string& b) {
  const std::string first = CLI::detail::to_lower(a), second = CLI::detail::to_lower(b);
  return first.find(second) != first.npos || second.find(first) != second.npos ||
         first.substr(0, 3) == second.substr(0, 3);
}

const ResultColumn* find(const std::vector<ResultColumn>& columns, const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ResultColumn& column) { return same_name(column.name, name); });
  return found == columns.end() ? nullptr : &*found;
}

std::vector<std::string> missing_in(const InputColumns& all, const InputColumns& some) {
  std::vector<std::string> names;
  for (const ResultColumn& column : all.columns)
    if (find(some.columns, column.name) == nullptr) names.push_back(column.name);
  return names;
}

// As many as a line holds; those that resemble `name` are enough where some do.
std::string listed(const std::vector<ResultColumn>& columns, const std::string& name) {
  constexpr size_t kMost = 12;
  std::vector<std::string> all, similar;
  for (const ResultColumn& column : columns) {
    all.push_back(column.name);
    if (resembles(name, column.name)) similar.push_back(column.name);
  }
  if (all.size() > kMost && !similar.empty()) all = std::move(similar);
  const bool some = all.size() > kMost;
  if (some) all.resize(kMost);
  return fmt::format("{}{}", fmt::join(all, ", "), some ? ", …" : "");
}

std::string spelled_as_column(const std::string& name, const std::vector<ResultColumn>& columns) {
  std::vector<std::string> found;
  for (const ResultColumn& column : columns) {
    if (column.name == name) return name;
    if (same_name(column.name, name)) found.push_back(column.name);
  }
  if (found.size() == 1) return found[0];
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("--sort-by {}: {}", name,
                          found.empty() ? "there is no such column; the columns are " + listed(columns, name)
                                        : fmt::format("it may be any of {}", fmt::join(found, ", "))));
}

}  // namespace

std::vector<std::string> spelled_as_columns(const std::vector<std::string>& names,
                                            const std::vector<ResultColumn>& columns) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(spelled_as_column(name, columns));
  return out;
}

void require_same_columns(const std::vector<InputColumns>& inputs) {
  for (const InputColumns& input : inputs) {
    const std::vector<std::string> missing = missing_in(inputs[0], input);
    const std::vector<std::string> added = missing_in(input, inputs[0]);
    if (missing.empty() && added.empty()) continue;
    std::vector<std::string> differences;
    if (!missing.empty()) differences.push_back(fmt::format("lacks {}", fmt::join(missing, ", ")));
    if (!added.empty()) differences.push_back(fmt::format("has {} besides", fmt::join(added, ", ")));
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} has other columns than {}: it {}; --union-by-name fills what is missing with NULL",
                            input.input, inputs[0].input, fmt::join(differences, " and ")));
  }
}

bool are_identical(const std::vector<InputColumns>& inputs) {
  const auto same = [](const ResultColumn& a, const ResultColumn& b) { return a.name == b.name && a.type == b.type; };
  return std::all_of(inputs.begin(), inputs.end(), [&](const InputColumns& input) {
    return std::equal(input.columns.begin(), input.columns.end(), inputs[0].columns.begin(), inputs[0].columns.end(),
                      same);
  });
}

void note_widened_columns(const std::vector<InputColumns>& inputs, const std::vector<ResultColumn>& result,
                          Notices& notices) {
  for (const ResultColumn& column : result) {
    std::vector<std::string> types;
    const std::string* first = nullptr;
    for (const InputColumns& input : inputs) {
      const ResultColumn* own = find(input.columns, column.name);
      if (own == nullptr || (first != nullptr && own->type == *first)) continue;
      if (first == nullptr) first = &own->type;
      if (types.size() < 2) types.push_back(own->type + " in " + input.input);
    }
    if (types.size() < 2) continue;
    add_notice(&notices, column.name, fmt::format("{} becomes {}", fmt::join(types, ", "), column.type));
  }
}

void note_parquet_columns(Session& session, const std::string& path, Notices& notices) {
  QueryResult rows = session.execute(
      "select name, coalesce(precision, 0) > 38, coalesce(precision, 0) > 38 and coalesce(try_cast(type_length as int) "
      "% 8 <> 0, true) "
      "from parquet_schema(" +
      quote_literal(path) +
      ") where precision > 38 or (logical_type like 'TimestampType(%isAdjustedToUTC=1%NANOS=NanoSeconds()%') "
      "group by all order by all");
  while (const std::unique_ptr<Table> table = rows.next()) {
    for (uint64_t row = 0; row < table->rows; ++row) {
      const std::string name(table->columns[0].string_at(row));
      const bool decimal = table->columns[1].values.as<uint8_t>()[row] != 0;
      // DuckDB reads them eight bytes at a time, and takes a shorter rest for the upper part of eight.
      if (table->columns[2].values.as<uint8_t>()[row] != 0) {
        throw Error(ErrorCode::kUnsupported, path + ": column " + name +
                                                 " has decimals of more than 38 digits in a width that cannot be read: "
                                                 "write them with at most 38 digits, or as double");
      }
      add_notice(&notices, name,
                 decimal ? "decimals of more than 38 digits become double"
                         : "nanoseconds are cut to microseconds, the unit that SQL has for instants");
    }
  }
}

void note_rounded_integers(Session& session, const std::string& query, const std::vector<ResultColumn>& columns,
                           Notices& notices) {
  std::vector<std::string> names, tests;
  for (const ResultColumn& column : columns) {
    if (column.type != "DOUBLE") continue;
    names.push_back(column.name);
    const std::string value = quote_identifier(column.name);
    tests.push_back(
        fmt::format("coalesce(bool_and(isfinite({0}) and trunc({0}) = {0}) and max(abs({0})) >= 2.0 ** 63, "
                    "false)",
                    value));
  }
  if (names.empty()) return;
  QueryResult result = session.execute(fmt::format("select {} from ({} limit 20480)", fmt::join(tests, ", "), query));
  while (const std::unique_ptr<Table> rows = result.next()) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (rows->columns[i].values.as<uint8_t>()[0] == 0) continue;
      add_notice(&notices, names[i],
                 fmt::format("integers beyond bigint become double; --types {}=HUGEINT keeps their digits", names[i]));
    }
  }
}

}  // namespace basalt::cli
