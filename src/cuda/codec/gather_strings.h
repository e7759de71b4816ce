// Strings picked out of others, on the device.
#pragma once

#include "codec/strings/gpu/texts.h"
#include "cuda/codec/decode_strings.h"

namespace basalt::cuda {

// The strings of the first `count` of `rows`, one behind the other. `valid`: a byte for each, 0: nothing in its place.
DeviceStrings gather_strings(const strings::Texts& texts, const uint32_t* rows, uint64_t count, cudaStream_t stream,
                             const uint8_t* valid = nullptr);

}  // namespace basalt::cuda
