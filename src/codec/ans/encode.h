// What encoders on either side share: which units an array has, and encoding with units of a given length.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt::ans {

// Of an array whose short units take so many bytes.
uint32_t unit_tiles_for(Purpose purpose, uint64_t rows, uint64_t short_unit_bytes);

// unit_tiles: kShortUnit or kLongUnit. Throws Error(kUnsupported) if values lie too far apart.
Node encode(const Codec* codec, const Values& values, uint32_t unit_tiles);

}  // namespace basalt::ans
