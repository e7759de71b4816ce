// Allocation of aligned, growable byte blocks.
#include "basalt/core/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace basalt {

namespace {

// Of larger blocks the system takes longer to hand out small pages than many uses take to fill them.
constexpr size_t kLargeBlock = size_t{32} << 20;
constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

Buffer::~Buffer() { std::free(data_); }

void Buffer::reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  const size_t alignment = capacity >= kLargeBlock ? kLargePage : kAlignment;
  const size_t wanted = (capacity + kSlack + alignment - 1) / alignment * alignment;
  if (wanted < capacity) throw std::bad_alloc();
  auto* fresh = static_cast<std::byte*>(std::aligned_alloc(alignment, wanted));
  if (fresh == nullptr) throw std::bad_alloc();
  if (alignment == kLargePage) madvise(fresh, wanted, MADV_HUGEPAGE);  // a wish
  if (size_ != 0) std::memcpy(fresh, data_, size_);
  std::free(data_);
  data_ = fresh;
  capacity_ = wanted - kSlack;
}

void Buffer::grow(size_t at_least) { reserve(std::max(at_least, capacity_ + capacity_ / 2)); }

}  // namespace basalt
