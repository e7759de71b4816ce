// Keeping slots of chunks; see slot_table.h.
#include "exec/slot_table.h"

#include <algorithm>

namespace basalt::exec {

void SlotTable::put(size_t chunk, std::span<const uint64_t> words) {
  std::copy(words.begin(), words.end(), words_.begin() + static_cast<ptrdiff_t>(chunk * words_of_slot_));
  known_[chunk] = true;
}

// Where memory that is gone had the same address, its entry stays: it tells that some slots are no longer good.
void SlotTable::add_memory(const ChunkKey& key, const std::shared_ptr<const void>& block) {
  if (blocks_.insert(block.get()).second) memory_.push_back({key, block});
}

}  // namespace basalt::exec
