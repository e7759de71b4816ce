#include "exec/cpu/join_table.h"

#include <algorithm>
#include <numeric>

#include "basalt/core/error.h"
#include "exec/cpu/table_tiles.h"
#include "exec/join_kind.h"

namespace basalt::exec {

namespace {

constexpr uint32_t kNoKey = ~0u;

// Ones in the bits of the keys in which NULL equals NULL.
std::vector<uint64_t> mask_of_peers(const std::vector<JoinKey>& keys, const KeyLayout& layout) {
  std::vector<uint64_t> mask(layout.words(), 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].nulls_equal) continue;
    const KeyPart& part = layout.parts()[i];
    mask[part.word] |= part.mask() << part.shift;
    if (part.two_words) mask[part.word + 1] = ~uint64_t{0};
    if (part.null_flag) mask[part.null_word] |= uint64_t{1} << part.null_shift;
  }
  return mask;
}

}  // namespace

JoinTable::JoinTable(const Probe& probe, const Table& rows, const CancelToken* cancel)
    : probe_(probe),
      rows_(rows),
      layout_(layout_of(probe.keys)),
      keys_(layout_.words(), layout_.bits()),
      peer_mask_(mask_of_peers(probe.keys, layout_)),
      peers_(layout_.words(), layout_.bits()),
      keeps_met_(keeps_second(probe.kind)) {
  if (rows.rows >= kNoKey) throw Error(ErrorCode::kUnsupported, "a join looks up 2^32 rows or more");
  if (keeps_met_) met_.assign(rows.rows, 0);
  number_rows(cancel);
  list_rows();
}

std::vector<uint64_t> JoinTable::peer_words(const uint64_t* words) const {
  std::vector<uint64_t> out(words, words + layout_.words());
  for (size_t i = 0; i < out.size(); ++i) out[i] &= peer_mask_[i];
  return out;
}

void JoinTable::number_rows(const CancelToken* cancel) {
  numbers_.assign(rows_.rows, kNoKey);
  JoinKeys keys(probe_.keys, layout_, JoinKeys::Side::kBuild);
  keys.open(StatisticsList(rows_.columns.size(), nullptr));
  TableTiles tiles(rows_);
  const auto number = [&](std::string_view text) { return std::optional<uint32_t>(texts_.number_of(text)); };
  for (uint32_t tile = 0; tile < tiles.tiles(); ++tile) {
    if (cancel != nullptr) cancel->check();
    tiles.begin(tile);
    keys.read(tiles, number);
    for (size_t i = 0; i < keys.rows().size(); ++i) {
      if (probe_.kind == JoinKind::kMark) {
        const uint32_t peer = peers_.number_of(peer_words(keys.words(i)).data());
        peer_nulls_.resize(peers_.size());
        if (keys.is_null(i)) peer_nulls_[peer] = 1;
      }
      if (!keys.is_null(i)) numbers_[uint64_t{tile} * kTileRows + i] = keys_.number_of(keys.words(i));
    }
  }
}

// Rows by key, in their order.
void JoinTable::list_rows() {
  starts_.assign(size_t{keys_.size()} + 1, 0);
  for (const uint32_t number : numbers_) {
    if (number != kNoKey) ++starts_[size_t{number} + 1];
  }
  for (const uint32_t count : starts_) most_partners_ = std::max<uint64_t>(most_partners_, count);
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  listed_.resize(starts_.back());
  std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (uint32_t row = 0; row < numbers_.size(); ++row) {
    if (numbers_[row] != kNoKey) listed_[next[numbers_[row]]++] = row;
  }
  numbers_ = {};
}

std::span<const uint32_t> JoinTable::partners(const uint64_t* words) const {
  const std::optional<uint32_t> key = keys_.find(words);
  if (!key) return {};
  return {listed_.data() + starts_[*key], listed_.data() + starts_[size_t{*key} + 1]};
}

bool JoinTable::is_mark_null(const uint64_t* words, bool null_key) const {
  const std::optional<uint32_t> peer = peers_.find(peer_words(words).data());
  return peer && (null_key || peer_nulls_[*peer] != 0);
}

}  // namespace basalt::exec
