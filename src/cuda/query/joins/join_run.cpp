#include "cuda/query/joins/join_run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/query/common_texts.h"
#include "cuda/query/joins/fused_stage.h"
#include "cuda/query/joins/places.h"
#include "cuda/query/joins/some_columns.h"
#include "cuda/query/row_arrays.h"
#include "cuda/query/timed_work.h"
#include "exec/join_kind.h"
#include "exec/several_rows.h"
#include "exec/stage_source.h"

namespace basalt::cuda {

namespace {

std::vector<uint32_t> all_columns(const DeviceTable& table) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < table.columns.size(); ++i) out.push_back(i);
  return out;
}

DataType type_of(Physical physical) {
  switch (physical) {
    case Physical::kU8: return {TypeKind::kUInt8};
    case Physical::kU16: return {TypeKind::kUInt16};
    case Physical::kU32: return {TypeKind::kUInt32};
    case Physical::kU64: return {TypeKind::kUInt64};
    case Physical::kI8: return {TypeKind::kInt8};
    case Physical::kI16: return {TypeKind::kInt16};
    case Physical::kI32: return {TypeKind::kInt32};
    case Physical::kI64: return {TypeKind::kInt64};
    case Physical::kI128: return {TypeKind::kInt128};
    case Physical::kF32: return {TypeKind::kFloat32};
    case Physical::kF64: return {TypeKind::kFloat64};
    default: return DataType::varchar();
  }
}

Field named(const std::string& name, const DataType& type) {
  Field field;
  field.name = name;
  field.type = type;
  return field;
}

// Whether rows of the second input leave beside pairs.
bool adds_second(JoinKind kind) { return exec::keeps_second(kind) && exec::gives_pairs(kind); }

bool keeps_only_second(JoinKind kind) { return exec::keeps_second(kind) && !exec::gives_pairs(kind); }

std::vector<uint32_t> fetched_columns(const Probe& probe) {
  std::vector<uint32_t> out;
  for (const PipelineColumn& column : probe.fetched) out.push_back(column.field_id);
  return out;
}

// Strings of both sides' keys as numbers of one list.
void number_keys(const std::vector<JoinKey>& keys, std::vector<DeviceColumn>& probe, uint64_t probe_rows,
                 std::vector<DeviceColumn>& build, uint64_t build_rows, cudaStream_t stream) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].build.type != Physical::kBytes) continue;
    const bool same_list = probe[i].listed != nullptr && probe[i].listed == build[i].listed &&
                           probe[i].texts == nullptr && build[i].texts == nullptr;
    if (same_list) continue;
    CommonTexts common = number_together({{&probe[i], probe_rows}, {&build[i], build_rows}}, stream);
    probe[i].values = std::move(common.numbers[0]);
    build[i].values = std::move(common.numbers[1]);
  }
}

KeySide side_of(const std::vector<DeviceColumn>& columns, uint64_t rows) {
  KeySide side;
  side.rows = rows;
  for (const DeviceColumn& column : columns) side.columns.push_back(&column);
  return side;
}

// Pairs of all pieces, which have their rows.
JoinPairs put_together(const std::vector<JoinPairs>& pieces, cudaStream_t stream) {
  std::vector<PlaceList> rows;
  std::vector<PlaceList> partners;
  JoinPairs out;
  for (const JoinPairs& piece : pieces) {
    rows.push_back({piece.rows, piece.count});
    partners.push_back({piece.partners, piece.count});
    out.count += piece.count;
  }
  out.rows = joined_places(rows, stream);
  out.partners = joined_places(partners, stream);
  return out;
}

}  // namespace

JoinRun::JoinRun(GraphRun& graph, const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report)
    : graph_(graph),
      stage_(stage),
      place_(place),
      tiles_(tiles),
      report_(report),
      stream_(graph.stream()),
      rows_(std::make_shared<const DeviceTable>(), {}, stream_) {}

JoinedRows JoinRun::source() {
  const std::vector<uint32_t> used = exec::used_behind_filter(stage_);
  std::shared_ptr<const DeviceTable> table = graph_.source_of(stage_, place_, tiles_, used, report_);
  std::vector<uint32_t> columns(stage_.columns.size(), JoinedRows::kNoColumn);
  for (uint32_t i = 0; i < used.size(); ++i) columns[used[i]] = stage_.files.empty() ? used[i] : i;
  return {std::move(table), columns, stream_};
}

