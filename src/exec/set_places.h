// Where sets of numbers lie that the expressions of a stage ask (ExprOp::kMember, ExprOp::kLookUp). They belong to one
// run of a query, while everything else about a stage may be kept from run to run: so plans are made for sets that lie
// anywhere, and each run puts its own places in.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

struct SetPlace {
  static constexpr int64_t kAnywhere = -1;
  int64_t least = 0;  // of the numbers that may be in it
  int64_t count = 0;  // how many these are; kAnywhere: not known
  int64_t address = 0;
};

// kMember, or kLookUp with the range of its values: the array has no others, and what is not in it has the least one.
Expr member_of(Expr value, int64_t set, const SetPlace& place);
Expr looked_up(Expr number, int64_t set, const SetPlace& place, Physical type, int64_t low, int64_t high);

bool asks_a_set(const Expr& expr);
bool has_sets(const Expr& expr);  // in it or below it
int64_t set_of(const Expr& expr);
SetPlace set_place(const Expr& expr);
int64_t least_looked_up(const Expr& expr);
int64_t most_looked_up(const Expr& expr);
// What a set has for numbers of 32 bits, `bits` for each. Sets of single bits begin with a multiple of 32.
SetPlace within_32_bits(const SetPlace& place, uint32_t bits);
// Which of the arguments is the literal for each part of a place.
constexpr size_t kSetLeast = 2;
constexpr size_t kSetCount = 3;
constexpr size_t kSetAddress = 4;

// The places of all sets of a stage, by number.
std::vector<SetPlace> set_places(const Pipeline& stage);
void put_set_places(const std::vector<SetPlace>& places, Pipeline& stage);
// Of which nothing about numbers follows.
std::vector<SetPlace> places_anywhere(size_t sets);

}  // namespace basalt::exec
