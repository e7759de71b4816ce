// Which random statements a test makes: from the environment, where more or others are wanted.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "sql/support.h"

namespace basalt::testing {

// On the GPU each takes about a second to compile.
inline int statements_of(Device device, int usual = 500) {
  const char* wanted = std::getenv("BASALT_RANDOM_STATEMENTS");
  if (wanted != nullptr) return std::atoi(wanted);
  return kQuick || device == Device::kCuda ? 60 : usual;
}

inline uint32_t first_seed() {
  const char* wanted = std::getenv("BASALT_RANDOM_SEED");
  return wanted == nullptr ? 0 : static_cast<uint32_t>(std::atoi(wanted));
}

}  // namespace basalt::testing
