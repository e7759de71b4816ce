#include "exec/cpu/magnitude_sink.h"

#include <algorithm>

namespace basalt::exec {

bool MagnitudeSink::open(const PartBegin& part) {
  steps_.clear();
  for (const Expr* argument : arguments_) steps_.push_back(prepare(*argument, part.stats));
  return true;
}

void MagnitudeSink::add(TileInput& input, uint64_t) {
  const uint8_t* live = input.live();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Vector vector = evaluate(steps_[i], input);
    int32_t& exponent = exponents_[i];
    const auto look = [&](const auto* values) {
      for (uint32_t row = 0; row < input.rows(); ++row) {
        if ((live != nullptr && live[row] == 0) || (vector.valid != nullptr && vector.valid[row] == 0)) continue;
        const auto value = static_cast<double>(values[row]);
        if (special_of(value) == 0) exponent = std::max(exponent, exponent_above(value));
      }
    };
    if (vector.lane == Lane::kF32) {
      look(vector.as<float>());
    } else {
      look(vector.as<double>());
    }
  }
}

}  // namespace basalt::exec
