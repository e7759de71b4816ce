// Building expressions by hand, for callers who have no SQL: `less(column(file, "l_quantity", columns),
// literal(2400))`. Literals take the type of what they are compared with.
#pragma once

#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt {

// Refers to a top-level column; adds it to `columns` if it is not there yet.
Expr column(const File& file, const std::string& name, std::vector<PipelineColumn>& columns);

// A column by its place.
Expr column_reference(uint32_t place, Physical type);

Expr literal(Value value);
Expr literal(int64_t value);
Expr literal(double value);
Expr literal(std::string value);

// Comparisons; a literal on either side is converted to the other side's type, or Error(kInvalidArgument) if it does
// not fit it exactly.
Expr compare_with(ExprOp op, Expr a, Expr b);
inline Expr equal(Expr a, Expr b) { return compare_with(ExprOp::kEqual, std::move(a), std::move(b)); }
inline Expr not_equal(Expr a, Expr b) { return compare_with(ExprOp::kNotEqual, std::move(a), std::move(b)); }
inline Expr less(Expr a, Expr b) { return compare_with(ExprOp::kLess, std::move(a), std::move(b)); }
inline Expr less_equal(Expr a, Expr b) { return compare_with(ExprOp::kLessEqual, std::move(a), std::move(b)); }
inline Expr greater(Expr a, Expr b) { return compare_with(ExprOp::kGreater, std::move(a), std::move(b)); }
inline Expr greater_equal(Expr a, Expr b) { return compare_with(ExprOp::kGreaterEqual, std::move(a), std::move(b)); }

Expr in_list(Expr value, std::vector<Expr> literals);
// `%` stands for any bytes, `_` for one code point; a backslash takes their meaning away.
Expr like(Expr text, std::string pattern);
// What StringTest::regexp() asks; Error(kInvalidArgument) on use if it has no automaton.
Expr regexp(Expr text, std::string pattern);
Expr length(Expr text);
Expr byte_length(Expr text);
// Of code points, counted from 0.
Expr substring(Expr text, int64_t skip, int64_t count);
Expr all_of(std::vector<Expr> predicates);
Expr any_of(std::vector<Expr> predicates);
Expr negation(Expr predicate);
Expr is_null(Expr value);
Expr is_not_null(Expr value);

Aggregate count_rows();
Aggregate count(Expr value);
Aggregate sum(Expr value);
Aggregate min(Expr value);
Aggregate max(Expr value);

}  // namespace basalt
