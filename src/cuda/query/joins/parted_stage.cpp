#include "cuda/query/joins/parted_stage.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/query/joins/members.h"
#include "cuda/query/joins/some_columns.h"
#include "cuda/query/joins/source_filter.h"
#include "cuda/query/joins/union_rows.h"
#include "exec/join_kind.h"
#include "exec/report.h"
#include "exec/stage_source.h"

namespace basalt::cuda {

namespace {

// Keys are divided by one after the other. What they leave is independent of each other, and of steps that keys have.
constexpr int64_t kDivisors[] = {3, 7, 11, 13, 17};
constexpr uint64_t kSlices = 4;  // that tiles are divided into, each time
constexpr size_t kMostDepth = 14;
constexpr uint64_t kPatience = 16;  // parts that fit before larger ones are tried again

// What the run of a part may fail with that a smaller one may not.
bool is_too_large(const Error& error) { return error.code() == ErrorCode::kOutOfMemory; }

Expr call(ExprOp op, Physical type, std::vector<Expr> args) {
  Expr out;
  out.op = op;
  out.type = type;
  out.args = std::move(args);
  return out;
}

// Keys that leave this when they are divided; NULL leaves 0. What negative ones leave has their sign.
Expr leaves(const Expr& key, int64_t divisor, int64_t value) {
  const auto number = [&](int64_t of) { return literal(Value::of_integer(key.type, of)); };
  Expr left = call(ExprOp::kModulo, key.type, {key, number(divisor)});
  left = call(ExprOp::kCoalesce, key.type, {std::move(left), number(0)});
  if (!is_signed(key.type)) return equal(left, number(value));
  return any_of({equal(left, number(value)), equal(left, number(value - divisor))});
}

uint64_t tiles_of(const Pipeline& stage) {
  uint64_t count = 0;
  for (const auto& file : stage.files) {
    for (const ChunkInfo& chunk : file->chunks()) count += tile_count(chunk.rows);
  }
  return count;
}

size_t probe_count(const Pipeline& stage) {
  return static_cast<size_t>(
      std::ranges::count_if(stage.steps, [](const PipelineStep& step) { return std::holds_alternative<Probe>(step); }));
}

std::set<uint32_t> columns_of_step(const PipelineStep& step) {
  std::set<uint32_t> used;
  if (const auto* filter = std::get_if<FilterStep>(&step)) {
    exec::add_columns(filter->predicate, used);
    return used;
  }
  const Probe& probe = std::get<Probe>(step);
  for (const JoinKey& key : probe.keys) exec::add_columns(key.probe, used);
  if (probe.residual) exec::add_columns(*probe.residual, used);
  return used;
}

// Whether each of its rows goes its way without the others.
bool is_by_row(const PipelineStep& step) {
  const auto* probe = std::get_if<Probe>(&step);
  return probe == nullptr || !exec::keeps_second(probe->kind);
}
bool is_by_row(const Pipeline& stage) {
  return std::ranges::all_of(stage.steps, [](const PipelineStep& step) { return is_by_row(step); });
}

// Whether both sides of a join may be divided by what the key leaves, where they are read.
bool can_be_divided(const JoinKey& key, const Pipeline& stage) {
  std::set<uint32_t> used;
  exec::add_columns(key.probe, used);
  const bool of_source = used.empty() || *used.rbegin() < stage.columns.size();
  const Physical type = key.probe.type;
  const bool number = type == key.build.type && may_be_member(type) && width_of(type) > 1;
  return of_source && number && !may_throw(key.probe) && !may_throw(key.build);
}

void add_condition(Expr condition, Pipeline& stage) {
  stage.filter = stage.has_filter ? all_of({stage.filter, std::move(condition)}) : std::move(condition);
  stage.has_filter = true;
}

// A stage's rows before its sink, and the stage that has the sink; nothing where there is no more to do.
struct SplitStage {
  Pipeline rows;
  std::optional<Pipeline> sink;
};

SplitStage split(const Pipeline& stage) {
  if (stage.sink != Sink::kRows) {
    std::set<uint32_t> used;
    exec::add_columns_of_sink(stage, used);
    const SomeColumns columns(used);
    return {rows_before_sink(stage, columns), sink_over(stage, columns)};
  }
  SplitStage out{exec::before_windows(stage), std::nullopt};
  Pipeline& rows = out.rows;
  rows.at_most_one = false;
  const bool limited = rows.limit != kAllRows || rows.offset > 0;
  if (stage.windows.empty() && stage.order.empty() && !limited) return out;
  Pipeline sink = stage;
  sink.files.clear();
  sink.constants.reset();
  sink.sources.clear();
  sink.steps.clear();
  sink.has_filter = false;
  sink.columns.clear();
  sink.rows.clear();
  for (uint32_t i = 0; i < stage.rows.size(); ++i) {
    sink.columns.push_back({i, stage.output[i].name, stage.output[i].type});
    sink.rows.push_back(column_reference(i, physical_of(stage.output[i].type)));
  }
  out.sink = std::move(sink);
  // Of an order, too, as many of each part suffice.
  const bool first_only = rows.limit != kAllRows && rows.limit <= kAllRows - rows.offset;
  rows.limit = first_only ? rows.limit + rows.offset : kAllRows;
  rows.offset = 0;
  if (!first_only) rows.order.clear();
  return out;
}

// The stage up to its first join and the filters behind it, and what is left of it, which reads the rows of that.
std::pair<Pipeline, Pipeline> cut_behind_join(const Pipeline& stage) {
  size_t end = 0;
  while (!std::holds_alternative<Probe>(stage.steps[end])) ++end;
  ++end;
  while (end < stage.steps.size() && std::holds_alternative<FilterStep>(stage.steps[end])) ++end;
  const auto all = static_cast<uint32_t>(columns_behind(stage, end).size());
  std::set<uint32_t> used;
  exec::add_columns_of_sink(stage, used);
  for (size_t i = end; i < stage.steps.size(); ++i) used.merge(columns_of_step(stage.steps[i]));
  const SomeColumns columns(used, all);
  Pipeline first = stage;
  first.steps.resize(end);
  Pipeline rest = sink_over(first, columns);  // whose steps come next
  rest.steps.assign(stage.steps.begin() + static_cast<ptrdiff_t>(end), stage.steps.end());
  for (PipelineStep& step : rest.steps) {
    if (auto* filter = std::get_if<FilterStep>(&step)) {
      filter->predicate = columns.over(std::move(filter->predicate));
      continue;
    }
    Probe& probe = std::get<Probe>(step);
    for (JoinKey& key : probe.keys) key.probe = columns.over(std::move(key.probe));
    if (probe.residual) probe.residual = columns.over(*std::move(probe.residual));
  }
  return {rows_before_sink(first, columns), std::move(rest)};
}

}  // namespace

// What parts leave: on the device while it is little, then beside it.
class PartedStage::Pieces {
 public:
  explicit Pieces(GraphRun& graph) : graph_(graph) {}
  ~Pieces() { graph_.hold_beside(0); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Of a part once: whoever divides it anew when there is no memory must not have added it.
  void add(StageRows rows) {
    DeviceTable table = rows.device ? *std::move(rows.device) : uploaded(rows.host);
    if (table.rows == 0 && !tables_.empty()) return;
    bytes_ += bytes_of(table);
    tables_.push_back(std::make_shared<const DeviceTable>(std::move(table)));
    if (parked_ || bytes_ > graph_.most_memory() / 8) park();
    graph_.hold_beside(bytes_);
  }

  StageRows take() {
    if (parked_) {
      StageRows rows;
      rows.parked = parked_->finish();
      return rows;
    }
    DeviceTable all = tables_.size() == 1 ? *tables_.front() : union_rows(tables_, graph_.stream());
    return {{}, std::move(all)};
  }

 private:
  void park() {
    if (!parked_) parked_.emplace(graph_.parking());
    for (const auto& table : tables_) parked_->append(fetched(*table));
    tables_.clear();
    bytes_ = 0;
  }

  // What joins hold makes room for the ways to the device and to the host.
  template <typename Move>
  auto moved(const Move& move) {
    try {
      return move();
    } catch (const Error& error) {
      if (!is_too_large(error)) throw;
    }
    graph_.release();
    return move();
  }
  DeviceTable uploaded(const Table& rows) {
    return moved([&] { return upload_table(rows, graph_.stream()); });
  }
  Table fetched(const DeviceTable& table) {
    return moved([&] { return graph_.fetch(table); });
  }

  GraphRun& graph_;
  std::vector<std::shared_ptr<const DeviceTable>> tables_;
  uint64_t bytes_ = 0;
  std::optional<ParkedRows> parked_;
};

PartedStage::PartedStage(GraphRun& graph, const Pipeline& stage, size_t place, RunReport& report)
    : graph_(graph), stage_(stage), place_(place), report_(report) {}

StageRows PartedStage::run(bool has_more_room) {
  if (has_more_room) {
    try {
      return graph_.run_at_once(stage_, place_, {}, report_);
    } catch (const Error& error) {
      if (!is_too_large(error)) throw;
      graph_.release();
    }
  }
  graph_.park_sources(stage_, place_);
  SplitStage halves = split(stage_);
  StageRows rows = rows_of(halves.rows);
  const std::string text = "in " + std::to_string(parts_) + " parts, for want of memory";
  report_.rung += (report_.rung.empty() ? "" : "\n") + text;
  return halves.sink ? with_sink(*halves.sink, std::move(rows)) : std::move(rows);
}

StageRows PartedStage::rows_of(const Pipeline& stage) {
  if (probe_count(stage) < 2) return in_parts(stage, false);
  try {
    return in_parts(stage, false);
  } catch (const Error& error) {
    if (!is_too_large(error)) throw;
  }
  graph_.release();
  return join_after_join(stage);
}

StageRows PartedStage::join_after_join(const Pipeline& stage) {
  Pipeline left = stage;
  std::shared_ptr<const File> between;
  while (probe_count(left) > 1) {
    auto [first, rest] = cut_behind_join(left);
    for (const PipelineStep& step : rest.steps) {
      if (const auto* probe = std::get_if<Probe>(&step)) graph_.park(probe->stage);
    }
    StageRows rows = in_parts(first, true);
    if (rows.parked == nullptr) {
      ParkedRows parked = graph_.parking();
      parked.append(rows.device ? graph_.fetch(*rows.device) : std::move(rows.host));
      rows.parked = parked.finish();
    }
    if (between != nullptr) graph_.forget(*between);
    between = std::move(rows.parked);
    rest.files = {between};
    left = std::move(rest);
  }
  StageRows rows = in_parts(left, true);
  if (between != nullptr) graph_.forget(*between);
  return rows;
}

// `whole`: whether all of it may fit, which was not tried.
StageRows PartedStage::in_parts(const Pipeline& stage, bool whole) {
  const std::optional<Divided> divided = divided_join(stage);
  least_depth_ = whole ? 0 : 1;
  fitted_ = 0;
  Pieces pieces(graph_);
  run_parts(stage, divided, {}, 0, pieces);
  graph_.release();
  return pieces.take();
}

// The join with the largest second side of those that can be divided.
std::optional<PartedStage::Divided> PartedStage::divided_join(const Pipeline& stage) const {
  std::optional<Divided> best;
  uint64_t most = 0;
  for (const PipelineStep& step : stage.steps) {
    const auto* probe = std::get_if<Probe>(&step);
    // Whether there are rows at all, and NULLs among them, a mark must know of all of them.
    if (probe == nullptr || probe->kind == JoinKind::kMark) continue;
    const bool alone = std::ranges::all_of(stage.steps, [&](const PipelineStep& other) {
      const auto* other_probe = std::get_if<Probe>(&other);
      return &other == &step || (is_by_row(other) && (other_probe == nullptr || other_probe->stage != probe->stage));
    });
    const uint64_t bytes = graph_.kept_bytes(probe->stage);
    if (!alone || (best && bytes <= most)) continue;
    const auto key = std::ranges::find_if(probe->keys, [&](const JoinKey& one) { return can_be_divided(one, stage); });
    if (key == probe->keys.end()) continue;
    best = Divided{probe, &*key, bytes > graph_.most_memory() / 32};
    most = bytes;
  }
  return best;
}

// Large second sides are divided first, and in turns with the tiles of the first.
std::vector<PartedStage::Part> PartedStage::smaller_parts(const Pipeline& stage, const std::optional<Divided>& divided,
                                                          const Part& part, size_t depth) const {
  const uint64_t first = part.tiles.begin;
  const uint64_t end = std::min(part.tiles.end, tiles_of(stage));
  const bool slices = is_by_row(stage) && first + 1 < end;
  const bool remainders = divided && part.remainders.size() < std::size(kDivisors);
  std::vector<Part> out;
  if (remainders && (!slices || (divided->is_large && depth % 2 == 0))) {
    const int64_t divisor = kDivisors[part.remainders.size()];
    for (int64_t value = 0; value < divisor; ++value) {
      out.push_back(part);
      out.back().remainders.push_back({divisor, value});
    }
  } else if (slices) {
    const uint64_t count = std::min(kSlices, end - first);
    for (uint64_t i = 0; i < count; ++i) {
      out.push_back(part);
      out.back().tiles = {first + (end - first) * i / count, first + (end - first) * (i + 1) / count};
    }
  }
  return out;
}

void PartedStage::run_parts(const Pipeline& stage, const std::optional<Divided>& divided, const Part& part,
                            size_t depth, Pieces& pieces) {
  const std::vector<Part> smaller =
      depth < kMostDepth ? smaller_parts(stage, divided, part, depth) : std::vector<Part>();
  if (depth >= least_depth_ || smaller.empty()) {
    std::optional<StageRows> rows;
    try {
      rows = run_part(stage, divided, part);
    } catch (const Error& error) {
      if (!is_too_large(error) || smaller.empty()) throw;
      graph_.release();
    }
    if (rows) {
      pieces.add(*std::move(rows));
      ++parts_;
      // One key with very many partners is no reason to divide all others as far.
      if (++fitted_ % kPatience == 0 && least_depth_ > 1) --least_depth_;
      return;
    }
    least_depth_ = depth + 1;
    fitted_ = 0;
  }
  for (const Part& next : smaller) run_parts(stage, divided, next, depth + 1, pieces);
}

// While it lives, others find only those rows of the second side that may be partners of the part's.
class PartedStage::ShownPart {
 public:
  ShownPart(GraphRun& graph, const Divided& divided, const Part& part, RunReport& report)
      : graph_(graph), stage_(divided.probe->stage) {
    const std::shared_ptr<const File> all = graph.park(stage_);
    std::vector<Expr> conditions;
    for (const Remainder& one : part.remainders)
      conditions.push_back(leaves(divided.key->build, one.divisor, one.value));
    const std::vector<Field>& fields = graph.query().stages[stage_].output;
    DeviceTable rows = graph.rows_of(all, fields, all_of(std::move(conditions)), report);
    graph.show_part(stage_, std::make_shared<const DeviceTable>(std::move(rows)));
  }
  ~ShownPart() { graph_.show_part(stage_, nullptr); }
  ShownPart(const ShownPart&) = delete;
  ShownPart& operator=(const ShownPart&) = delete;

