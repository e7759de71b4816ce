// The 20 integer columns on which learned compression is measured (LeCo, L3): the published formulas where they are
// known, data of the same character where the original is a download. Integers and exactly rounded arithmetic only, so
// every machine makes the same values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "basalt/core/column.h"

namespace basalt {

namespace gen {
class L3Source;
}

struct L3Set {
  const char* name;  // "linear", "normal", ...
  TypeKind type;     // kUInt32, kUInt64 or kInt32
  uint64_t rows;     // of the original
  bool sorted;
  const char* description;
};

// In the order of the paper's tables.
std::span<const L3Set> l3_sets();
// Throws Error(kInvalidArgument) with all names if there is none of this name.
const L3Set& find_l3_set(std::string_view name);
// One column, `value`, never NULL.
Schema l3_schema(const L3Set& set);

// Rows from the first to the last, in pieces; memory does not grow with their number. linear, normal, house, adult,
// site and weight spread over their whole range whatever the number of rows; the others begin as the original does and
// stop.
class L3Generator {
 public:
  // Throws Error(kInvalidArgument) if `rows` is more than the set has.
  L3Generator(const L3Set& set, uint64_t rows);
  ~L3Generator();

  // The next rows, at most `rows`; fewer at the end, then none.
  Table next(uint64_t rows);

 private:
  const L3Set& set_;
  uint64_t left_;
  std::unique_ptr<gen::L3Source> source_;
};

}  // namespace basalt
