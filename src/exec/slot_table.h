// What one kernel reads of chunks that lie on a device: a slot of words for each chunk of some files, most of them
// addresses. They depend on no literal, so that a statement which differs from an earlier one in these alone takes them
// as they are, as long as the memory that they point to is where it was.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "exec/chunk_key.h"

namespace basalt::exec {

class SlotTable {
 public:
  // For chunks [0, chunks) of so many words each.
  SlotTable(size_t chunks, uint32_t words) : words_of_slot_(words), known_(chunks), words_(chunks * words) {}

  void put(size_t chunk, std::span<const uint64_t> words);
  bool has(size_t chunk) const { return known_[chunk]; }
  std::span<const uint64_t> slot(size_t chunk) const {
    return std::span(words_).subspan(chunk * words_of_slot_, words_of_slot_);
  }

  // Memory that slots point to. It leaves the device whole: `key` is that of any column chunk in it.
  struct Memory {
    ChunkKey key;
    std::weak_ptr<const void> block;
  };
  void add_memory(const ChunkKey& key, const std::shared_ptr<const void>& block);
  const std::vector<Memory>& memory() const { return memory_; }

 private:
  size_t words_of_slot_;
  std::vector<bool> known_;
  std::vector<uint64_t> words_;
  std::vector<Memory> memory_;
  std::unordered_set<const void*> blocks_;  // in it
};

}  // namespace basalt::exec
