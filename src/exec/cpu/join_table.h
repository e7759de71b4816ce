// The rows that a join looks up: keys as words in a hash table, and for each key the list of its rows. It is built once
// and then read by all threads; what they may change is which of its rows were met.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "exec/cpu/group_table.h"
#include "exec/cpu/join_keys.h"
#include "exec/cpu/string_pool.h"
#include "exec/several_rows.h"

namespace basalt::exec {

class JoinTable {
 public:
  // Both must outlive this object; `cancel` may be nullptr.
  JoinTable(const Probe& probe, const Table& rows, const CancelToken* cancel);

  const Probe& probe() const { return probe_; }
  const Table& rows() const { return rows_; }
  const KeyLayout& layout() const { return layout_; }
  std::optional<uint32_t> number_of_text(std::string_view text) const { return texts_.find(text); }

  // The rows whose keys have these words.
  std::span<const uint32_t> partners(const uint64_t* words) const;
  uint32_t key_count() const { return keys_.size(); }
  // How many rows a row can have for partners.
  uint64_t most_partners() const { return most_partners_; }

  // What a mark is where no partner was found. Of all rows, or of those that are equal in the keys where NULL equals
  // NULL: NULL if one of them has a NULL among its other keys, or the row itself has and there is one.
  bool is_mark_null(const uint64_t* words, bool null_key) const;

  // Whether it is kept which rows were met.
  bool keeps_met() const { return keeps_met_; }
  void meet(uint32_t row) { std::atomic_ref(met_[row]).store(1, std::memory_order_relaxed); }
  bool was_met(uint32_t row) const { return std::atomic_ref(met_[row]).load(std::memory_order_relaxed) != 0; }
  void forget_met() { std::ranges::fill(met_, uint8_t{0}); }

 private:
  void number_rows(const CancelToken* cancel);
  void list_rows();
  // The words of the keys in which NULL equals NULL, with zeros for the others.
  std::vector<uint64_t> peer_words(const uint64_t* words) const;

  const Probe& probe_;
  const Table& rows_;
  KeyLayout layout_;
  StringPool texts_;
  GroupTable keys_;
  std::vector<uint32_t> numbers_;  // while it is built: of each row's key, or kNoKey
  std::vector<uint32_t> starts_;   // of each key, in `listed_`
  std::vector<uint32_t> listed_;
  uint64_t most_partners_ = 0;
  std::vector<uint64_t> peer_mask_;
  GroupTable peers_;
  std::vector<uint8_t> peer_nulls_;  // whether one of these rows has a NULL among its other keys
  bool keeps_met_;
  mutable std::vector<uint8_t> met_;  // atomic_ref needs it so
};

}  // namespace basalt::exec
