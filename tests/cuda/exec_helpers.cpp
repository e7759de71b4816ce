// The random tables and predicates of tests/exec, compiled into this program too: both backends answer to one oracle.
#include "exec/plain_dates.cpp"      // NOLINT(bugprone-suspicious-include)
#include "exec/plain_functions.cpp"  // NOLINT(bugprone-suspicious-include)
#include "exec/plain_texts.cpp"      // NOLINT(bugprone-suspicious-include)
#include "exec/random_expr.cpp"      // NOLINT(bugprone-suspicious-include)
#include "exec/tables.cpp"           // NOLINT(bugprone-suspicious-include)
