// Encoded column chunks that lie on the device, kept across statements under a limit and known by their keys. Chunks
// that were transferred together share one block of memory and leave together.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "basalt/file/reader.h"
#include "cuda/runtime/resources.h"
#include "exec/chunk_key.h"

namespace basalt::cuda {

using exec::ChunkKey;
using exec::ChunkKeyHash;

// A chunk on the device: where each of its streams lies, in preorder; of strings also what tests are made from, which
// stays on the host. It is there from the first load on, whether that statement tests them or not: a later one that
// does would have to read the file again.
struct DeviceChunk {
  std::shared_ptr<DeviceBlock> block;
  std::vector<uint64_t> addresses;
  std::shared_ptr<const TextAlphabet> alphabet;  // nullptr: no strings, or tests_entries_on_device()
};

class ChunkCache {
 public:
  // nullptr if it is not here. Marks it as used by statement `run`.
  const DeviceChunk* find(const ChunkKey& key, uint64_t run);
  // Chunks of one block; none for what a statement has beside chunks. A chunk that is here already stays, and a block
  // without any other is not kept.
  void put(std::shared_ptr<DeviceBlock> block, std::vector<std::pair<ChunkKey, DeviceChunk>> chunks, uint64_t run);

  // Forgets blocks until `need` more bytes fit under `limit`: first those that other statements used longest ago, then
  // the newest of this one, so that a scan larger than the device keeps its beginning. False if they still do not fit.
  bool make_room(uint64_t need, uint64_t limit, uint64_t run);
  // False if there is none.
  bool drop_oldest();
  void clear();
  uint64_t bytes() const { return bytes_; }

 private:
  struct Group {
    std::shared_ptr<DeviceBlock> block;
    std::vector<ChunkKey> keys;
    uint64_t run = 0;
  };
  struct Place {
    std::list<Group>::iterator group;
    DeviceChunk chunk;
  };
  void drop(std::list<Group>::iterator group);

  std::list<Group> groups_;  // most recently used first
  std::unordered_map<ChunkKey, Place, ChunkKeyHash> places_;
  uint64_t bytes_ = 0;
};

}  // namespace basalt::cuda