 private:
  GraphRun& graph_;
  uint32_t stage_;
};

StageRows PartedStage::run_part(const Pipeline& stage, const std::optional<Divided>& divided, const Part& part) {
  graph_.check_cancelled();
  RunReport own;
  Pipeline some = stage;
  std::optional<ShownPart> shown;
  if (!part.remainders.empty()) {
    shown.emplace(graph_, *divided, part, own);
    for (const Remainder& one : part.remainders)
      add_condition(leaves(divided->key->probe, one.divisor, one.value), some);
  }
  StageRows rows = graph_.run_at_once(some, place_, part.tiles, own);
  if (parts_ > 0) own.kernel_source.clear();
  exec::add_work(own, report_);
  report_.ran_on = own.ran_on;
  report_.rows += own.rows;
  if (report_.rung.empty()) report_.rung = own.rung;
  return rows;
}

StageRows PartedStage::with_sink(const Pipeline& sink, StageRows rows) {
  Pipeline last = sink;
  RunReport own;
  StageRows out;
  if (rows.parked == nullptr) {
    const DeviceTable table = rows.device ? *std::move(rows.device) : upload_table(rows.host, graph_.stream());
    graph_.hold(bytes_of(table));
    out = graph_.run_over(last, table, own);
  } else {
    last.files = {rows.parked};
    out = graph_.run_over_files(last, place_, {}, own);
    graph_.forget(*rows.parked);
  }
  exec::add_work(own, report_);
  if (!own.rung.empty()) report_.rung += "\n" + own.rung;
  return out;
}

}  // namespace basalt::cuda
