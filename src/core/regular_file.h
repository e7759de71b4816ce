// Opening files to read: regular ones only. A named pipe in their place would hang the process before a byte is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace basalt {

// A descriptor, closed on exec. Throws Error(kIo) with a sentence that begins with the path.
int open_regular_file(const std::string& path);
// How long an open file is; nullopt where it is no regular one.
std::optional<uint64_t> regular_file_bytes(int descriptor);
// The same refusal for files that others will open. What does not exist passes: whoever opens it says so.
void check_regular_file(const std::string& path);

}  // namespace basalt
