// A filter as statistics are asked about it, zone after zone of a table: made once for a statement. Conjuncts that
// compare a column of integers (dates and decimals are) with a literal become one range for each column, and a zone's
// smallest and largest value are compared with its ends; two such columns are compared by theirs. All others go through
// decide(), for zones that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/bounds.h"

namespace basalt::exec {

class ZoneFilter {
 public:
  // nullptr: every row passes. The predicate must outlive the filter, and so must statistics.
  explicit ZoneFilter(const Expr* predicate);

  // What decide() says of each zone of a chunk of so many rows, by statistics of the whole chunk or, where these leave
  // it open, of each zone. `columns`: those that the predicate counts; nullptr where nothing is known. The result is
  // good until the next call.
  const std::vector<Decision>& decide_zones(const std::vector<const ColumnChunkInfo*>& columns, uint64_t rows);

 private:
  // A column of integers.
  struct Integers {
    uint32_t column = 0;
    Physical type = Physical::kI64;
    IntegerRange of_type;

    IntegerRange range(const Statistics* stats) const;  // nullptr: nothing is known
  };
  // Rows pass where the column's value is in [low, high].
  struct Range {
    Integers values;
    IntegerRange passing;
    bool may_fail = false;  // within it, too

    Decision decide(const Statistics* stats) const;
    // Of all zones of a chunk whose bounds lie together; false where they do not.
    bool decide_all(const ColumnChunkInfo* column, std::vector<Decision>& zones) const;
  };
  // Rows pass where the one column is less than the other, or equal.
  struct Pair {
    Integers less;
    Integers more;
    bool or_equal = false;

    Decision decide(const Statistics* of_less, const Statistics* of_more) const;
  };
  struct Other {
    const Expr* conjunct = nullptr;
    // Of one that reads a single column of strings, the last answer and for what it was given. Many columns have the
    // same few strings in all zones.
    std::optional<uint32_t> texts;
    const Statistics* asked = nullptr;
    Decision answer = Decision::kUnknown;
  };
  bool add_to_ranges(const Expr& conjunct);
  bool add_member(const Expr& conjunct);
  bool add_pair(const Expr& conjunct);
  void add_other(const Expr& conjunct);
  Decision decide_others(Decision so_far);
  Decision decide_chunk(const std::vector<const ColumnChunkInfo*>& columns);

  std::vector<Range> ranges_;
  std::vector<Pair> pairs_;
  std::vector<Other> others_;
  std::vector<Decision> zones_;
  StatisticsList stats_;
};

}  // namespace basalt::exec
