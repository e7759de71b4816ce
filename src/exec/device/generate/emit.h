// Text of expressions inside generated kernels: one row at a time, in SQL's three-valued logic, with temporaries named
// in the order they are computed. Lanes and overflow proofs come from the interpreter's own preparation
// (exec/evaluate.h), so that both backends compute alike.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exec/device/work.h"
#include "exec/evaluate.h"

namespace basalt::device {

const char* lane_type(exec::Lane lane);
const char* logical_type(Physical type);
std::string constant_text(int128_t value);
std::string real_text(double value);
exec::Lane widest(exec::Lane a, exec::Lane b);  // in which two integers meet
bool is_real(exec::Lane lane);

// The headers, beside exec/scalar.h, whose functions the expression calls; added to `headers`.
void add_headers(const Expr& expr, std::set<std::string>& headers);

// A list of literals that a kernel searches in memory: the literal with this number becomes its address and length.
struct LiteralList {
  uint32_t literal = 0;
  std::vector<int64_t> values;
};
// Lists of fewer literals are compared one by one.
constexpr size_t kFewInList = 8;

// A literal that each run has anew: a part of the place of a set (exec/set_places.h).
struct SetLiteral {
  uint32_t literal = 0;
  uint32_t set = 0;
  uint32_t part = 0;  // of SetPlace: 0 to 2
  uint32_t bits = 0;  // not 0: of within_32_bits()
};

// Literals become kernel parameters, so that statements that differ only in them share one kernel.
class LiteralTable {
 public:
  // The name of a parameter of this type that holds the value.
  std::string add(const Value& value, const std::string& type);
  // The name of a list of integers, ascending, which is a parameter, too.
  std::string add_list(std::vector<int64_t> values);
  // The names of the parts of the place of a set; `bits`: of within_32_bits(), or 0.
  std::array<std::string, 3> add_set(uint32_t set, uint32_t bits);
  const std::vector<Literal>& values() const { return values_; }
  const std::vector<LiteralList>& lists() const { return lists_; }
  const std::vector<SetLiteral>& sets() const { return sets_; }
  const std::vector<std::string>& declarations() const { return declarations_; }

 private:
  std::vector<Literal> values_;
  std::vector<LiteralList> lists_;
  std::vector<SetLiteral> sets_;
  std::vector<std::string> declarations_;
};

// An expression's value in the generated text. `valid` is empty where NULL is impossible. Booleans are false where
// NULL.
struct Emitted {
  std::string value;
  std::string valid;
  exec::Lane lane = exec::Lane::kI32;
};

struct ColumnNames {
  std::string value;  // an expression for the row's value
  std::string valid;  // for whether it is valid; empty = never NULL
  exec::Lane lane = exec::Lane::kI32;
};

// Predicates whose answer is there before the rows are looked at.
using KnownPredicates = std::map<const Expr*, Emitted>;

class RowEmitter {
 public:
  RowEmitter(const std::vector<ColumnNames>& columns, LiteralTable& literals, std::string indent,
             KnownPredicates known = {})
      : columns_(columns), literals_(literals), indent_(std::move(indent)), known_(std::move(known)) {}

  Emitted value(const exec::Step& step);
  Emitted predicate(const exec::Step& step);
  const std::string& text() const { return text_; }
  void line(const std::string& statement) { text_ += indent_ + statement + "\n"; }

 private:
  Emitted arithmetic(const exec::Step& step);
  Emitted cast(const exec::Step& step);
  Emitted cast_to_real(const exec::Step& step);
  Emitted cast_from_real(const exec::Step& step, const Emitted& a);
  Emitted comparison(const exec::Step& step);
  Emitted in_list(const exec::Step& step);
  std::string asked(const std::string& function, const std::string& type, const Emitted& number, const exec::Step& step,
                    uint32_t bits);
  Emitted member(const exec::Step& step);
  Emitted look_up(const exec::Step& step);
  std::string in_long_list(const Emitted& value, const std::vector<const Value*>& items);
  Emitted connective(const exec::Step& step);
  Emitted distinct(const exec::Step& step);
  Emitted case_of(const exec::Step& step);
  Emitted coalesce(const exec::Step& step);
  Emitted division(const exec::Step& step);
  Emitted number_function(const exec::Step& step);
  Emitted square_root(const exec::Step& step);
  Emitted bit_operation(const exec::Step& step);
  Emitted extreme(const exec::Step& step);
  Emitted date_function(const exec::Step& step);
  // A call of one of the functors that the interpreter calls, too. What it says beside its result counts as far as
  // `may_null` and the step's own may_throw go.
  Emitted call(const exec::Step& step, const std::string& functor, const std::vector<std::string>& args,
               const std::string& valid, exec::Lane lane, bool may_null);
  // The text for `step` where only rows for which `condition` holds may raise errors.
  Emitted value_where(const exec::Step& step, const std::string& condition);
  Emitted checked(const exec::Step& step, const std::string& operation, const std::string& a, const std::string& b,
                  const std::string& valid);
  std::string temporary(const std::string& type, const std::string& text);
  std::string both_valid(const std::string& a, const std::string& b);
  std::string in_lane(const Emitted& value, exec::Lane lane);
  // Whether two values are equal.
  std::string equality(const Emitted& a, const Emitted& b);

  const std::vector<ColumnNames>& columns_;
  LiteralTable& literals_;
  std::string indent_;
  KnownPredicates known_;
  std::string text_;
  std::string live_ = "live";  // says whether the row's errors count
  uint32_t next_ = 0;
};

}  // namespace basalt::device
