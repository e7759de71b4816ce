#include "exec/cpu/group_states.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "core/float_key.h"
#include "exec/aggregate.h"
#include "exec/fixed_sum.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

// body(row) gets the value of a row of the vector, as T where lanes differ in width only.
template <typename T, typename Body>
void for_each_integer(const Vector& values, const GroupedRows& rows, const Body& body) {
  const auto loop = [&](const auto* from) {
    for (uint32_t i = 0; i < rows.count; ++i) body(rows.groups[i], static_cast<T>(from[rows.rows[i]]));
  };
  switch (values.lane) {
    case Lane::kI32: return loop(values.as<int32_t>());
    case Lane::kI64: return loop(values.as<int64_t>());
    case Lane::kBool: return loop(values.as<uint8_t>());
    default: return loop(values.as<int128_t>());
  }
}

template <typename Body>
void for_each_real(const Vector& values, const GroupedRows& rows, const Body& body) {
  const auto loop = [&](const auto* from) {
    for (uint32_t i = 0; i < rows.count; ++i) body(rows.groups[i], static_cast<double>(from[rows.rows[i]]));
  };
  return values.lane == Lane::kF32 ? loop(values.as<float>()) : loop(values.as<double>());
}

class CountStates : public GroupStates {
 public:
  void resize(size_t groups) override { counts_.resize(groups); }
  void add(const Vector&, const GroupedRows& rows) override {
    for (uint32_t i = 0; i < rows.count; ++i) ++counts_[rows.groups[i]];
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const CountStates&>(from);
    for (size_t i = 0; i < groups; ++i) counts_[map[i]] += other.counts_[i];
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    for (size_t i = 0; i < groups; ++i) out.add_integer(static_cast<int128_t>(counts_[i]));
  }

 private:
  std::vector<uint64_t> counts_;
};

// Sums and averages of integers. Sum: int64_t or int128_t where the sum of all rows fits it, else WideSum.
template <typename Sum>
class IntegerSumStates : public GroupStates {
 public:
  explicit IntegerSumStates(const Aggregate& aggregate) : aggregate_(aggregate) {}
  void resize(size_t groups) override {
    counts_.resize(groups);
    sums_.resize(groups);
  }
  void add(const Vector& values, const GroupedRows& rows) override {
    for (uint32_t i = 0; i < rows.count; ++i) ++counts_[rows.groups[i]];
    using Value = std::conditional_t<std::is_same_v<Sum, int64_t>, int64_t, int128_t>;
    for_each_integer<Value>(values, rows, [&](uint32_t group, Value value) { add_to(sums_[group], value); });
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const IntegerSumStates&>(from);
    for (size_t i = 0; i < groups; ++i) {
      counts_[map[i]] += other.counts_[i];
      add_to(sums_[map[i]], other.sums_[i]);
    }
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    for (size_t i = 0; i < groups; ++i) {
      AggregateState state;
      state.count = counts_[i];
      if constexpr (std::is_same_v<Sum, WideSum>) {
        state.sum = sums_[i];
      } else {
        state.sum.add(sums_[i]);
      }
      out.add_value(exec::finish(aggregate_, state));
    }
  }

 private:
  // Unsigned inside: statistics that lie must not become undefined behaviour.
  static void add_to(int64_t& sum, int64_t value) {
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
  }
  static void add_to(int128_t& sum, int128_t value) {
    sum = static_cast<int128_t>(static_cast<uint128_t>(sum) + static_cast<uint128_t>(value));
  }
  static void add_to(WideSum& sum, int128_t value) { sum.add(value); }
  static void add_to(WideSum& sum, const WideSum& other) { sum.add(other); }

  const Aggregate& aggregate_;
  std::vector<uint64_t> counts_;
  std::vector<Sum> sums_;
};

// Sums and averages of floats: see fixed_sum.h.
class FloatSumStates : public GroupStates {
 public:
  FloatSumStates(const Aggregate& aggregate, int32_t fraction) : aggregate_(aggregate), fraction_(fraction) {}
  void resize(size_t groups) override { states_.resize(groups); }
  void add(const Vector& values, const GroupedRows& rows) override {
    for_each_real(values, rows, [&](uint32_t group, double value) {
      State& state = states_[group];
      ++state.count;
      const uint32_t special = special_of(value);
      state.specials |= special;
      if (special == 0) state.add(to_fixed(value, fraction_));
    });
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const FloatSumStates&>(from);
    for (size_t i = 0; i < groups; ++i) {
      State& state = states_[map[i]];
      state.count += other.states_[i].count;
      state.specials |= other.states_[i].specials;
      state.add(other.states_[i].sum);
    }
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    for (size_t i = 0; i < groups; ++i) {
      AggregateState state;
      state.count = states_[i].count;
      state.real_sum = with_specials(from_fixed(states_[i].sum, fraction_), states_[i].specials);
      out.add_value(exec::finish(aggregate_, state));
    }
  }

