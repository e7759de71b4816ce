// `numbered`: strings that are one text and a number of fixed width, as `Customer#000000001`.
//
// Streams: none. Parameters: byte 0: the number of digits, 1…19; then the text that every row begins with. Children:
// 0 numbers (uint64, one per row). Row i is the text and number i in decimal with zeros before it.
// A number of more digits is corruption that only the values show: readers leave its upper digits out and report it.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::numbered {

constexpr uint32_t kNumbers = 0;
constexpr uint32_t kMostDigits = 19;
constexpr uint32_t kMostParameterBytes = 4096;

// Writes the last `digits` digits; returns what is left of the number.
BASALT_HD uint64_t put_digits(uint64_t number, uint32_t digits, char* out) {
  for (uint32_t i = digits; i > 0; --i) {
    out[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
  return number;
}

}  // namespace basalt::numbered
