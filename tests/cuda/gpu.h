// What GPU tests share: a loud skip where there is no GPU, and equality of values to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "basalt/cuda/backend.h"

namespace basalt::test {

#define BASALT_NEEDS_GPU()                                        \
  if (gpu().backend == nullptr) {                                 \
    GTEST_SKIP() << "GPU test skipped: " << gpu().reason << "\n"; \
  }

inline bool same_value(const Value& a, const Value& b) {
  if (a.type != b.type || a.null != b.null) return false;
  if (a.null) return true;
  if (is_float(a.type)) {
    return (std::isnan(a.real) && std::isnan(b.real)) || std::memcmp(&a.real, &b.real, sizeof(double)) == 0;
  }
  return a.integer == b.integer;
}

inline std::string show(const Value& value) {
  if (value.null) return "NULL";
  if (is_float(value.type)) return std::to_string(value.real);
  return format_value(Value::of_integer(Physical::kI128, value.integer), {TypeKind::kInt128, 0, 0, TimeUnit::kMicro});
}

}  // namespace basalt::test
