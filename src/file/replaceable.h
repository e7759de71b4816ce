// What a writer of .basalt files may replace.
#pragma once

#include <string>

namespace basalt::format_v1 {

// A file of ours, or an empty one. Throws Error(kIo) if `path` is a regular file with anything else in it.
void check_replaceable(const std::string& path);

}  // namespace basalt::format_v1