// The rows, where joins only look something up and a kernel does so where it reads files.
std::optional<StageRows> JoinRun::run_fused() {
  const std::optional<FusedStage> fused = FusedStage::of(graph_, stage_);
  if (!fused || !graph_.why_not(fused->pipeline()).empty()) return std::nullopt;
  graph_.hold(fused->bytes());
  StageRows rows = fused->with_strings(graph_.run_over_files(fused->pipeline(), place_, tiles_, report_));
  add_rung(fused->text());
  return rows;
}

// What can be asked of the stage's rows where they are read is, and steps that ask no more are left out; unless a
// kernel has no room for it. The rows, where nothing is left to do.
std::optional<StageRows> JoinRun::read_source() {
  const SourceFilter filter(graph_, graph_.query(), stage_);
  Pipeline filtered = stage_;
  filter.add_to(filtered);
  filter.leave_out_answered(filtered);
  std::string asked = filter.text();
  if (!asked.empty() && graph_.why_not(exec::source_rows(filtered, exec::used_behind_filter(filtered))).empty()) {
    stage_ = std::move(filtered);
    graph_.hold(filter.bytes());
  } else {
    asked.clear();
  }
  if (stage_.steps.empty() && graph_.why_not(exec::before_windows(stage_)).empty()) {
    StageRows rows = graph_.run_over_files(stage_, place_, tiles_, report_);
    add_rung(asked);
    return rows;
  }
  add_rung(asked);
  rows_ = source();
  return std::nullopt;
}

StageRows JoinRun::run() {
  if (std::optional<StageRows> rows = run_fused()) return *std::move(rows);
  if (std::optional<StageRows> rows = read_source()) return *std::move(rows);
  for (const PipelineStep& step : stage_.steps) {
    graph_.check_cancelled();
    if (const auto* filter_step = std::get_if<FilterStep>(&step)) {
      filter(filter_step->predicate);
    } else {
      probe(std::get<Probe>(step));
    }
  }
  return sink();
}

void JoinRun::add_rung(const std::string& text) {
  if (!text.empty()) report_.rung += (report_.rung.empty() ? "" : "\n") + text;
}

DeviceTable JoinRun::gathered(const JoinedRows& rows, const std::vector<uint32_t>& columns) {
  const TimedWork timed(report_, stream_);
  return rows.table(columns);
}

JoinRun::Places JoinRun::passing(const JoinedRows& rows, const Expr& predicate) {
  std::set<uint32_t> used;
  exec::add_columns(predicate, used);
  const SomeColumns over(used);
  DeviceTable table = gathered(rows, over.used());
  const auto numbers = static_cast<uint32_t>(table.columns.size());
  table.columns.push_back(row_numbers(rows.rows(), stream_));
  Pipeline stage;
  read_columns(table, stage);
  stage.has_filter = true;
  stage.filter = over.over(predicate);
  stage.sink = Sink::kRows;
  stage.rows = {column_reference(numbers, Physical::kU32)};
  stage.output = {table.columns.back().field};
  const DeviceTable passed = graph_.rows_over(stage, table, report_);
  return {passed.columns.at(0).values, passed.rows};
}

void JoinRun::filter(const Expr& predicate) {
  const Places passed = passing(rows_, predicate);
  if (passed.count < rows_.rows()) rows_.keep(passed.places, passed.count, false);
}

std::vector<DeviceColumn> JoinRun::evaluate(const JoinedRows& rows, const std::vector<Expr>& exprs) {
  std::vector<DeviceColumn> out(exprs.size());
  std::vector<size_t> computed;
  std::set<uint32_t> used;
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (exprs[i].op == ExprOp::kColumn) {
      out[i] = rows.column(exprs[i].column);
    } else {
      computed.push_back(i);
      exec::add_columns(exprs[i], used);
    }
  }
  if (computed.empty()) return out;
  const SomeColumns over(used);
  DeviceTable table = gathered(rows, over.used());
  if (table.columns.empty()) table.columns.push_back(row_numbers(rows.rows(), stream_));
  Pipeline stage;
  read_columns(table, stage);
  stage.sink = Sink::kRows;
  for (const size_t i : computed) {
    stage.rows.push_back(over.over(exprs[i]));
    stage.output.push_back(named("key", type_of(exprs[i].type)));
  }
  DeviceTable values = graph_.rows_over(stage, table, report_);
  for (size_t i = 0; i < computed.size(); ++i) out[computed[i]] = std::move(values.columns[i]);
  return out;
}

