// Names that SQL can tell apart. A file may hold columns named `a` and `A`, or a struct whose members have no names;
// SQL sees neither. The first field of a name keeps it; every further one that differs from it in case only, or not at
// all, gets _1, _2 … behind it, the first that no field has; a field without a name is called by its position: f1, f2 …
#pragma once

#include <string>
#include <vector>

#include "basalt/core/types.h"

namespace basalt {

// The names of these fields, siblings in a schema, in their order.
std::vector<std::string> distinct_names(const std::vector<Field>& fields);

// Renames fields on all levels, with a sentence in `notices` for each that got another name.
void make_names_distinct(std::vector<Field>& fields, std::vector<std::string>* notices = nullptr);

}  // namespace basalt
