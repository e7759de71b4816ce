// The one exception type of Basalt: a code for programs and a sentence for people that names the file, the column and
// the reason.
#pragma once

#include <stdexcept>
#include <string>

namespace basalt {

enum class ErrorCode {
  kInvalidArgument,  // the caller asked for something that makes no sense
  kUnsupported,      // a type, codec, feature or version this build cannot handle
  kCorrupt,          // a file or stream that breaks the format's rules
  kIo,               // the operating system refused
  kOutOfMemory,      // a limit given by the user or the machine was reached
  kOutOfRange,       // arithmetic left its type, as SQL defines it
  kCancelled,        // the caller asked to stop
  kDevice,           // the GPU or its driver failed, or there is none
  kInternal,         // a broken promise of our own
  kOverLimit,        // values need more memory than the caller allows: with the same limit they always will
};

const char* to_string(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

  // The same error with a place in front of its sentence: `"lineitem.basalt: column l_tax: " + what()`.
  Error within(const std::string& place) const { return Error(code_, place + ": " + what()); }

 private:
  ErrorCode code_;
};

}  // namespace basalt
