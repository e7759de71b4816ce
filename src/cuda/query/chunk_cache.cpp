// Bookkeeping of device-resident chunks; see chunk_cache.h.
#include "cuda/query/chunk_cache.h"

namespace basalt::cuda {

const DeviceChunk* ChunkCache::find(const ChunkKey& key, uint64_t run) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  found->second.group->run = run;
  groups_.splice(groups_.begin(), groups_, found->second.group);
  return &found->second.chunk;
}

void ChunkCache::put(std::shared_ptr<DeviceBlock> block, std::vector<std::pair<ChunkKey, DeviceChunk>> chunks,
                     uint64_t run) {
  // Another batch of the statement had them, too (a file listed twice): the first copy stays.
  const bool beside_chunks = chunks.empty();
  std::erase_if(chunks, [&](const auto& entry) { return places_.contains(entry.first); });
  if (chunks.empty() && !beside_chunks) return;
  bytes_ += block->bytes();
  groups_.push_front({std::move(block), {}, run});
  for (auto& [key, chunk] : chunks) {
    places_.emplace(key, Place{groups_.begin(), std::move(chunk)});
    groups_.front().keys.push_back(key);
  }
}

void ChunkCache::drop(std::list<Group>::iterator group) {
  for (const ChunkKey& key : group->keys) places_.erase(key);
  bytes_ -= group->block->bytes();
  groups_.erase(group);
}

bool ChunkCache::make_room(uint64_t need, uint64_t limit, uint64_t run) {
  while (bytes_ + need > limit && !groups_.empty()) {
    auto victim = std::prev(groups_.end());
    if (victim->run == run) victim = groups_.begin();
    drop(victim);
  }
  return bytes_ + need <= limit;
}

bool ChunkCache::drop_oldest() {
  if (groups_.empty()) return false;
  drop(std::prev(groups_.end()));
  return true;
}

void ChunkCache::clear() {
  places_.clear();
  groups_.clear();
  bytes_ = 0;
}

}  // namespace basalt::cuda
