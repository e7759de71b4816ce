// One value of any physical type: literals, statistics and results of aggregates.
#pragma once

#include <cstdint>
#include <string>

#include "basalt/core/host_device.h"
#include "basalt/core/types.h"

namespace basalt {

struct Value {
  Physical type = Physical::kI64;
  bool null = true;
  int128_t integer = 0;  // every integer type, bool, dates, scaled decimals
  double real = 0;       // kF32, kF64
  std::string bytes;     // kBytes

  static Value of_integer(Physical type, int128_t value);
  static Value of_real(Physical type, double value);
  static Value of_bytes(std::string value);
  static Value of_null(Physical type);
};

// The value stored at `data`, which points at one fixed-width value of this type; and the way back.
Value load_value(Physical type, const void* data);
void store_value(const Value& value, void* data);

// −1, 0, 1 by the type's own order; neither may be NULL. Floats: −0.0 equals 0.0, NaN equals NaN and is the largest.
int compare(const Value& a, const Value& b);

// As SQL prints it: decimals with their point, dates as 2024-01-31, strings as they are.
std::string format_value(const Value& value, const DataType& type);

}  // namespace basalt
