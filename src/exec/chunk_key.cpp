// Keys as hashes of descriptions in which every part says how long it is: no two descriptions are the same text.
#include "exec/chunk_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>
#include <span>
#include <string>
#include <string_view>

#include "file/format.h"

namespace basalt::exec {

namespace {

class Description {
 public:
  void add(uint64_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void add(std::string_view text) {
    add(text.size());
    text_ += text;
  }
  void add(std::span<const uint64_t> numbers) {
    add(numbers.size());
    text_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  }
  // Without the places of its streams: the same bytes elsewhere are the same array.
  void add(const NodePlace& node) {
    add(std::string_view(node.codec_name));
    add(node.codec_version);
    add(static_cast<uint64_t>(node.type));
    add(node.count);
    add(node.child_count);
    add(std::string_view(reinterpret_cast<const char*>(node.params.data()), node.params.size()));
    add(node.streams.size());
    for (const StreamPlace& stream : node.streams) add(stream.length);
  }

  // No file can be made to have the keys of another without knowing it.
  static uint64_t secret_seed() {
    static const uint64_t seed = [] {
      std::random_device random;
      return uint64_t{random()} << 32 | random();
    }();
    return seed;
  }

  ChunkKey key() const {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(text_.data(), text_.size(), secret_seed());
    return {hash.low64, hash.high64};
  }

 private:
  std::string text_;
};

}  // namespace

ChunkKey key_of(const File& file, uint32_t field_id, uint32_t chunk) {
  const ColumnChunkInfo& info = file.column(field_id).chunks.at(chunk);
  Description text;
  text.add(std::string_view(file.name()));
  for (const uint64_t number :
       {file.source().size(), uint64_t{field_id}, uint64_t{chunk}, info.region.offset, info.region.length, info.rows}) {
    text.add(number);
  }
  text.add(std::span<const uint64_t>(info.checksums));
  text.add(info.nodes.size());
  for (const NodePlace& node : info.nodes) {
    text.add(node);
    for (const StreamPlace& stream : node.streams) text.add(stream.offset);
  }
  return text.key();
}

// Values follow validity, which is its root's first child, as entries follow codes. Equal checksums of all their
// streams are taken for equal entries.
std::optional<ChunkKey> dictionary_key(const ColumnChunkInfo& info) {
  const bool nulls = holds_nulls(info.nodes.at(0).codec_name);
  const size_t values = nulls ? subtree_end(info.nodes, 1) : 0;
  const NodePlace& dictionary = info.nodes.at(values);
  if (!holds_entries(dictionary.codec_name) || dictionary.type != Physical::kBytes) return std::nullopt;
  const size_t begin = subtree_end(info.nodes, values + 1);
  const size_t end = subtree_end(info.nodes, begin);
  Description text;
  size_t checksum = 0;
  for (size_t i = 0; i < end; ++i) {
    const NodePlace& node = info.nodes[i];
    size_t blocks = 0;
    for (const StreamPlace& stream : node.streams) blocks += format_v1::checksum_blocks(stream.length);
    if (i >= begin) {
      text.add(node);
      text.add(std::span(info.checksums).subspan(checksum, blocks));
    }
    checksum += blocks;
  }
  return text.key();
}

}  // namespace basalt::exec
