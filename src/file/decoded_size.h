// How decoded columns count against a limit that several of them share.
#pragma once

#include "basalt/file/reader.h"

namespace basalt {

// Takes from `left` what the column itself, without its children, holds beyond the bytes that it is stored in. NULL
// bitmaps beside values do not count: they are an eighth of them at most, and writers do not count them either.
void take_decoded(DecodeLimits& left, const Column& column, uint64_t stored);
// The same for a field of a chunk with all that lies below it.
void take_decoded(DecodeLimits& left, const File& file, const Field& field, uint32_t chunk, const Column& column);

}  // namespace basalt
