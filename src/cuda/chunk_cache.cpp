// Bookkeeping of device-resident chunks; see chunk_cache.h.
#include "cuda/chunk_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <span>
#include <string>

#include "file/format.h"

namespace basalt::cuda {

namespace {

void append_numbers(std::string& text, std::span<const uint64_t> numbers) {
  text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}
void append_node(std::string& text, const NodePlace& node) {
  text += node.codec_name;
  text.append(reinterpret_cast<const char*>(node.params.data()), node.params.size());
}
ChunkKey hash_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

// Behind the last node of the subtree that begins at node `at`.
size_t subtree_end(const std::vector<NodePlace>& nodes, size_t at) {
  size_t end = at + 1;
  for (uint32_t child = 0; child < nodes.at(at).child_count; ++child) end = subtree_end(nodes, end);
  return end;
}

}  // namespace

ChunkKey key_of(const File& file, uint32_t field_id, uint32_t chunk) {
  const ColumnChunkInfo& info = file.column(field_id).chunks.at(chunk);
  std::string text = file.name();
  const uint64_t numbers[] = {file.source().size(), field_id, chunk, info.region.offset, info.region.length, info.rows};
  append_numbers(text, numbers);
  append_numbers(text, info.checksums);
  for (const NodePlace& node : info.nodes) append_node(text, node);
  return hash_of(text);
}

// Values follow validity, which is its root's first child, as entries follow codes. Equal checksums of all their
// streams are taken for equal entries.
std::optional<ChunkKey> dictionary_key(const ColumnChunkInfo& info) {
  const bool nulls = info.nodes.at(0).codec_name == "validity";
  const size_t values = nulls ? subtree_end(info.nodes, 1) : 0;
  if (info.nodes.at(values).codec_name != "dict" || info.nodes[values].type != Physical::kBytes) return std::nullopt;
  const size_t begin = subtree_end(info.nodes, values + 1);
  const size_t end = subtree_end(info.nodes, begin);
  std::string text;
  size_t checksum = 0;
  for (size_t i = 0; i < end; ++i) {
    const NodePlace& node = info.nodes[i];
    if (i >= begin) {
      append_node(text, node);
      const uint64_t sizes[] = {node.count, node.params.size(), node.streams.size()};
      append_numbers(text, sizes);
    }
    for (const StreamPlace& stream : node.streams) {
      const size_t blocks = format_v1::checksum_blocks(stream.length);
      if (i >= begin) {
        const uint64_t length[] = {stream.length};
        append_numbers(text, length);
        append_numbers(text, std::span(info.checksums).subspan(checksum, blocks));
      }
      checksum += blocks;
    }
  }
  return hash_of(text);
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

void ChunkCache::clear() {
  places_.clear();
  groups_.clear();
  bytes_ = 0;
}

}  // namespace basalt::cuda
