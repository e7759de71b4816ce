// Columns of chunks as they were read from files and checked, still encoded, kept in memory from statement to statement
// under a limit.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "basalt/file/reader.h"

namespace basalt {

namespace exec {
struct LoadedColumn;
}

// May be used by several threads and statements at once.
class ColumnCache {
 public:
  explicit ColumnCache(uint64_t limit) : limit_(limit) {}
  void set_limit(uint64_t limit);  // in bytes; forgets what no longer fits
  uint64_t bytes() const;

  // One statement's use. Once the cache is full, columns that other statements used longest ago make room; those of
  // this one stay, so that a statement that reads more than fits finds its beginning again.
  class Use {
   public:
    Use(ColumnCache& cache, const std::vector<std::shared_ptr<const File>>& files);
    void add(const std::shared_ptr<const File>& file);  // one more, for statements that open them as they go
    // nullptr if it is not there. The file must be one of this use's.
    std::shared_ptr<const exec::LoadedColumn> find(const File& file, uint32_t field, uint32_t chunk);
    void put(const File& file, uint32_t field, uint32_t chunk, std::shared_ptr<const exec::LoadedColumn> column);

   private:
    ColumnCache& cache_;
    uint64_t number_ = 0;
  };

 private:
  struct Key {
    const File* file = nullptr;
    uint32_t field = 0;
    uint32_t chunk = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const exec::LoadedColumn> column;
    uint64_t bytes = 0;
    uint64_t use = 0;
  };
  void forget(std::list<Entry>::iterator entry);
  void forget_closed_files();
  bool make_room(uint64_t bytes, uint64_t use);

  mutable std::mutex mutex_;
  uint64_t limit_;
  uint64_t bytes_ = 0;
  uint64_t uses_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> places_;
  // Columns point into the footers of their files, which stay until nobody else has them open.
  std::unordered_map<const File*, std::shared_ptr<const File>> files_;
};

}  // namespace basalt
