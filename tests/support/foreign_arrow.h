// Tables as other programs hand them over in Arrow: everything that the columnar format allows and that Basalt itself
// never writes. Values, elements and bits under NULLs of any level are garbage, arrays start at an offset, strings are
// large or views, lists are large, columns are dictionaries.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "basalt/core/arrow.h"

namespace basalt::test {

struct ForeignOptions {
  bool offsets = true;       // slices on every level
  bool dictionaries = true;  // nested ones too
  bool views = true;
};

// A stream of the tables, which share a schema; one batch each.
void foreign_stream(std::vector<Table> tables, uint64_t seed, const ForeignOptions& options, ArrowArrayStream* out);

}  // namespace basalt::test
