// The owner behind an exported Arrow array, whatever memory its buffers lie in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/core/arrow.h"

namespace basalt::arrow {

struct ArrayOwner {
  std::shared_ptr<const void> memory;  // of the buffers
  std::vector<const void*> buffers;    // as Arrow orders them; nullptr: a bitmap that is absent
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;

  ArrayOwner() = default;
  ArrayOwner(const ArrayOwner&) = delete;
  ArrayOwner& operator=(const ArrayOwner&) = delete;
  // Children that a consumer moved elsewhere are no longer ours.
  ~ArrayOwner() {
    for (ArrowArray& child : children)
      if (child.release != nullptr) child.release(&child);
  }
};

// An array that has the owner until it is released.
void finish_array(std::unique_ptr<ArrayOwner> owner, uint64_t length, uint64_t null_count, ArrowArray* out);

}  // namespace basalt::arrow
