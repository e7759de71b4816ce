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

// Digits that a text ends with, kMostDigits of them at most.
BASALT_HD uint32_t digits_at_end(const unsigned char* text, uint64_t length) {
  uint32_t digits = 0;
  while (digits < length && digits < kMostDigits && text[length - 1 - digits] >= '0' &&
         text[length - 1 - digits] <= '9') {
    ++digits;
  }
  return digits;
}

BASALT_HD uint64_t read_digits(const unsigned char* text, uint32_t digits) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < digits; ++i) number = number * 10 + (text[i] - static_cast<uint32_t>('0'));
  return number;
}

}  // namespace basalt::numbered
