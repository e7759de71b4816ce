#include "exec/cpu/run_stage.h"

#include <memory>
#include <optional>

#include "exec/column_facts.h"
#include "exec/cpu/conjuncts.h"
#include "exec/cpu/group_sink.h"
#include "exec/cpu/group_table.h"
#include "exec/cpu/magnitude_sink.h"
#include "exec/cpu/rows_sink.h"
#include "exec/cpu/scan_parts.h"
#include "exec/cpu/sort.h"
#include "exec/cpu/step_chain.h"
#include "exec/cpu/table_tiles.h"
#include "exec/cpu/windows.h"
#include "exec/fixed_sum.h"
#include "exec/narrowed_input.h"

namespace basalt::exec {

namespace {

using Sinks = std::vector<std::unique_ptr<TileSink>>;
using MakeSink = std::function<std::unique_ptr<TileSink>()>;

Sinks scan_tables(const Pipeline& stage, const std::vector<const Table*>& tables, const RunOptions& options,
                  const MakeSink& make) {
  Sinks sinks;
  sinks.push_back(make());
  TileSink& sink = *sinks.front();
  const StatisticsList unknown(stage.columns.size(), nullptr);
  std::optional<Conjuncts> filter;
  if (stage.has_filter) filter.emplace(stage.filter).open(unknown);
  NarrowedInput passing;
  uint64_t first_row = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    PartBegin begin;
    begin.part = i;
    begin.stats = unknown;
    begin.first_of_chunk = true;
    begin.all_pass = !stage.has_filter;
    if (sink.open(begin)) {
      TableTiles tiles(*tables[i]);
      for (uint32_t tile = 0; tile < tiles.tiles() && !sink.full(); ++tile) {
        if (options.cancel != nullptr) options.cancel->check();
        tiles.begin(tile);
        const uint8_t* live = filter ? filter->run(tiles) : nullptr;
        if (filter && live == nullptr) continue;
        passing.narrow(tiles, live);
        sink.add(passing, first_row + uint64_t{tile} * kTileRows);
      }
    }
    sink.close();
    first_row += tables[i]->rows;
  }
  return sinks;
}

// What every run over the rows of a stage needs.
struct StageRun {
  const Pipeline& stage;
  const StageInput& input;
  StageSteps steps;

  StageRun(const Pipeline& what, const StageInput& from, const RunOptions& options)
      : stage(what), input(from), steps(what, from.probed, options) {}