 private:
  struct State {
    int128_t sum = 0;
    uint64_t count = 0;
    uint32_t specials = 0;
    void add(int128_t value) {
      sum = static_cast<int128_t>(static_cast<uint128_t>(sum) + static_cast<uint128_t>(value));
    }
  };
  const Aggregate& aggregate_;
  int32_t fraction_;
  std::vector<State> states_;
};

// T: int128_t, double or std::string. Better: whether its first argument replaces the second.
template <typename T>
class ExtremeStates : public GroupStates {
 public:
  explicit ExtremeStates(const Aggregate& aggregate) : minimum_(aggregate.op == AggregateOp::kMin) {}
  void resize(size_t groups) override {
    seen_.resize(groups);
    best_.resize(groups);
  }
  void add(const Vector& values, const GroupedRows& rows) override {
    if constexpr (std::is_same_v<T, int128_t>) {
      for_each_integer<int128_t>(values, rows, [&](uint32_t group, int128_t value) { take(group, value); });
    } else if constexpr (std::is_same_v<T, double>) {
      for_each_real(values, rows, [&](uint32_t group, double value) { take(group, value); });
    } else {
      const auto* texts = values.as<std::string_view>();
      for (uint32_t i = 0; i < rows.count; ++i) take(rows.groups[i], texts[rows.rows[i]]);
    }
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const ExtremeStates&>(from);
    for (size_t i = 0; i < groups; ++i) {
      if (other.seen_[i] != 0) take(map[i], other.best_[i]);
    }
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    for (size_t i = 0; i < groups; ++i) {
      if (seen_[i] == 0) {
        out.add_null();
      } else if constexpr (std::is_same_v<T, int128_t>) {
        out.add_integer(best_[i]);
      } else if constexpr (std::is_same_v<T, double>) {
        out.add_real(best_[i]);
      } else {
        out.add_text(best_[i]);
      }
    }
  }

 private:
  template <typename U>
  void take(uint32_t group, const U& value) {
    if (seen_[group] != 0 && !(minimum_ ? less(value, best_[group]) : less(best_[group], value))) return;
    seen_[group] = 1;
    best_[group] = value;
  }
  template <typename A, typename B>
  static bool less(const A& a, const B& b) {
    if constexpr (std::is_same_v<T, double>) {
      return real_less(a, b);
    } else {
      return a < b;
    }
  }

  bool minimum_;
  std::vector<uint8_t> seen_;
  std::vector<T> best_;
};

// first(), last() and any_value(): by the row's place in the input.
class PlaceStates : public GroupStates {
 public:
  PlaceStates(Physical type, bool last) : type_(type), last_(last) {}
  void resize(size_t groups) override { states_.resize(groups); }
  void add(const Vector& values, const GroupedRows& rows) override {
    for (uint32_t i = 0; i < rows.count; ++i) {
      State& state = states_[rows.groups[i]];
      const uint32_t row = rows.rows[i];
      if (!replaces(rows.places[row], state)) continue;
      state.place = rows.places[row];
      state.value = value_at(values, row);
    }
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const PlaceStates&>(from);
    for (size_t i = 0; i < groups; ++i) {
      if (other.states_[i].value && replaces(other.states_[i].place, states_[map[i]])) {
        states_[map[i]] = other.states_[i];
      }
    }
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    for (size_t i = 0; i < groups; ++i) out.add_value(states_[i].value ? *states_[i].value : Value::of_null(type_));
  }

 private:
  struct State {
    uint64_t place = 0;
    std::optional<Value> value;
  };
  bool replaces(uint64_t place, const State& state) const {
    return !state.value || (last_ ? place > state.place : place < state.place);
  }
  Value value_at(const Vector& values, uint32_t row) const {
    if (values.valid != nullptr && values.valid[row] == 0) return Value::of_null(type_);
    switch (values.lane) {
      case Lane::kI32: return Value::of_integer(type_, values.as<int32_t>()[row]);
      case Lane::kI64: return Value::of_integer(type_, values.as<int64_t>()[row]);
      case Lane::kI128: return Value::of_integer(type_, values.as<int128_t>()[row]);
      case Lane::kBool: return Value::of_integer(type_, values.as<uint8_t>()[row]);
      case Lane::kF32: return Value::of_real(type_, static_cast<double>(values.as<float>()[row]));
      case Lane::kF64: return Value::of_real(type_, values.as<double>()[row]);
      case Lane::kBytes: return Value::of_bytes(std::string(values.as<std::string_view>()[row]));
    }
    return {};
  }

