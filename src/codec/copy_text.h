// Copying strings one behind the other into a buffer.
#pragma once

#include <cstddef>
#include <cstring>

#include "basalt/core/buffer.h"

namespace basalt {

// Both sides lie in buffers. Most strings of dictionaries are short: a copy of fixed size has no loop, and runs over
// into what the next one writes, or the buffer's slack.
inline void copy_text(std::byte* to, const void* from, size_t size) {
  constexpr size_t kShort = 32;
  static_assert(kShort <= Buffer::kSlack);
  if (size <= kShort) {
    std::memcpy(to, from, kShort);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace basalt
