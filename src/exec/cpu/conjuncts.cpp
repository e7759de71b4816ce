#include "exec/cpu/conjuncts.h"

#include <algorithm>
#include <cstring>

#include "exec/loops.h"
#include "exec/narrowed_input.h"

namespace basalt::exec {

Conjuncts::Conjuncts(const Expr& predicate) : predicates_(conjuncts_of(predicate)), live_(kTileRows) {}

void Conjuncts::open(const StatisticsList& stats) {
  std::vector<const Expr*> ordered = predicates_;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [&](const Expr* predicate) { return !truth_of(*predicate, stats).may_throw; });
  steps_.clear();
  for (const Expr* predicate : ordered) steps_.push_back(prepare(*predicate, stats));
}

const uint8_t* Conjuncts::run(TileInput& input) { return run_all(input, nullptr); }

const uint8_t* Conjuncts::run_with_nulls(TileInput& input, uint8_t* unknown) {
  std::fill_n(unknown, input.rows(), uint8_t{0});
  return run_all(input, unknown);
}

const uint8_t* Conjuncts::run_all(TileInput& input, uint8_t* unknown) {
  const uint32_t rows = input.rows();
  uint8_t* live = live_.data();
  if (input.live() == nullptr) {
    std::fill_n(live, rows, uint8_t{1});
  } else {
    std::copy_n(input.live(), rows, live);
  }
  NarrowedInput narrowed(input, live);
  for (Step& step : steps_) {
    const Vector holds = evaluate_predicate(step, narrowed);
    if (unknown != nullptr && holds.valid != nullptr) {
      for (uint32_t i = 0; i < rows; ++i) {
        const auto null = static_cast<uint8_t>(holds.valid[i] ^ 1);
        unknown[i] |= null;
        live[i] &= static_cast<uint8_t>(holds.as<uint8_t>()[i] | null);
      }
    } else {
      mask_and(live, holds.as<uint8_t>(), rows);
    }
    if (std::memchr(live, 1, rows) == nullptr) return nullptr;
  }
  return live;
}

}  // namespace basalt::exec
