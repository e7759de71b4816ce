#include "exec/set_places.h"

#include <algorithm>
#include <limits>

#include "basalt/exec/expressions.h"
#include "exec/stage_source.h"

namespace basalt::exec {

namespace {

constexpr size_t kSet = 1;
// Of kLookUp: the ends of its values.
constexpr size_t kLeastValue = 5;
constexpr size_t kMostValue = 6;

std::vector<Expr> arguments(Expr value, int64_t set, const SetPlace& place) {
  std::vector<Expr> out;
  out.push_back(std::move(value));
  for (const int64_t number : {set, place.least, place.count, place.address}) out.push_back(literal(number));
  return out;
}

template <typename E, typename F>
void for_each_asking(E& expr, const F& f) {
  if (asks_a_set(expr)) f(expr);
  for (E& arg : expr.args) for_each_asking(arg, f);
}

}  // namespace

Expr member_of(Expr value, int64_t set, const SetPlace& place) {
  Expr out;
  out.op = ExprOp::kMember;
  out.type = Physical::kU8;
  out.args = arguments(std::move(value), set, place);
  return out;
}

Expr looked_up(Expr number, int64_t set, const SetPlace& place, Physical type, int64_t low, int64_t high) {
  Expr out;
  out.op = ExprOp::kLookUp;
  out.type = type;
  out.args = arguments(std::move(number), set, place);
  out.args.push_back(literal(low));
  out.args.push_back(literal(high));
  return out;
}

bool asks_a_set(const Expr& expr) { return expr.op == ExprOp::kMember || expr.op == ExprOp::kLookUp; }

bool has_sets(const Expr& expr) { return asks_a_set(expr) || std::ranges::any_of(expr.args, has_sets); }

int64_t set_of(const Expr& expr) { return static_cast<int64_t>(expr.args[kSet].literal.integer); }

SetPlace set_place(const Expr& expr) {
  const auto number = [&](size_t i) { return static_cast<int64_t>(expr.args[i].literal.integer); };
  return {number(kSetLeast), number(kSetCount), number(kSetAddress)};
}

int64_t least_looked_up(const Expr& expr) { return static_cast<int64_t>(expr.args[kLeastValue].literal.integer); }
int64_t most_looked_up(const Expr& expr) { return static_cast<int64_t>(expr.args[kMostValue].literal.integer); }

SetPlace within_32_bits(const SetPlace& place, uint32_t bits) {
  constexpr int128_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int128_t kBehind = int128_t{std::numeric_limits<int32_t>::max()} + 1;
  const int128_t least = std::max<int128_t>(place.least, kLeast);
  const int128_t behind = std::min<int128_t>(int128_t{place.least} + place.count, kBehind);
  if (least >= behind) return {};
  return {static_cast<int64_t>(least), static_cast<int64_t>(behind - least),
          place.address + static_cast<int64_t>((least - place.least) * bits / 8)};
}

std::vector<SetPlace> set_places(const Pipeline& stage) {
  std::vector<SetPlace> out;
  for_each_expression(stage, [&](const Expr& expr) {
    for_each_asking(expr, [&](const Expr& asking) {
      const auto set = static_cast<size_t>(set_of(asking));
      if (out.size() <= set) out.resize(set + 1);
      out[set] = set_place(asking);
    });
  });
  return out;
}

void put_set_places(const std::vector<SetPlace>& places, Pipeline& stage) {
  for_each_expression(stage, [&](Expr& expr) {
    for_each_asking(expr, [&](Expr& asking) {
      const SetPlace& place = places.at(static_cast<size_t>(set_of(asking)));
      asking.args[kSetLeast] = literal(place.least);
      asking.args[kSetCount] = literal(place.count);
      asking.args[kSetAddress] = literal(place.address);
    });
  });
}

std::vector<SetPlace> places_anywhere(size_t sets) { return std::vector<SetPlace>(sets, {0, SetPlace::kAnywhere, 0}); }

}  // namespace basalt::exec
