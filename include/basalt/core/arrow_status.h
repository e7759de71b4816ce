// What Arrow's streams return for an error: errno's numbers, of which those that end work from outside come back as the
// codes that they were. Everything else is a sentence.
#pragma once

#include <cerrno>

#include "basalt/core/error.h"

namespace basalt {

inline int arrow_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled: return ECANCELED;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kOverLimit: return ENOMEM;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange: return EINVAL;
    default: return EIO;
  }
}

// `other`: for what only the stream's sentence tells.
inline ErrorCode arrow_error_code(int status, ErrorCode other) {
  if (status == ECANCELED) return ErrorCode::kCancelled;
  return status == ENOMEM ? ErrorCode::kOutOfMemory : other;
}

}  // namespace basalt
