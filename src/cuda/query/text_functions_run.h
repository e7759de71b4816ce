// Functions of strings, evaluated on the device once for each distinct string or, of several columns, for each row.
#pragma once

#include <vector>

#include "basalt/exec/pipeline.h"
#include "codec/strings/gpu/texts.h"
#include "cuda/codec/decode_strings.h"

namespace basalt::cuda {

// What a function is evaluated for: the strings of a list, or rows whose columns are numbers of a list's strings.
struct TextItems {
  // A column of the function, by item.
  struct Column {
    const uint32_t* numbers = nullptr;  // nullptr: item i is string i
    const uint8_t* valid = nullptr;     // a byte for each; nullptr: none is NULL
  };
  strings::Texts texts{};
  uint64_t text_count = 0;
  uint64_t count = 0;
  const uint8_t* used = nullptr;  // a byte for each item
  std::vector<Column> columns;
};

// What a function of the items' columns gives for each of them that is used; for others anything. NULL counts only in
// coalesce() of a column and a literal.
struct TextResults {
  DeviceStrings strings;  // of a function that gives strings
  DeviceBuffer values;    // else int64, or bytes of a predicate
};
// Waits for the stream. Throws Error(kUnsupported) where the device does not know what a string needs, as letters
// beyond ASCII in another case.
TextResults evaluate_texts(const Expr& function, const TextItems& items, cudaStream_t stream);

}  // namespace basalt::cuda
