// The step of a stage that looks rows up: tile by tile, in pieces of at most kTileRows pairs, however many partners a
// row has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "exec/cpu/conjuncts.h"
#include "exec/cpu/join_table.h"
#include "exec/cpu/joined_tile.h"
#include "exec/cpu/step_chain.h"

namespace basalt::exec {

class ProbeStep : public ChainStep {
 public:
  // `before`: columns in sight. The table must outlive this object; `cancel` may be nullptr.
  ProbeStep(JoinTable& table, size_t before, const CancelToken* cancel);

  void open(StatisticsList& stats) override;
  void add(TileInput& input) override;
  bool has_last_rows() const override { return table_.keeps_met(); }
  void add_last_rows() override;

 private:
  void find_partners();
  // Without a condition: whether there are any.
  void meet_partners();
  // Makes pairs of each row and its partners [first, end).
  void try_partners(size_t first, size_t end);
  // False: no more pairs are wanted.
  bool add_pairs(uint32_t row, std::span<const uint32_t> partners);
  // Puts the pairs so far to the condition and hands on those that are left.
  void flush();
  // The pairs for which the condition holds.
  std::vector<JoinedTile::Pair> put_to_residual(std::vector<JoinedTile::Pair> pairs);
  void hand_on(std::vector<JoinedTile::Pair> pairs);
  void hand_on_alone();
  void hand_on_view(TileInput& input);
  void mark_rows();

  JoinTable& table_;
  const Probe& probe_;
  size_t before_;
  const CancelToken* cancel_;
  JoinKeys keys_;
  JoinedTile joined_;
  MarkedTile view_;
  std::optional<Conjuncts> residual_;
  std::vector<JoinedTile::Pair> pairs_;
  // One byte per row of the tile.
  std::vector<uint8_t> matched_;
  std::vector<uint8_t> unknown_;  // the condition was NULL for a partner
  std::vector<uint8_t> live_;
  std::vector<uint8_t> valid_;
  std::vector<uint8_t> null_pairs_;  // one byte per pair: the condition is NULL
};

}  // namespace basalt::exec
