// What a file needs of the canonical form (see make_canonical in basalt/core/column.h): NULL lists without elements.
#pragma once

#include "basalt/core/column.h"

namespace basalt {

// On every level. What lies under a NULL struct stays: files may hold anything there.
void empty_null_lists(Column& column);

}  // namespace basalt