  Sinks scan(const RunOptions& options, RunReport& report, const MakeSink& make) {
    const MakeSink chain = [&] { return steps.make_chain(make()); };
    steps.begin();
    Sinks sinks = input.tables.empty() ? PartScan(stage, options).run(chain, report)
                                       : scan_tables(stage, input.tables, options, chain);
    if (sinks.empty()) sinks.push_back(chain());
    return steps.finish(std::move(sinks));
  }
  // Of the columns in sight of the sink.
  size_t columns() const { return columns_behind_steps(stage).size(); }
  uint64_t most_rows() const { return steps.most_rows(input.tables.empty() ? row_count(stage) : input.rows()); }
};

bool adds_floats(const Aggregate& aggregate) {
  return (aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg) && is_float(aggregate.arg.type);
}

// For each aggregate that adds floats the exponent above them, from statistics or by a pass over the rows.
std::vector<int32_t> find_magnitudes(StageRun& run, const StatisticsList& stats, const RunOptions& options) {
  const Pipeline& stage = run.stage;
  std::vector<int32_t> exponents(stage.aggregates.size(), kLeastExponent);
  std::vector<const Expr*> open;
  std::vector<size_t> places;
  for (size_t i = 0; i < stage.aggregates.size(); ++i) {
    if (!adds_floats(stage.aggregates[i])) continue;
    if (const auto known = float_exponent(stage.aggregates[i].arg, stats)) {
      exponents[i] = *known;
    } else {
      open.push_back(&stage.aggregates[i].arg);
      places.push_back(i);
    }
  }
  if (open.empty()) return exponents;
  RunReport beside;
  RunOptions quiet = options;
  quiet.progress = nullptr;
  for (const auto& sink : run.scan(quiet, beside, [&] { return std::make_unique<MagnitudeSink>(open); })) {
    const std::vector<int32_t>& found = static_cast<const MagnitudeSink&>(*sink).exponents();
    for (size_t i = 0; i < places.size(); ++i) exponents[places[i]] = std::max(exponents[places[i]], found[i]);
  }
  return exponents;
}

// How groups find their states, and why so.
std::string rung_text(const KeyLayout& keys) {
  if (keys.words() == 0) return "one group";
  const std::string bits = std::to_string(keys.bits()) + " bits by the bounds of their columns";
  if (GroupTable::is_direct(keys.words(), keys.bits())) return "a table by keys: these have " + bits;
  if (keys.words() == 1) return "a hash table: keys have " + bits;
  return "a hash table: keys have " + std::to_string(keys.words()) + " words of 64 bits";
}

Table run_groups(StageRun& run, const RunOptions& options, RunReport& report) {
  std::vector<Statistics> statistics;
  if (!run.steps.adds_nulls()) statistics = column_statistics(run.stage);
  const StatisticsList stats = list_of(statistics, run.columns());
  const GroupPlan plan(run.stage, stats, run.most_rows(), find_magnitudes(run, stats, options));
  report.rung += (report.rung.empty() ? "" : "\n") + rung_text(plan.keys);
  const Sinks sinks = run.scan(options, report, [&] { return std::make_unique<GroupSink>(plan); });
  auto& first = static_cast<GroupSink&>(*sinks.front());
  for (size_t i = 1; i < sinks.size(); ++i) first.merge(static_cast<const GroupSink&>(*sinks[i]), options.cancel);
  return first.finish(options.cancel);
}

// The rows first, then the functions of them, then their order.
Table run_windows(const Pipeline& stage, const StageInput& input, const RunOptions& options, RunReport& report) {
  Pipeline plain = stage;
  plain.output.resize(stage.rows.size());
  plain.windows.clear();
  plain.order.clear();
  plain.limit = kAllRows;
  plain.offset = 0;
  Table rows = run_stage(plain, input, options, report);
  rows = add_windows(std::move(rows), stage.windows, stage.output, options.cancel);
  if (stage.order.empty() && stage.limit == kAllRows && stage.offset == 0) return rows;
  return first_rows(std::move(rows), stage.order, stage.limit, stage.offset, options.cancel);
}

}  // namespace

StageInput input_of(const Query& query, size_t place, const std::function<const Table*(uint32_t)>& rows_of) {
  const Pipeline& stage = query.stages[place];
  StageInput input;
  if (stage.constants != nullptr) {
    input.tables.push_back(stage.constants.get());
  } else if (stage.files.empty() && stage.sources.empty()) {
    input.tables.push_back(rows_of(static_cast<uint32_t>(place - 1)));
  }
  for (const uint32_t source : stage.sources) input.tables.push_back(rows_of(source));
  for (const PipelineStep& step : stage.steps) {
    const auto* probe = std::get_if<Probe>(&step);
    input.probed.push_back(probe == nullptr ? nullptr : rows_of(probe->stage));
  }
  return input;
}

uint64_t StageInput::rows() const {
  uint64_t count = 0;
  for (const Table* table : tables) count += table->rows;
  return count;
}

Table run_stage(const Pipeline& stage, const StageInput& input, const RunOptions& options, RunReport& report) {
  if (!stage.windows.empty()) return run_windows(stage, input, options, report);
  StageRun run(stage, input, options);
  report.rung = run.steps.rung_text();
  if (stage.sink == Sink::kGroups) return run_groups(run, options, report);
  PartRows rows;
  const Sinks sinks =
      run.scan(options, report, [&] { return std::make_unique<RowsSink>(stage, rows, options.cancel); });
  return RowsSink::finish(stage, sinks, options.cancel);
}

}  // namespace basalt::exec
