// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace basalt {

std::string human_bytes(uint64_t bytes);  // 1.4 GiB
std::string human_count(uint64_t count);  // 6,001,215

}  // namespace basalt
