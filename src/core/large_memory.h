// Memory of megabytes: straight from the system, in its large pages. To be handed small ones takes longer than to fill
// them, and the heap keeps holes where large blocks lay. A few blocks that were given back wait for the next one who
// asks for as much: what a chunk of a column is decoded into before it becomes something else is cleared once, not for
// every chunk. May be used in a child of fork(), whatever other threads did at the time.
#pragma once

#include <cstddef>

namespace basalt {

constexpr size_t kLargePage = size_t{2} << 20;

// What is taken for so many bytes: rounded up to large pages where these are not much more.
size_t large_size(size_t bytes);

// Of at least a large page, aligned to one. nullptr: there is not so much.
std::byte* take_large(size_t bytes);
void give_back_large(std::byte* data, size_t bytes) noexcept;

// Of the blocks that wait.
size_t waiting_bytes();
// No more than so many bytes wait from now on; at first 64 MB.
void set_most_waiting(size_t bytes);
// None waits now.
void give_up_waiting();

}  // namespace basalt
