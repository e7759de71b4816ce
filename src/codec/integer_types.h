// Questions about types of integers that several codecs ask.
#pragma once

#include "basalt/core/types.h"

namespace basalt {

// Of these bytes.
inline Physical signed_of_width(uint32_t width) {
  switch (width) {
    case 1: return Physical::kI8;
    case 2: return Physical::kI16;
    case 4: return Physical::kI32;
    case 8: return Physical::kI64;
    default: return Physical::kI128;
  }
}

// Integers that a word of 64 bits holds.
inline bool fits_word(Physical type) { return is_integer(type) && type != Physical::kI128; }

}  // namespace basalt
