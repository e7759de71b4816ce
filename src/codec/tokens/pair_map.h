// Pairs of 32-bit numbers to 32-bit numbers: a flat hash table, since the dictionary's search looks pairs up millions
// of times (std::unordered_map: l_comment's dictionary in twice the time).
#pragma once

#include <vector>

#include "basalt/core/host_device.h"

namespace basalt::tokens {

struct PairSlot {
  uint64_t key;
  uint32_t value;
};

// The table as look-ups see it, on the host and on the device: 2^bits slots, half of them free.
struct PairSlots {
  static constexpr uint32_t kNone = ~0u;

  const PairSlot* slots;
  uint32_t bits;

  BASALT_HD static uint64_t key_of(uint32_t a, uint32_t b) { return static_cast<uint64_t>(a) << 32 | b; }
  // Where a pair is, or would be.
  BASALT_HD uint64_t place(uint64_t key) const {
    uint64_t at = key * 0x9E3779B97F4A7C15ull >> (64 - bits);
    while (slots[at].value != kNone && slots[at].key != key) at = (at + 1) & ((uint64_t{1} << bits) - 1);
    return at;
  }
  // The value of the pair, kNone if it has none.
  BASALT_HD uint32_t find(uint32_t a, uint32_t b) const { return slots[place(key_of(a, b))].value; }
};

class PairMap {
 public:
  PairMap() : bits_(kFirstBits), slots_(size_t{1} << kFirstBits, PairSlot{0, PairSlots::kNone}) {}

  PairSlots view() const { return {slots_.data(), bits_}; }
  const std::vector<PairSlot>& slots() const { return slots_; }
  uint32_t find(uint32_t a, uint32_t b) const { return view().find(a, b); }
  // The value of the pair, to be changed; `added` for a pair that had none. Good until the next call.
  uint32_t& at(uint32_t a, uint32_t b, uint32_t added) {
    if (2 * size_ >= slots_.size()) grow();
    const uint64_t key = PairSlots::key_of(a, b);
    PairSlot& slot = slots_[view().place(key)];
    if (slot.value == PairSlots::kNone) {
      slot = {key, added};
      ++size_;
    }
    return slot.value;
  }

 private:
  static constexpr uint32_t kFirstBits = 10;

  void grow() {
    std::vector<PairSlot> before(slots_.size() * 2, PairSlot{0, PairSlots::kNone});
    before.swap(slots_);
    ++bits_;
    for (const PairSlot& slot : before) {
      if (slot.value != PairSlots::kNone) slots_[view().place(slot.key)] = slot;
    }
  }

  uint32_t bits_;
  std::vector<PairSlot> slots_;
  uint32_t size_ = 0;
};

}  // namespace basalt::tokens
