// The step of a stage that looks rows up: tile by tile, in pieces of at most kTileRows pairs, however many partners a
// row has.
#pragma once

#include <vector>

#include "exec/cpu/join_table.h"
#include "exec/cpu/joined_tile.h"
#include "exec/cpu/step_chain.h"

namespace basalt::exec {

class ProbeStep : public ChainStep {
 public:
  // `before`: columns in sight. The table must outlive this object; `cancel` may be nullptr.
  ProbeStep(JoinTable& table, size_t before, const CancelToken* cancel);

  void open(StatisticsList& stats) override;
  void add(TileInput& input, uint64_t first_row) override;
  bool has_last_rows() const override { return table_.keeps_met(); }
  void add_last_rows() override;

 private:
  void find_partners();
  void add_pair(uint32_t row, uint32_t partner);
  // Puts the pairs so far to the condition and hands on those that are left.
  void flush();
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
  TileView view_;
  Step residual_;
  std::vector<JoinedTile::Pair> pairs_;
  uint64_t first_row_ = 0;
  // One byte per row of the tile.
  std::vector<uint8_t> matched_;
  std::vector<uint8_t> unknown_;  // the condition was NULL for a partner
  std::vector<uint8_t> live_;
  std::vector<uint8_t> valid_;
};

}  // namespace basalt::exec
