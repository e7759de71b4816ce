// Predicates on one string column as tests that encodings answer, and as tests of decoded strings where none does.
#pragma once

#include <memory>
#include <optional>

#include "basalt/codec/string_test.h"
#include "exec/vector.h"

namespace basalt::exec {

// What the predicate asks of a column of strings; nullopt if it asks something else. NULLs in lists are left out.
std::optional<StringTest> string_test_of(const Expr& predicate);
// The column it asks about.
uint32_t tested_column(const Expr& predicate);

// What kSubstring takes of a string.
StringTest::Part part_of(const Expr& substring);

// Outcomes that LIKE may have for strings within [low, high]; NULL = no bound.
Truth like_truth(const LikePattern& pattern, const Value& low, const Value& high);

}  // namespace basalt::exec
