// Rows of a chunk of strings whose texts lie on the device, and those of them that are wanted. Shared by kernels, the
// host and tests.
#pragma once

#include "codec/strings/gpu/texts.h"

namespace basalt::cuda {

// Row i of a chunk is text codes[i], or text i where there are no codes. Codes may lie beyond the texts.
struct TextRows {
  uint64_t rows = 0;
  const uint32_t* codes = nullptr;
  const uint8_t* valid = nullptr;  // one byte per row; nullptr: no NULLs
  uint32_t texts = 0;              // place in DecodedTexts::texts
};

// Where the text of a wanted row lies.
struct WantedText {
  const unsigned char* bytes;
  uint64_t length;  // of a NULL: 0
  bool valid;
  bool sound;  // else there is no such row or text, and this is an empty one
};

// Rows of a chunk that are wanted, by ascending numbers.
struct WantedRows {
  TextRows rows{};
  strings::Texts texts{};  // of the chunk
  uint64_t text_count = 0;
  const uint64_t* numbers = nullptr;
  uint64_t first_number = 0;  // of the chunk's first row
  uint64_t count = 0;         // of numbers
  uint64_t first = 0;         // where their strings begin among all that are gathered together
  uint8_t* valid = nullptr;   // for each number a byte, which becomes 1 or, of NULLs, 0; nullptr: nobody asks

  BASALT_HD WantedText at(uint64_t i) const {
    const uint64_t row = numbers[i] - first_number;
    if (row >= rows.rows) return {nullptr, 0, false, false};
    const bool there = rows.valid == nullptr || rows.valid[row] != 0;
    const uint64_t text = rows.codes != nullptr ? rows.codes[row] : row;
    if (text >= text_count) return {nullptr, 0, there, false};
    const int64_t begin = texts.offsets[text];
    return {texts.bytes_at(begin), there ? static_cast<uint64_t>(texts.offsets[text + 1] - begin) : 0, there, true};
  }
};

}  // namespace basalt::cuda
