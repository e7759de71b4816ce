// Pruning and running predicates.
#include "exec/filter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/dict/layout.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

constexpr uint32_t kReorderTiles = 32;

double work_of(const Expr& expr) {
  double work = 1;
  if (expr.op == ExprOp::kColumn) work = expr.type == Physical::kBytes ? 40 : basalt::width_of(expr.type) / 4.0 + 1;
  if (expr.op == ExprOp::kIn) work += static_cast<double>(std::min<size_t>(expr.args.size(), 16));
  for (const Expr& arg : expr.args) {
    if (arg.op != ExprOp::kLiteral) work += work_of(arg);
  }
  return work;
}

// The entries of a dictionary in place of the rows of the one column a conjunct reads.
class EntriesInput : public TileInput {
 public:
  explicit EntriesInput(const NodeView& node) { entries_.open(node); }
  uint32_t tiles() const { return tile_count(entries_.count()); }
  void begin(uint32_t tile) { tile_ = tile; }
  bool corrupt() const { return entries_.corrupt(); }

  uint32_t rows() const override { return rows_in_tile(entries_.count(), tile_); }
  const uint8_t* live() const override { return nullptr; }
  Vector column(uint32_t, Lane lane) override { return {lane, entries_.tile(tile_, lane), nullptr}; }
  const uint8_t* valid(uint32_t) override { return nullptr; }
  bool filter_strings(uint32_t, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    return entries_.filter_strings(tile_, test, out) != Answered::kNot;
  }

 private:
  ArrayTiles entries_;
  uint32_t tile_ = 0;
};

// One NULL.
class NullInput : public TileInput {
 public:
  uint32_t rows() const override { return 1; }
  const uint8_t* live() const override { return nullptr; }
  Vector column(uint32_t, Lane lane) override { return {lane, zeros_.data(), zeros_.data()}; }
  const uint8_t* valid(uint32_t) override { return zeros_.data(); }

 private:
  // Long enough for one value of any lane; an empty string_view is all zero too.
  alignas(64) std::array<uint8_t, kTileRows> zeros_{};
};

}  // namespace

bool DictionaryTest::applies(ColumnChunk& column) { return column.values_node().codec->holds_entries(); }

DictionaryTest::DictionaryTest(Step& step, ColumnChunk& column) : column_(column), result_(kTileRows) {
  const NodeView& node = column.values_node();
  EntriesInput entries(node.children[dict::kEntries]);
  hits_.reserve(node.children[dict::kEntries].count);
  for (uint32_t tile = 0; tile < entries.tiles(); ++tile) {
    entries.begin(tile);
    const auto* result = evaluate_predicate(step, entries).as<uint8_t>();
    hits_.insert(hits_.end(), result, result + entries.rows());
  }
  if (entries.corrupt()) {
    throw Error(ErrorCode::kCorrupt, column.place() + ": dictionary entries break the rules of their encoding");
  }
  NullInput null;
  null_holds_ = evaluate_predicate(step, null).as<uint8_t>()[0] != 0;

  const auto first = std::find(hits_.begin(), hits_.end(), 1);
  const auto end = std::find(first, hits_.end(), 0);
  contiguous_ = first != hits_.end() && std::find(end, hits_.end(), 1) == hits_.end();
  first_ = static_cast<uint32_t>(first - hits_.begin());
  last_ = static_cast<uint32_t>(end - hits_.begin()) - (contiguous_ ? 1 : 0);
  const bool nulls = column.has_validity();
  if (first == hits_.end() && !(nulls && null_holds_)) decision_ = Decision::kNone;
  if (contiguous_ && last_ - first_ + 1 == hits_.size() && !(nulls && !null_holds_)) decision_ = Decision::kAll;
  codes_.open(node.children[dict::kCodes]);
}

void DictionaryTest::fail_codes() const {
  throw Error(ErrorCode::kCorrupt, column_.place() + ": codes lie beyond the dictionary or break their encoding");
}

void DictionaryTest::check_codes(uint32_t tile, uint32_t rows, uint32_t most) {
  checked_.resize(kTileRows);
  auto* inside = checked_.as<uint8_t>();
  codes_.filter_range(tile, 0, most, false, inside);
  if (std::memchr(inside, 0, rows) != nullptr) fail_codes();
}

const uint8_t* DictionaryTest::run(uint32_t tile, uint32_t rows, Answered& how) {
  auto* out = result_.as<uint8_t>();
  const auto most = static_cast<uint32_t>(hits_.empty() ? 0 : hits_.size() - 1);
  // A code beyond the entries lies in no range of them: it is looked for where the tile's width leaves room for one.
  how = contiguous_ ? codes_.filter_range(tile, first_, last_, false, out) : Answered::kNot;
  if (how != Answered::kNot) {
    if (codes_.may_exceed(tile, most)) check_codes(tile, rows, most);
    if (codes_.corrupt()) fail_codes();
  } else {
    const auto* codes = static_cast<const int32_t*>(codes_.tile(tile, Lane::kI32));
    uint32_t largest = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      const auto code = static_cast<uint32_t>(codes[i]);
      largest = std::max(largest, code);
      out[i] = hits_.empty() ? 0 : hits_[std::min(code, most)];
    }
    if ((rows > 0 && largest > most) || codes_.corrupt()) fail_codes();
  }
  if (const uint8_t* valid = column_.valid(tile); valid != nullptr) {
    const uint8_t of_null = null_holds_ ? 1 : 0;
    for (uint32_t i = 0; i < rows; ++i) out[i] = valid[i] != 0 ? out[i] : of_null;
  }
  return out;
}

