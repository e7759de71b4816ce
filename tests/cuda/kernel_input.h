// What a generated kernel is given over one chunk, for kernels that run on the CPU.
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/device_arrays.h"
#include "exec/device/generate/generate.h"

namespace basalt::test {

class KernelInput {
 public:
  KernelInput(const device::KernelPlan& plan, uint64_t rows) : slot_(plan.slot_words, 0) {
    slot_[0] = rows;
    for (uint32_t tile = 0; tile < tile_count(rows); ++tile) work_.push_back(device::make_work(0, tile, false));
    parameters.work = work_.data();
    parameters.work_count = static_cast<uint32_t>(work_.size());
    parameters.slots = slot_.data();
    parameters.partials = record;
    std::copy(plan.literals.begin(), plan.literals.end(), parameters.literals);
  }
  KernelInput(const KernelInput&) = delete;
  KernelInput& operator=(const KernelInput&) = delete;

  // A column's values, or its NULLs, at their place in the slot.
  void place(uint32_t at, uint64_t shape, const Node& node) {
    slot_[at] = shape;
    const std::vector<uint64_t> words = descriptor_of(view_of(node));
    std::copy(words.begin(), words.end(), slot_.begin() + at + 1);
  }
  void set_word(uint32_t at, uint64_t word) { slot_[at] = word; }
  size_t tiles() const { return work_.size(); }

  device::Parameters parameters{};
  uint64_t record[device::kRecordHead] = {};

 private:
  std::vector<uint64_t> slot_;
  std::vector<uint32_t> work_;
};

}  // namespace basalt::test
