// Bookkeeping of device-resident chunks; see chunk_cache.h.
#include "cuda/chunk_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

namespace basalt::cuda {

ChunkKey key_of(const File& file, uint32_t field_id, uint32_t chunk) {
  const ColumnChunkInfo& info = file.column(field_id).chunks.at(chunk);
  std::string text = file.name();
  const uint64_t numbers[] = {file.source().size(), field_id, chunk, info.region.offset, info.region.length, info.rows};
  text.append(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  text.append(reinterpret_cast<const char*>(info.checksums.data()), info.checksums.size() * sizeof(uint64_t));
  for (const NodePlace& node : info.nodes) {
    text += node.codec_name;
    text.append(reinterpret_cast<const char*>(node.params.data()), node.params.size());
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

const DeviceChunk* ChunkCache::find(const ChunkKey& key, uint64_t run) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  found->second.group->run = run;
  groups_.splice(groups_.begin(), groups_, found->second.group);
  return &found->second.chunk;
}

void ChunkCache::put(std::shared_ptr<DeviceBlock> block, std::vector<std::pair<ChunkKey, DeviceChunk>> chunks,
                     uint64_t run) {
  Group group;
  group.block = std::move(block);
  group.run = run;
  bytes_ += group.block->bytes();
  groups_.push_front(std::move(group));
  for (auto& [key, chunk] : chunks) {
    // The same chunk twice in one statement (a file listed twice): the first copy stays.
    const auto known = places_.find(key);
    if (known != places_.end() && (known->second.chunk.alphabet != nullptr || chunk.alphabet == nullptr)) continue;
    places_.insert_or_assign(key, Place{groups_.begin(), std::move(chunk)});
    groups_.front().keys.push_back(key);
  }
}

void ChunkCache::drop(std::list<Group>::iterator group) {
  for (const ChunkKey& key : group->keys) {
    const auto place = places_.find(key);
    if (place != places_.end() && place->second.group == group) places_.erase(place);
  }
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

void ChunkCache::clear() {
  places_.clear();
  groups_.clear();
  bytes_ = 0;
}

}  // namespace basalt::cuda
