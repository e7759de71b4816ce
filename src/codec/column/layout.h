// `column_i8` … `column_u64`: the column of another field, of the same rows, whose type the name says, as integers of
// the type that is wanted: sign- or zero-extended to 64 bits, then cut to the width.
//
// Streams: none. Parameters: u32 field, the source's; kNoField: the child is no column. Children: 0 source, that
// column's array of the same chunk without its NULLs, whose streams are the column's own.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::column {

constexpr uint32_t kSource = 0;
constexpr uint32_t kParameterBytes = 4;
constexpr uint32_t kNoField = ~0u;

}  // namespace basalt::column
