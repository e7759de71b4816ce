#include "exec/cpu/probe_step.h"

#include <algorithm>
#include <utility>

#include "basalt/core/error.h"
#include "exec/join_kind.h"

namespace basalt::exec {

namespace {

constexpr size_t kFewPartners = 8;
constexpr size_t kAllPartners = ~size_t{0};

}  // namespace

ProbeStep::ProbeStep(JoinTable& table, size_t before, const CancelToken* cancel)
    : table_(table),
      probe_(table.probe()),
      before_(before),
      cancel_(cancel),
      keys_(probe_.keys, table.layout(), JoinKeys::Side::kProbe),
      joined_(before, probe_.fetched, table.rows()),
      matched_(kTileRows),
      unknown_(kTileRows),
      live_(kTileRows),
      valid_(kTileRows),
      null_pairs_(kTileRows) {
  if (probe_.residual) residual_.emplace(*probe_.residual);
  pairs_.reserve(kTileRows);
}

void ProbeStep::open(StatisticsList& stats) {
  keys_.open(stats);
  const size_t behind = before_ + probe_.fetched.size();
  stats.resize(behind, nullptr);
  if (residual_) residual_->open(stats);
  if (probe_.kind == JoinKind::kSemi || probe_.kind == JoinKind::kAnti) stats.resize(before_);
  if (probe_.kind == JoinKind::kMark) {
    stats.resize(before_);
    stats.push_back(nullptr);
  }
}

void ProbeStep::add(TileInput& input) {
  std::ranges::fill(matched_, uint8_t{0});
  std::ranges::fill(unknown_, uint8_t{0});
  keys_.read(input, [&](std::string_view text) { return table_.number_of_text(text); });
  joined_.begin(&input);
  find_partners();
  flush();
  if (keeps_first(probe_.kind)) return hand_on_alone();
  if (!gives_pairs(probe_.kind) && !table_.keeps_met()) hand_on_view(input);
}

void ProbeStep::find_partners() {
  if (gives_pairs(probe_.kind)) return try_partners(0, kAllPartners);
  if (!residual_) return meet_partners();
  // One partner is enough: where there are any, most rows have one among the first few.
  try_partners(0, kFewPartners);
  flush();
  try_partners(kFewPartners, kAllPartners);
}

void ProbeStep::meet_partners() {
  for (size_t i = 0; i < keys_.rows().size(); ++i) {
    if (!keys_.can_match(i)) continue;
    const std::span<const uint32_t> partners = table_.partners(keys_.words(i));
    if (partners.empty()) continue;
    matched_[keys_.rows()[i]] = 1;
    // All rows of a key are met together.
    if (!table_.keeps_met() || table_.was_met(partners.front())) continue;
    for (const uint32_t partner : partners) table_.meet(partner);
  }
}

void ProbeStep::try_partners(size_t first, size_t end) {
  for (size_t i = 0; i < keys_.rows().size(); ++i) {
    if (!keys_.can_match(i)) continue;
    const std::span<const uint32_t> partners = table_.partners(keys_.words(i));
    if (partners.size() <= first) continue;
    if (!add_pairs(keys_.rows()[i], partners.subspan(first, std::min(end, partners.size()) - first))) return;
  }
}

bool ProbeStep::add_pairs(uint32_t row, std::span<const uint32_t> partners) {
  const bool every = gives_pairs(probe_.kind);
  for (const uint32_t partner : partners) {
    if (!every && table_.keeps_met() && table_.was_met(partner)) continue;
    if (!every && !table_.keeps_met() && matched_[row] != 0) break;
    pairs_.push_back({row, partner});
    if (pairs_.size() < kTileRows) continue;
    flush();
    if (full()) return false;
  }
  return true;
}

void ProbeStep::hand_on(std::vector<JoinedTile::Pair> pairs) {
  if (pairs.empty() || full()) return;
  joined_.set_pairs(std::move(pairs));
  next().add(joined_);
}

void ProbeStep::flush() {
  if (pairs_.empty()) return;
  if (cancel_ != nullptr) cancel_->check();
  std::vector<JoinedTile::Pair> kept = std::exchange(pairs_, {});
  pairs_.reserve(kTileRows);
  if (residual_) kept = put_to_residual(std::move(kept));
  for (const JoinedTile::Pair& pair : kept) {
    if (probe_.kind == JoinKind::kSingle && matched_[pair.row] != 0) {
      throw Error(ErrorCode::kInvalidArgument, kSeveralRows);
    }
    matched_[pair.row] = 1;
    if (table_.keeps_met()) table_.meet(pair.partner);
  }
  if (gives_pairs(probe_.kind)) hand_on(std::move(kept));
}

std::vector<JoinedTile::Pair> ProbeStep::put_to_residual(std::vector<JoinedTile::Pair> pairs) {
  joined_.set_pairs(std::move(pairs));
  // Only marks tell NULL from false.
  const bool marks = probe_.kind == JoinKind::kMark;
  const uint8_t* live = marks ? residual_->run_with_nulls(joined_, null_pairs_.data()) : residual_->run(joined_);
  std::vector<JoinedTile::Pair> kept;
  for (size_t i = 0; live != nullptr && i < joined_.pairs().size(); ++i) {
    if (live[i] == 0) continue;
    const JoinedTile::Pair& pair = joined_.pairs()[i];
    if (marks && null_pairs_[i] != 0) {
      unknown_[pair.row] = 1;
    } else {
      kept.push_back(pair);
    }
  }
  return kept;
}

void ProbeStep::hand_on_alone() {
  std::vector<JoinedTile::Pair> alone;
  for (const uint16_t row : keys_.rows()) {
    if (matched_[row] == 0) alone.push_back({row, JoinedTile::kMissing});
  }
  hand_on(std::move(alone));
}

// The tile itself: rows with or without partners, or all of them with a mark.
void ProbeStep::hand_on_view(TileInput& input) {
  std::ranges::fill(live_, uint8_t{0});
  uint32_t count = 0;
  for (const uint16_t row : keys_.rows()) {
    const bool stays = probe_.kind == JoinKind::kMark || (matched_[row] != 0) == (probe_.kind == JoinKind::kSemi);
    live_[row] = stays ? 1 : 0;
    count += live_[row];
  }
  if (count == 0) return;
  view_.narrow(input, live_.data());
  if (probe_.kind == JoinKind::kMark) mark_rows();
  next().add(view_);
}

void ProbeStep::mark_rows() {
  for (size_t i = 0; i < keys_.rows().size(); ++i) {
    const uint16_t row = keys_.rows()[i];
    const bool null =
        unknown_[row] != 0 || (keys_.can_have_peers(i) && table_.is_mark_null(keys_.words(i), keys_.is_null(i)));
    valid_[row] = matched_[row] != 0 || !null ? 1 : 0;
  }
  view_.set_mark(static_cast<uint32_t>(before_), matched_.data(), valid_.data());
}

void ProbeStep::add_last_rows() {
  const bool met = probe_.kind == JoinKind::kRightSemi;
  joined_.begin(nullptr);
  std::vector<JoinedTile::Pair> pairs;
  for (uint32_t row = 0; row < table_.rows().rows; ++row) {
    if (table_.was_met(row) != met) continue;
    pairs.push_back({JoinedTile::kMissing, row});
    if (pairs.size() < kTileRows) continue;
    if (cancel_ != nullptr) cancel_->check();
    hand_on(std::exchange(pairs, {}));
    if (full()) return;
  }
  hand_on(std::move(pairs));
}

}  // namespace basalt::exec