Filter::Filter(const Expr* predicate) {
  if (predicate != nullptr) predicates_ = conjuncts_of(*predicate);
}

Decision Filter::open_chunk(ChunkTiles& tiles, bool prune) {
  active_.clear();
  zones_.clear();
  tiles_run_ = 0;
  const StatisticsList stats = tiles.chunk_statistics();
  for (const Expr* predicate : predicates_) {
    const Decision decision = prune ? decide(*predicate, stats) : Decision::kUnknown;
    if (decision == Decision::kNone) return Decision::kNone;
    if (decision == Decision::kAll) continue;
    Conjunct conjunct;
    conjunct.expr = predicate;
    conjunct.columns = columns_of(*predicate);
    conjunct.reads_texts = std::any_of(conjunct.columns.begin(), conjunct.columns.end(), [&](uint32_t column) {
      return physical_of(tiles.chunk_column(column).column().type) == Physical::kBytes;
    });
    conjunct.may_throw = truth_of(*predicate, stats).may_throw;
    conjunct.cost = work_of(*predicate);
    conjunct.step = prepare(*predicate, stats, automata_);
    active_.push_back(std::move(conjunct));
  }
  if (active_.empty()) return Decision::kAll;
  std::stable_partition(active_.begin(), active_.end(), [](const Conjunct& c) { return !c.may_throw; });
  order_conjuncts();
  if (!prune) return Decision::kUnknown;
  if (decide_zones(tiles) == Decision::kNone) return Decision::kNone;
  return try_dictionaries(tiles);
}

Decision Filter::decide_zones(const ChunkTiles& tiles) {
  const uint32_t zones = (tiles.tiles() + kTilesPerZone - 1) / kTilesPerZone;
  zones_.assign(zones, Decision::kAll);
  for (Conjunct& conjunct : active_) conjunct.zone_all.assign(zones, false);
  bool any = false;
  for (uint32_t zone = 0; zone < zones; ++zone) {
    const StatisticsList stats = tiles.zone_statistics(zone);
    for (Conjunct& conjunct : active_) {
      const Decision decision = decide(*conjunct.expr, stats);
      conjunct.zone_all[zone] = decision == Decision::kAll;
      if (decision == Decision::kNone) {
        zones_[zone] = Decision::kNone;
        break;
      }
      if (decision == Decision::kUnknown) zones_[zone] = Decision::kUnknown;
    }
    any |= zones_[zone] != Decision::kNone;
  }
  return any ? Decision::kUnknown : Decision::kNone;
}

Decision Filter::try_dictionaries(ChunkTiles& tiles) {
  for (size_t i = 0; i < active_.size();) {
    Conjunct& conjunct = active_[i];
    // Only columns that this conjunct will have read anyway.
    if (conjunct.may_throw || conjunct.columns.size() != 1) {
      ++i;
      continue;
    }
    const ColumnChunkInfo& info = tiles.chunk_column(conjunct.columns[0]).info();
    const bool dictionary = std::any_of(info.nodes.begin(), info.nodes.end(),
                                        [](const NodePlace& node) { return holds_entries(node.codec_name); });
    ColumnChunk& column = tiles.chunk_column(conjunct.columns[0]);
    if (!dictionary || !DictionaryTest::applies(column)) {
      ++i;
      continue;
    }
    conjunct.dictionary = std::make_unique<DictionaryTest>(conjunct.step, column);
    conjunct.cost = 2;
    if (conjunct.dictionary->decision() == Decision::kNone) return Decision::kNone;
    if (conjunct.dictionary->decision() == Decision::kAll) {
      active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    ++i;
  }
  if (active_.empty()) return Decision::kAll;
  order_conjuncts();
  return Decision::kUnknown;
}

void Filter::order_conjuncts() {
  const auto rank = [](const Conjunct& c) {
    const double rejected = 1.0 - static_cast<double>(c.rows_out) / static_cast<double>(c.rows_in);
    return c.cost / std::max(rejected, 0.001);
  };
  const auto end = std::find_if(active_.begin(), active_.end(), [](const Conjunct& c) { return c.may_throw; });
  std::stable_sort(active_.begin(), end, [&](const Conjunct& a, const Conjunct& b) { return rank(a) < rank(b); });
}

bool Filter::run(ChunkTiles& tiles) {
  if (++tiles_run_ % kReorderTiles == 0) order_conjuncts();
  const uint32_t zone = tiles.tile() / kTilesPerZone;
  for (Conjunct& conjunct : active_) {
    if (!conjunct.zone_all.empty() && conjunct.zone_all[zone]) continue;
    conjunct.rows_in += tiles.alive();
    if (conjunct.dictionary != nullptr) {
      Answered how = Answered::kByRows;
      const uint8_t* holds = conjunct.dictionary->run(tiles.tile(), tiles.tile_rows(), how);
      tiles.answered(how);
      if (conjunct.reads_texts) tiles.tested_in_place();
      tiles.keep_of_tile(holds);
    } else {
      tiles.keep(evaluate_predicate(conjunct.step, tiles).as<uint8_t>());
    }
    conjunct.rows_out += tiles.alive();
    if (tiles.alive() == 0) return false;
  }
  return true;
}

}  // namespace basalt::exec
