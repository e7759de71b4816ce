// The file-wide dictionary of a column: the union of its chunks' dictionaries, gathered while chunks are written,
// sorted when the file is finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/dict/distinct.h"
#include "file/encode_column.h"

namespace basalt::format_v1 {

class DictionaryUnion {
 public:
  explicit DictionaryUnion(Physical type) : type_(type) {}

  // Adds the next chunk's entries; false if there are none or the union has grown beyond its limits: then it is over.
  bool add(const EncodedColumn& chunk);
  bool alive() const { return alive_; }
  void give_up();
  uint64_t memory() const { return memory_; }

  struct Result {
    uint64_t entries = 0;
    // A chunk that holds every entry: its streams serve as the dictionary. Else `values` are encoded anew.
    std::optional<uint32_t> whole_chunk;
    DictionaryEntries values;
    std::vector<std::vector<uint32_t>> maps;  // per chunk; empty: the identity
  };
  Result finish();

 private:
  bool insert(const DictionaryEntries& entries);
  // All entries, in the order in which they were met.
  Values values() const;

  Physical type_;
  bool alive_ = true;
  uint64_t memory_ = 0;
  uint64_t id_count_ = 0;
  std::optional<DictionaryEntries> first_;  // as long as there is one chunk, which needs no table
  NumberTable<TextKey> ids_;
  StringRows entries_;                         // by id; numbers as their bytes
  std::vector<std::vector<uint32_t>> chunks_;  // ids of each chunk's entries, in the order of its codes
};

}  // namespace basalt::format_v1
