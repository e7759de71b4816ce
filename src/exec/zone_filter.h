// A filter as statistics are asked about it, zone after zone of a table: made once for a statement. Conjuncts that
// compare a column of integers (dates and decimals are) with a literal become one range for each column, and a zone's
// smallest and largest value are compared with its ends; all others go through decide(), for zones that are left.
#pragma once

#include <vector>

#include "exec/bounds.h"

namespace basalt::exec {

class ZoneFilter {
 public:
  // nullptr: every row passes. The predicate must outlive the filter.
  explicit ZoneFilter(const Expr* predicate);

  // What decide() says of each zone of a chunk of so many rows, by statistics of the whole chunk or, where these leave
  // it open, of each zone. `columns`: those that the predicate counts; nullptr where nothing is known. The result is
  // good until the next call.
  const std::vector<Decision>& decide_zones(const std::vector<const ColumnChunkInfo*>& columns, uint64_t rows);

 private:
  // Rows pass where the column's value is in [low, high].
  struct Range {
    uint32_t column = 0;
    Physical type = Physical::kI64;
    IntegerRange of_type;
    IntegerRange passing;

    Decision decide(const Statistics* stats) const;
  };
  bool add_to_ranges(const Expr& conjunct);
  Decision decide_others(Decision so_far) const;
  Decision decide_chunk(const std::vector<const ColumnChunkInfo*>& columns);

  std::vector<Range> ranges_;
  std::vector<const Expr*> others_;
  std::vector<Decision> zones_;
  StatisticsList stats_;
};

}  // namespace basalt::exec
