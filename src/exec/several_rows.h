// The error of a subquery that stands for a value and gives several rows, as DuckDB says it: plans are searched for it.
#pragma once

namespace basalt::exec {

constexpr const char* kSeveralRows =
    "More than one row returned by a subquery used as an expression - scalar subqueries can only return a single "
    "row.\n\nUse \"SET scalar_subquery_error_on_multiple_rows=false\" to revert to previous behavior of returning a "
    "random row.";

}  // namespace basalt::exec