void JoinRun::probe(const Probe& probe) {
  std::shared_ptr<const DeviceTable> build = graph_.on_device(probe.stage);
  std::vector<Expr> own_keys;
  std::vector<Expr> other_keys;
  for (const JoinKey& key : probe.keys) {
    own_keys.push_back(key.probe);
    other_keys.push_back(key.build);
  }
  std::vector<DeviceColumn> own = evaluate(rows_, own_keys);
  std::vector<DeviceColumn> other = evaluate({build, all_columns(*build), stream_}, other_keys);
  graph_.hold(rows_.bytes() + JoinTable::bytes_for(build->rows, rows_.rows()));
  std::optional<TimedWork> timed(std::in_place, report_, stream_);
  number_keys(probe.keys, own, rows_.rows(), other, build->rows, stream_);
  const KeySide side = side_of(own, rows_.rows());
  const JoinTable table(probe.keys, side_of(other, build->rows), join_settings(), stream_);
  add_rung(table.rung_text());
  const JoinTable::Found found = table.find(side);
  timed.reset();
  // What was taken, which is less than what might have been: pairs have the rest.
  graph_.hold(rows_.bytes() + table.bytes() + found.slots.bytes() + found.counts.bytes());
  join_pairs({probe, std::move(build), table, side, found});
}

// Pairs are only written where they are needed: as rows, or to ask a condition of them.
void JoinRun::join_pairs(const Join& join) {
  const Probe& probe = join.probe;
  const JoinTable& table = join.table;
  if (probe.residual) return join_by_condition(join);
  const TimedWork timed(report_, stream_);
  if (keeps_only_second(probe.kind)) {
    keep_pairs(join, {}, table.met(join.found));
  } else if (!exec::gives_pairs(probe.kind)) {
    keep_matched(join, table.matched(join.found), {});
  } else {
    const bool single = probe.kind == JoinKind::kSingle;
    JoinPairs pairs = table.pairs(join.found, exec::keeps_first(probe.kind), graph_.most_bytes());
    if (single && pairs.count > rows_.rows()) throw Error(ErrorCode::kInvalidArgument, exec::kSeveralRows);
    keep_pairs(join, std::move(pairs), adds_second(probe.kind) ? table.met(join.found) : DeviceBuffer());
  }
}

// Pairs for which the condition holds are kept, piece by piece; of marks, it is also asked where it is NULL.
void JoinRun::join_by_condition(const Join& join) {
  const Probe& probe = join.probe;
  const bool marks = probe.kind == JoinKind::kMark;
  const bool keeps = exec::gives_pairs(probe.kind);
  const DeviceBuffer matched = cleared(rows_.rows(), stream_);
  const DeviceBuffer in_doubt = cleared(marks ? rows_.rows() : 0, stream_);
  const DeviceBuffer met = cleared(exec::keeps_second(probe.kind) ? join.build->rows : 0, stream_);
  const uint64_t most_bytes = graph_.most_bytes();
  std::vector<JoinPairs> kept;
  uint64_t kept_bytes = 0;
  join.table.for_each_piece(join.found, most_bytes, [&](const JoinPairs& piece) {
    JoinPairs pairs = passing_pairs(join, piece);
    flag_places(pairs.rows.as<uint32_t>(), pairs.count, matched.as<uint8_t>(), stream_);
    if (met.data() != nullptr) {
      flag_places(pairs.partners.as<uint32_t>(), pairs.count, met.as<uint8_t>(), stream_);
    }
    if (marks) flag_rows_in_doubt(join, piece, in_doubt);
    if (!keeps) return;
    kept_bytes += pairs.rows.bytes() + pairs.partners.bytes();
    if (kept_bytes > most_bytes) {
      throw Error(ErrorCode::kOutOfMemory, "a join gives more pairs of rows than fit the device's memory");
    }
    kept.push_back(std::move(pairs));
  });
  if (keeps_only_second(probe.kind)) return keep_pairs(join, {}, met);
  if (!keeps) return keep_matched(join, matched, in_doubt);
  JoinPairs all = put_together(kept, stream_);
  if (probe.kind == JoinKind::kSingle && has_double(all.rows.as<uint32_t>(), all.count, rows_.rows(), stream_)) {
    throw Error(ErrorCode::kInvalidArgument, exec::kSeveralRows);
  }
  add_alone(probe, matched, all);
  keep_pairs(join, std::move(all), met);
}

// Rows that are in a pair of which the condition is NULL.
void JoinRun::flag_rows_in_doubt(const Join& join, const JoinPairs& pairs, const DeviceBuffer& flags) {
  Expr null;
  null.op = ExprOp::kIsNull;
  null.type = Physical::kU8;
  null.args = {*join.probe.residual};
  const Places nulls = passing(paired(join, pairs), null);
  flag_places(rows_of(pairs, nulls).as<uint32_t>(), nulls.count, flags.as<uint8_t>(), stream_);
}