  Physical type_;
  bool last_;
  std::vector<State> states_;
};

// Rows, mean and the sum of squared distances from it, merged by Chan's formula.
class VarianceStates : public GroupStates {
 public:
  explicit VarianceStates(AggregateOp op) : op_(op) {}
  void resize(size_t groups) override { states_.resize(groups); }
  void add(const Vector& values, const GroupedRows& rows) override {
    for_each_real(values, rows, [&](uint32_t group, double value) {
      State& state = states_[group];
      const double distance = value - state.mean;
      state.mean += distance / static_cast<double>(++state.count);
      state.squares += distance * (value - state.mean);
    });
  }
  void merge(const GroupStates& from, const uint32_t* map, size_t groups) override {
    const auto& other = static_cast<const VarianceStates&>(from);
    for (size_t i = 0; i < groups; ++i) {
      const State& b = other.states_[i];
      State& a = states_[map[i]];
      if (b.count == 0) continue;
      const auto total = static_cast<double>(a.count + b.count);
      const double distance = b.mean - a.mean;
      a.squares +=
          b.squares + distance * distance * static_cast<double>(a.count) * static_cast<double>(b.count) / total;
      a.mean += distance * static_cast<double>(b.count) / total;
      a.count += b.count;
    }
  }
  void finish(size_t groups, ColumnBuilder& out) const override {
    const bool sample = op_ == AggregateOp::kVarSamp || op_ == AggregateOp::kStddevSamp;
    const bool root = op_ == AggregateOp::kStddevPop || op_ == AggregateOp::kStddevSamp;
    for (size_t i = 0; i < groups; ++i) {
      const State& state = states_[i];
      if (state.count <= (sample ? 1u : 0u)) {
        out.add_null();
        continue;
      }
      const double variance =
          state.count == 1 ? 0 : state.squares / static_cast<double>(state.count - (sample ? 1 : 0));
      const double result = root ? std::sqrt(variance) : variance;
      if (!std::isfinite(result)) {
        const bool stddev = root;
        throw Error(ErrorCode::kOutOfRange,
                    std::string(stddev ? "STDDEV_" : "VAR") + (sample ? "SAMP" : "POP") + " is out of range!");
      }
      out.add_real(result);
    }
  }

 private:
  struct State {
    uint64_t count = 0;
    double mean = 0;
    double squares = 0;
  };
  AggregateOp op_;
  std::vector<State> states_;
};

std::unique_ptr<GroupStates> make_sum(const Aggregate& aggregate, const ArgumentFacts& facts) {
  if (is_float(aggregate.arg.type)) return std::make_unique<FloatSumStates>(aggregate, facts.fraction);
  if (sum_fits(facts.range, facts.rows, 63)) return std::make_unique<IntegerSumStates<int64_t>>(aggregate);
  if (sum_fits(facts.range, facts.rows, 126)) return std::make_unique<IntegerSumStates<int128_t>>(aggregate);
  return std::make_unique<IntegerSumStates<WideSum>>(aggregate);
}

}  // namespace

std::unique_ptr<GroupStates> make_states(const Aggregate& aggregate, const ArgumentFacts& facts) {
  const Physical type = aggregate.arg.type;
  switch (aggregate.op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return std::make_unique<CountStates>();
    case AggregateOp::kSum:
    case AggregateOp::kAvg: return make_sum(aggregate, facts);
    case AggregateOp::kMin:
    case AggregateOp::kMax:
      if (type == Physical::kBytes) return std::make_unique<ExtremeStates<std::string>>(aggregate);
      if (is_float(type)) return std::make_unique<ExtremeStates<double>>(aggregate);
      return std::make_unique<ExtremeStates<int128_t>>(aggregate);
    case AggregateOp::kFirst:
    case AggregateOp::kAnyValue: return std::make_unique<PlaceStates>(type, false);
    case AggregateOp::kLast: return std::make_unique<PlaceStates>(type, true);
    case AggregateOp::kVarPop:
    case AggregateOp::kVarSamp:
    case AggregateOp::kStddevPop:
    case AggregateOp::kStddevSamp: return std::make_unique<VarianceStates>(aggregate.op);
  }
  throw Error(ErrorCode::kInternal, "unknown aggregate");
}

}  // namespace basalt::exec
