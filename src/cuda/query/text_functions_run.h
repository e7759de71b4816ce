// Functions of strings, evaluated on the device once for each distinct string.
#pragma once

#include "basalt/exec/pipeline.h"
#include "codec/strings/gpu/texts.h"
#include "cuda/codec/decode_strings.h"

namespace basalt::cuda {

// What `function` of column 0 gives for each of `count` strings that is used: `used` has a byte for each. For others
// anything.
struct TextResults {
  DeviceStrings strings;  // of a function that gives strings
  DeviceBuffer values;    // else int64, or bytes of a predicate
};
// Waits for the stream. Throws Error(kUnsupported) where the device does not know what a string needs, as letters
// beyond ASCII in another case.
TextResults evaluate_texts(const Expr& function, const strings::Texts& texts, uint64_t count, const uint8_t* used,
                           cudaStream_t stream);

}  // namespace basalt::cuda
