// Encoding with units of a given length; AnsCodec::encode() takes that of a zone.
#pragma once

#include "basalt/codec/codec.h"

namespace basalt::ans {

// unit_tiles: kShortUnit or kLongUnit. Throws Error(kUnsupported) if values lie too far apart.
Node encode(const Codec* codec, const Values& values, uint32_t unit_tiles);

}  // namespace basalt::ans
