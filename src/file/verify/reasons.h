// How parts of `verify` refuse a file: an error that says what does not hold. The file and the place are added above.
#pragma once

#include <string>

#include "basalt/core/error.h"

namespace basalt::format_v1 {

[[noreturn]] inline void fail(const std::string& reason) { throw Error(ErrorCode::kCorrupt, reason); }
inline void require(bool holds, const char* reason) {
  if (!holds) fail(reason);
}

}  // namespace basalt::format_v1
