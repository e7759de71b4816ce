#include "exec/cpu/probe_step.h"

#include <algorithm>
#include <utility>

#include "basalt/core/error.h"

namespace basalt::exec {

namespace {

// Whether a row leaves for each partner.
bool gives_pairs(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
    case JoinKind::kLeft:
    case JoinKind::kRight:
    case JoinKind::kFull:
    case JoinKind::kSingle: return true;
    default: return false;
  }
}

// Whether a row without partners leaves with NULLs.
bool keeps_first(JoinKind kind) {
  return kind == JoinKind::kLeft || kind == JoinKind::kFull || kind == JoinKind::kSingle;
}

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
      valid_(kTileRows) {
  pairs_.reserve(kTileRows);
}

void ProbeStep::open(StatisticsList& stats) {
  keys_.open(stats);
  const size_t behind = before_ + probe_.fetched.size();
  stats.resize(behind, nullptr);
  if (probe_.residual) residual_ = prepare(*probe_.residual, stats);
  if (probe_.kind == JoinKind::kSemi || probe_.kind == JoinKind::kAnti) stats.resize(before_);
  if (probe_.kind == JoinKind::kMark) {
    stats.resize(before_);
    stats.push_back(nullptr);
  }
}

void ProbeStep::add(TileInput& input, uint64_t first_row) {
  first_row_ = first_row;
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
  // Where any partner will do, the first is enough.
  const bool any = !gives_pairs(probe_.kind) && !probe_.residual;
  for (size_t i = 0; i < keys_.rows().size(); ++i) {
    if (!keys_.can_match(i)) continue;
    const uint16_t row = keys_.rows()[i];
    const std::span<const uint32_t> partners = table_.partners(keys_.words(i));
    if (!any) {
      for (const uint32_t partner : partners) add_pair(row, partner);
      continue;
    }
    matched_[row] = partners.empty() ? 0 : 1;
    // All rows of a key are met together.
    if (!table_.keeps_met() || partners.empty() || table_.was_met(partners.front())) continue;
    for (const uint32_t partner : partners) table_.meet(partner);
  }
}

void ProbeStep::add_pair(uint32_t row, uint32_t partner) {
  pairs_.push_back({row, partner});
  if (pairs_.size() == kTileRows) flush();
}

void ProbeStep::hand_on(std::vector<JoinedTile::Pair> pairs) {
  if (pairs.empty()) return;
  joined_.set_pairs(std::move(pairs));
  next().add(joined_, first_row_);
}

void ProbeStep::flush() {
  if (pairs_.empty()) return;
  if (cancel_ != nullptr) cancel_->check();
  std::vector<JoinedTile::Pair> kept;
  if (probe_.residual) {
    joined_.set_pairs(std::exchange(pairs_, {}));
    const Vector holds = evaluate_predicate(residual_, joined_);
    for (size_t i = 0; i < joined_.pairs().size(); ++i) {
      const JoinedTile::Pair& pair = joined_.pairs()[i];
      if (holds.valid != nullptr && holds.valid[i] == 0) {
        unknown_[pair.row] = 1;
      } else if (holds.as<uint8_t>()[i] != 0) {
        kept.push_back(pair);
      }
    }
  } else {
    kept = std::exchange(pairs_, {});
  }
  pairs_.reserve(kTileRows);
  for (const JoinedTile::Pair& pair : kept) {
    if (probe_.kind == JoinKind::kSingle && matched_[pair.row] != 0) {
      throw Error(ErrorCode::kInvalidArgument, kSeveralRows);
    }
    matched_[pair.row] = 1;
    if (table_.keeps_met()) table_.meet(pair.partner);
  }
  if (gives_pairs(probe_.kind)) hand_on(std::move(kept));
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
  view_.begin(input);
  std::ranges::fill(live_, uint8_t{0});
  uint32_t count = 0;
  for (const uint16_t row : keys_.rows()) {
    const bool stays = probe_.kind == JoinKind::kMark || (matched_[row] != 0) == (probe_.kind == JoinKind::kSemi);
    live_[row] = stays ? 1 : 0;
    count += live_[row];
  }
  if (count == 0) return;
  view_.set_live(live_.data());
  if (probe_.kind == JoinKind::kMark) mark_rows();
  next().add(view_, first_row_);
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
  first_row_ = 0;
  std::vector<JoinedTile::Pair> pairs;
  for (uint32_t row = 0; row < table_.rows().rows; ++row) {
    if (table_.was_met(row) != met) continue;
    pairs.push_back({JoinedTile::kMissing, row});
    if (pairs.size() < kTileRows) continue;
    if (cancel_ != nullptr) cancel_->check();
    hand_on(std::exchange(pairs, {}));
  }
  hand_on(std::move(pairs));
}

}  // namespace basalt::exec
