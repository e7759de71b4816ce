// A predicate over the chunks of a scan. Statistics of the chunk, then dictionaries, then statistics of each zone rule
// out what they can; what is left runs tile by tile, conjunct after conjunct, as long as rows are alive.
//
// Which rows may raise an overflow error: conjuncts that cannot overflow come first (in the order that rejects most for
// the least work), those that can come last, in the order written, and see only rows that all earlier ones kept.
#pragma once

#include <memory>
#include <vector>

#include "exec/chunk_tiles.h"
#include "exec/evaluate.h"

namespace basalt::exec {

// A conjunct on one column that is dictionary-encoded: decided once per entry, then looked up by code.
class DictionaryTest {
 public:
  // Evaluates `step` over the entries of the column's dictionary.
  DictionaryTest(Step& step, ColumnChunk& column);
  Decision decision() const { return decision_; }
  // One byte per row of the tile, and how it was found.
  const uint8_t* run(uint32_t tile, uint32_t rows, Answered& how);

  static bool applies(ColumnChunk& column);

 private:
  void check_codes(uint32_t tile, uint32_t rows, uint32_t most);
  [[noreturn]] void fail_codes() const;

  ColumnChunk& column_;
  Decision decision_ = Decision::kUnknown;
  std::vector<uint8_t> hits_;  // per entry
  // Where the entries that hold lie side by side, codes are compared with the ends of their range.
  bool contiguous_ = false;
  uint32_t first_ = 0;
  uint32_t last_ = 0;
  bool null_holds_ = false;
  ArrayTiles codes_;
  Buffer result_;
  Buffer checked_;
};

class Filter {
 public:
  // nullptr: every row passes. The predicate must outlive the filter.
  explicit Filter(const Expr* predicate);

  // Prepares for the chunk that `tiles` has opened. kNone: no row can pass; kAll: all do. Reads nothing but
  // dictionaries.
  Decision open_chunk(ChunkTiles& tiles, bool prune);
  // What statistics say of a zone of this chunk.
  Decision zone(uint32_t zone) const { return zones_.empty() ? Decision::kUnknown : zones_[zone]; }
  // Runs over the current tile of `tiles`; false if no row is left.
  bool run(ChunkTiles& tiles);

 private:
  struct Conjunct {
    const Expr* expr = nullptr;
    Step step;
    std::vector<uint32_t> columns;
    bool may_throw = false;
    bool reads_texts = false;
    double cost = 1;  // guess of the work per row
    uint64_t rows_in = 1;
    uint64_t rows_out = 1;
    std::unique_ptr<DictionaryTest> dictionary;
    std::vector<bool> zone_all;  // zones where statistics say that every row passes
  };
  Decision decide_zones(const ChunkTiles& tiles);
  Decision try_dictionaries(ChunkTiles& tiles);
  void order_conjuncts();

  std::vector<const Expr*> predicates_;  // the conjuncts as written
  Automata automata_;                    // of their tests of strings
  std::vector<Conjunct> active_;         // those that the current chunk has to evaluate
  std::vector<Decision> zones_;
  uint32_t tiles_run_ = 0;
};

}  // namespace basalt::exec