// The rows of those of the pairs.
DeviceBuffer JoinRun::rows_of(const JoinPairs& pairs, const Places& some) const {
  if (pairs.in_place()) return some.places;
  return places_of_places(pairs.rows.as<uint32_t>(), some.places.as<uint32_t>(), some.count, stream_);
}

JoinedRows JoinRun::paired(const Join& join, const JoinPairs& pairs) const {
  JoinedRows rows = rows_;
  if (!pairs.in_place()) rows.keep(pairs.rows, pairs.count, false);
  rows.add(join.build, fetched_columns(join.probe), pairs.partners, false);
  return rows;
}

// Those for which the condition of the join holds; all of them have their rows.
JoinPairs JoinRun::passing_pairs(const Join& join, const JoinPairs& pairs) {
  const Places passed = passing(paired(join, pairs), *join.probe.residual);
  JoinPairs out;
  out.count = passed.count;
  out.rows = rows_of(pairs, passed);
  out.partners = places_of_places(pairs.partners.as<uint32_t>(), passed.places.as<uint32_t>(), passed.count, stream_);
  return out;
}

// Rows that are in no pair, without a partner.
void JoinRun::add_alone(const Probe& probe, const DeviceBuffer& matched, JoinPairs& pairs) {
  if (!exec::keeps_first(probe.kind)) return;
  uint64_t count = 0;
  const DeviceBuffer alone = flagged_places(matched.as<uint8_t>(), rows_.rows(), false, count, stream_);
  pairs.rows = joined_places({{pairs.rows, pairs.count}, {alone, count}}, stream_);
  pairs.partners = joined_places({{pairs.partners, pairs.count}, {missing_places(count, stream_), count}}, stream_);
  pairs.count += count;
}

// The pairs, and rows of the second side that were met or were not, as the kind wants them.
void JoinRun::keep_pairs(const Join& join, JoinPairs pairs, const DeviceBuffer& met) {
  const JoinKind kind = join.probe.kind;
  uint64_t more = 0;
  if (met.data() != nullptr) {
    const bool wanted = kind == JoinKind::kRightSemi;
    const DeviceBuffer others = flagged_places(met.as<uint8_t>(), join.build->rows, wanted, more, stream_);
    if (keeps_only_second(kind)) pairs = {};
    if (more > 0) {
      if (pairs.in_place()) pairs.rows = counting(pairs.count, stream_);
      pairs.rows = joined_places({{pairs.rows, pairs.count}, {missing_places(more, stream_), more}}, stream_);
      pairs.partners = joined_places({{pairs.partners, pairs.count}, {others, more}}, stream_);
      pairs.count += more;
    }
  }
  if (!pairs.in_place()) rows_.keep(pairs.rows, pairs.count, more > 0);
  rows_.add(join.build, fetched_columns(join.probe), pairs.partners, exec::keeps_first(kind));
}

// The rows with or without partners, or all of them with a mark.
void JoinRun::keep_matched(const Join& join, const DeviceBuffer& matched, const DeviceBuffer& unknown) {
  if (join.probe.kind == JoinKind::kMark) {
    auto marks = std::make_shared<DeviceTable>();
    marks->rows = rows_.rows();
    DeviceColumn mark;
    mark.field = named("mark", {TypeKind::kBool});
    mark.values = matched;
    mark.validity = join.table.known_marks(join.side, join.found, matched, unknown);
    marks->columns.push_back(std::move(mark));
    rows_.add(std::move(marks), {0}, {}, false);
    return;
  }
  uint64_t count = 0;
  const bool wanted = join.probe.kind == JoinKind::kSemi;
  const DeviceBuffer places = flagged_places(matched.as<uint8_t>(), rows_.rows(), wanted, count, stream_);
  if (count < rows_.rows()) rows_.keep(places, count, false);
}

StageRows JoinRun::sink() {
  std::set<uint32_t> used;
  exec::add_columns_of_sink(stage_, used);
  const SomeColumns over(used);
  DeviceTable table = gathered(rows_, over.used());
  if (table.columns.empty()) table.columns.push_back(row_numbers(rows_.rows(), stream_));
  rows_ = JoinedRows(std::make_shared<const DeviceTable>(), {}, stream_);  // nobody needs them any longer
  graph_.hold(bytes_of(table));
  Pipeline sink = sink_over(stage_, over);
  read_columns(table, sink);
  return graph_.run_over(sink, table, report_);
}

}  // namespace basalt::cuda
