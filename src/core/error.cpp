// Names of error codes, as programs see them in JSON output and tests.
#include "basalt/core/error.h"

namespace basalt {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kIo: return "input/output";
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kOutOfRange: return "out of range";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kDevice: return "device";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kOverLimit: return "over the limit";
  }
  return "unknown";
}

}  // namespace basalt
