// Allocation of aligned, growable byte blocks.
#include "basalt/core/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/large_memory.h"

namespace basalt {

namespace {

// AddressSanitizer sees the bounds of what comes from the heap as it was asked for.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_large(size_t) { return false; }
size_t size_for(size_t bytes) { return bytes; }
#else
constexpr bool is_large(size_t bytes) { return bytes >= kLargePage; }
size_t size_for(size_t bytes) { return large_size(bytes); }
#endif

std::byte* take(size_t bytes) {
  if (is_large(bytes)) return take_large(bytes);
  return static_cast<std::byte*>(std::aligned_alloc(Buffer::kAlignment, bytes));
}

void give_back(std::byte* data, size_t bytes) noexcept {
  if (is_large(bytes)) return give_back_large(data, bytes);
  std::free(data);
}

}  // namespace

Buffer::~Buffer() {
  if (data_ != nullptr) give_back(data_, capacity_ + kSlack);
}

void Buffer::reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  const size_t least = (capacity + kSlack + kAlignment - 1) / kAlignment * kAlignment;
  if (least < capacity) throw std::bad_alloc();
  const size_t wanted = size_for(least);
  std::byte* const fresh = take(wanted);
  if (fresh == nullptr) throw std::bad_alloc();
  if (size_ != 0) std::memcpy(fresh, data_, size_);
  if (data_ != nullptr) give_back(data_, capacity_ + kSlack);
  data_ = fresh;
  capacity_ = wanted - kSlack;
}

void Buffer::grow(size_t at_least) { reserve(std::max(at_least, capacity_ + capacity_ / 2)); }

}  // namespace basalt
