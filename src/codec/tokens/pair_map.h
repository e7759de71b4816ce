// Pairs of 32-bit numbers to 32-bit numbers: a flat hash table, since the dictionary's search looks pairs up millions
// of times (std::unordered_map: l_comment's dictionary in twice the time).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace basalt::tokens {

class PairMap {
 public:
  static constexpr uint32_t kNone = ~0u;

  PairMap() : slots_(kFirstSlots) {}

  // The value of the pair, kNone if it has none.
  uint32_t find(uint32_t a, uint32_t b) const { return slots_[place(key_of(a, b))].value; }
  // The same, to be changed; `added` for a pair that had none. Good until the next call.
  uint32_t& at(uint32_t a, uint32_t b, uint32_t added) {
    if (2 * size_ >= slots_.size()) grow();
    Slot& slot = slots_[place(key_of(a, b))];
    if (slot.value == kNone) {
      slot = {key_of(a, b), added};
      ++size_;
    }
    return slot.value;
  }

 private:
  static constexpr size_t kFirstSlots = 1024;
  struct Slot {
    uint64_t key = 0;
    uint32_t value = kNone;
  };

  static uint64_t key_of(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  size_t place(uint64_t key) const {
    const int shift = std::countl_zero(slots_.size()) + 1;
    size_t at = key * 0x9E3779B97F4A7C15ull >> shift;
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.value != kNone) slots_[place(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, half of them free
  uint32_t size_ = 0;
};

}  // namespace basalt::tokens
