// From a physical type known at run time to a C++ type known at compile time. Codecs that only move or add bits use the
// unsigned form by width (five instantiations); code that compares uses the typed form.
#pragma once

#include <utility>

#include "basalt/core/error.h"
#include "basalt/core/host_device.h"
#include "basalt/core/types.h"

namespace basalt {

// body(T{}) with the unsigned type of this width in bytes.
template <typename Body>
decltype(auto) dispatch_width(uint32_t width, Body&& body) {
  switch (width) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    case 8: return body(uint64_t{});
    case 16: return body(uint128_t{});
    default: throw Error(ErrorCode::kInternal, "no fixed-width type of " + std::to_string(width) + " bytes");
  }
}

// body(T{}) with the type that orders values as SQL does.
template <typename Body>
decltype(auto) dispatch_typed(Physical type, Body&& body) {
  switch (type) {
    case Physical::kU8: return body(uint8_t{});
    case Physical::kU16: return body(uint16_t{});
    case Physical::kU32: return body(uint32_t{});
    case Physical::kU64: return body(uint64_t{});
    case Physical::kI8: return body(int8_t{});
    case Physical::kI16: return body(int16_t{});
    case Physical::kI32: return body(int32_t{});
    case Physical::kI64: return body(int64_t{});
    case Physical::kI128: return body(int128_t{});
    case Physical::kF32: return body(float{});
    case Physical::kF64: return body(double{});
    case Physical::kNone:
    case Physical::kBytes: break;
  }
  throw Error(ErrorCode::kInternal, std::string("no fixed-width values of type ") + to_string(type));
}

}  // namespace basalt
