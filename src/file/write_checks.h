// What a writer asks of the schema and of the rows that it is given.
#pragma once

#include <string>
#include <vector>

#include "basalt/core/column.h"

namespace basalt::format_v1 {

// Throws Error(kUnsupported) that names every column that cannot be written. `path` is the file's, for messages.
void check_schema(const Schema& schema, const std::string& path);
// Throws Error(kInvalidArgument) where a table has other columns than the schema, or rows that are not what they mean.
void check_table(const Table& table, const Schema& schema, const std::string& path);

// Of each flattened field: its path, and whether rows can be sorted by it.
std::vector<std::string> paths_of(const Schema& schema);
std::vector<bool> sortable_fields(const Schema& schema);

}  // namespace basalt::format_v1
