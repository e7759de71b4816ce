// Allocation of aligned, growable byte blocks.
#include "basalt/core/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace basalt {

Buffer::~Buffer() { std::free(data_); }

void Buffer::reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  const size_t wanted = (capacity + kSlack + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted < capacity) throw std::bad_alloc();
  auto* fresh = static_cast<std::byte*>(std::aligned_alloc(kAlignment, wanted));
  if (fresh == nullptr) throw std::bad_alloc();
  if (size_ != 0) std::memcpy(fresh, data_, size_);
  std::free(data_);
  data_ = fresh;
  capacity_ = wanted - kSlack;
}

void Buffer::grow(size_t at_least) { reserve(std::max(at_least, capacity_ + capacity_ / 2)); }

}  // namespace basalt
