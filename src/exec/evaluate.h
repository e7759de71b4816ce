// Expressions prepared for one chunk and evaluated tile by tile. Preparing looks at the chunk's statistics: arithmetic
// that cannot overflow is computed without checks, in the narrowest integers that hold every result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "basalt/codec/string_test.h"
#include "basalt/core/buffer.h"
#include "exec/vector.h"

namespace basalt::exec {

// One operation with its scratch memory. Not thread-safe: each thread prepares its own.
struct Step {
  const Expr* expr = nullptr;
  Lane lane = Lane::kI32;
  bool may_throw = false;             // this operation itself: arithmetic is computed in 128 bits, every row checked
  bool null_if_out_of_range = false;  // what it would throw is NULL
  IntegerRange range;                 // of the values, for integers
  std::vector<Step> args;

  Buffer data;       // 1024 results
  Buffer valid;      // where two arguments' NULLs meet
  Buffer converted;  // the results in a wider lane; a literal, repeated
  Lane converted_lane = Lane::kBool;
  Buffer texts;                    // strings that it makes
  Buffer masks[2];                 // choices: rows without a value, rows that get one
  std::vector<int128_t> integers;  // kIn: the list, sorted
  std::vector<double> reals;
  std::vector<std::string_view> strings;  // sorted
  // For a predicate on one string column, unless it would have too many states.
  std::shared_ptr<const Automaton> automaton;
};

// The automata of an expression's tests of strings. They do not depend on statistics: who prepares chunk after chunk
// keeps them. The expressions must outlive it.
class Automata {
 public:
  std::shared_ptr<const Automaton> of(const Expr& predicate);  // nullptr: there is none

 private:
  std::map<const Expr*, std::shared_ptr<const Automaton>> known_;
};
Step prepare(const Expr& expr, const StatisticsList& stats, Automata& automata);
inline Step prepare(const Expr& expr, const StatisticsList& stats) {
  Automata automata;
  return prepare(expr, stats, automata);
}

// Values of the expression for the input's rows, in the step's lane. The result lives until the step runs again, or,
// for a column, until the input moves on.
Vector evaluate(Step& step, TileInput& input);
// A predicate as kBool; a column or literal of type kU8 is true where it is not zero.
Vector evaluate_predicate(Step& step, TileInput& input);

// Checks that a caller's expression is well-formed: types, arities, columns. Throws Error(kInvalidArgument).
void check_expression(const Expr& expr, const std::vector<PipelineColumn>& columns);

// How a cast between integers computes in a lane: times `by`, or divided by it. The arguments of the one and the
// results of the other must lie within [least, most].
struct IntegerScaling {
  bool up = true;
  int128_t by = 1;
  int128_t least = 0;
  int128_t most = 0;
};
IntegerScaling scaling_in(const Expr& cast, Lane lane);
struct RealToDecimal;
RealToDecimal real_to_decimal(const Expr& cast);

// Bits of an integer type, and those that are not its sign.
int32_t bits_of(Physical type);
int32_t value_bits_of(Physical type);
// 10^|digits| as kRound of floats has it.
double rounding_modifier(int32_t digits);
// 10^|power_of_ten| of a change of units.
int64_t moment_power(const Expr& expr);

// Whether both have the same value for every row.
bool same_expression(const Expr& a, const Expr& b);

// All columns an expression reads, ascending, each once.
std::vector<uint32_t> columns_of(const Expr& expr);
// What an AND, however nested, is made of, as written; of another predicate itself.
std::vector<const Expr*> conjuncts_of(const Expr& predicate);

}  // namespace basalt::exec
