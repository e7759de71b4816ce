// The operator that runs a lowered aggregate: a source of one row. Its parents are not rewritten, since it answers with
// the bindings and types of the operator it replaces.
#include "sql/operator.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "basalt/cuda/backend.h"
#include "basalt/exec/pipeline.h"
#include "duckdb/execution/column_binding_resolver.hpp"
#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "sql/expressions.h"
#include "sql/lower.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

namespace {

using Lowered = std::shared_ptr<const LoweredAggregate>;
using TextMap = duckdb::InsertionOrderPreservingMap<duckdb::string>;

// Where an operator set to `auto` would run now.
std::string device_text(const LoweredAggregate& lowered, Device device) {
  if (device != Device::kAuto) return to_string(device);
  const GpuAvailability& available = gpu();
  if (available.backend == nullptr) return "cpu (" + available.reason + ")";
  const std::string reason = available.backend->why_not(lowered.pipeline);
  return reason.empty() ? "cuda" : "cpu (" + reason + ")";
}

std::string pruning_text(const Pipeline& pipeline) {
  try {
    const TileCounts tiles = decide_tiles(pipeline);
    return fmt::format("statistics leave {} of {} tiles", tiles.total - tiles.skipped, tiles.total);
  } catch (const Error& error) {
    return std::string("unknown: ") + error.what();
  }
}

TextMap describe(const LoweredAggregate& lowered) {
  TextMap text;
  text["Files"] = lowered.files;
  text["Aggregates"] = lowered.aggregates;
  if (!lowered.columns.empty()) text["Columns"] = lowered.columns;
  if (!lowered.filter.empty()) text["Filter"] = lowered.filter;
  return text;
}

// Before it runs.
TextMap describe_plan(const LoweredAggregate& lowered, Device device) {
  TextMap text = describe(lowered);
  if (!lowered.filter.empty()) text["Pruning"] = pruning_text(lowered.pipeline);
  text["Device"] = device_text(lowered, device);
  return text;
}

duckdb::Value average(const std::vector<Value>& values, const AggregateOutput& output) {
  const Value& sum = values[output.value];
  const int128_t count = values[output.count].integer;
  if (count == 0 || sum.null) return duckdb::Value(output.type);
  if (is_float(sum.type)) return duckdb::Value::DOUBLE(sum.real / static_cast<double>(count));
  double power = 1;
  for (int i = 0; i < output.scale; ++i) power *= 10;
  if (!output.wide) {
    return duckdb::Value::DOUBLE(static_cast<double>(sum.integer) / (static_cast<double>(count) * power));
  }
  const long double divisor = static_cast<long double>(count) * static_cast<long double>(power);
  return duckdb::Value::DOUBLE(static_cast<double>(static_cast<long double>(sum.integer) / divisor));
}

struct RunState : duckdb::GlobalSourceState {
  std::atomic<double> progress{0};
  bool done = false;
  RunReport report;
  duckdb::idx_t MaxThreads() override { return 1; }
};

class PhysicalBasaltAggregate : public duckdb::PhysicalOperator {
 public:
  PhysicalBasaltAggregate(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> result_types, Lowered what,
                          Device where)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(result_types), 1),
        lowered_(std::move(what)),
        device_(where) {}

  duckdb::string GetName() const override { return "BASALT_AGGREGATE"; }
  TextMap ParamsToString() const override { return describe_plan(*lowered_, device_); }
  bool IsSource() const override { return true; }

  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(ClientContext&) const override {
    return duckdb::make_uniq<RunState>();
  }

  // Shown by EXPLAIN ANALYZE.
  TextMap ExtraSourceParams(duckdb::GlobalSourceState& state, duckdb::LocalSourceState&) const override {
    const RunReport& report = state.Cast<RunState>().report;
    TextMap text = describe(*lowered_);
    text["Device"] = report.device_name;
    put_tile_counts(report.tiles, text);
    return text;
  }

  duckdb::ProgressData GetProgress(ClientContext&, duckdb::GlobalSourceState& state) const override {
    duckdb::ProgressData progress;
    progress.done = state.Cast<RunState>().progress.load();
    progress.total = 1;
    return progress;
  }

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const override {
    auto& state = input.global_state.Cast<RunState>();
    if (state.done) return duckdb::SourceResultType::FINISHED;
    state.done = true;
    const std::vector<Value> values = guarded(context.client, [&] { return run(context.client, state); });
    chunk.SetCardinality(1);
    for (size_t i = 0; i < lowered_->outputs.size(); ++i) {
      const AggregateOutput& output = lowered_->outputs[i];
      const bool is_average = output.kind == AggregateOutput::Kind::kAverage;
      chunk.SetValue(i, 0, is_average ? average(values, output) : to_duckdb_value(values[output.value], output.type));
    }
    return duckdb::SourceResultType::FINISHED;
  }

 private:
  std::vector<Value> run(ClientContext& context, RunState& state) const {
    const auto log = StatementLog::of(context);
    const std::shared_ptr<CancelToken> cancel = log->cancel_token();
    RunOptions options;
    options.device = device_;
    options.threads = basalt_threads(context);
    const std::shared_ptr<Kept> kept = Kept::of(context);
    std::shared_ptr<ThreadPool> threads;
    if (device_ != Device::kCuda) {
      threads = kept->threads(context);
      options.pool = threads.get();
      options.cache = kept->columns(context);
    }
    options.gpu_memory = number_setting(context, "basalt_gpu_memory");
    options.prune = flag_setting(context, "basalt_pruning");
    options.decoded_limit = decoded_limit(context);
    options.cancel = cancel.get();
    // A session cancels the token itself; other users of DuckDB only know its own interrupt.
    options.progress = [&](double share) {
      state.progress.store(share);
      if (context.interrupted) cancel->cancel();
    };
    RunReport& report = state.report;
    std::vector<Value> values = run_pipeline(lowered_->pipeline, options, &report);
    if (values.size() != lowered_->pipeline.aggregates.size()) {
      throw Error(ErrorCode::kInternal, "the pipeline returned another number of values than it has aggregates");
    }
    state.progress.store(1);
    log->add_run(report);
    log->add_in_basalt(lowered_->aggregates + " over " + lowered_->files);
    if (device_ == Device::kAuto && report.ran_on != Device::kCuda) note_why_cpu(*log, report);
    return values;
  }

  void note_why_cpu(StatementLog& log, const RunReport& report) const {
    const GpuAvailability& available = gpu();
    if (available.backend == nullptr) {
      log.set_why_cpu(available.reason);
      return;
    }
    const std::string reason = report.why_cpu.empty() ? available.backend->why_not(lowered_->pipeline) : report.why_cpu;
    log.set_why_cpu(reason);
  }

  Lowered lowered_;
  Device device_;
};

struct LogicalBasaltAggregate : duckdb::LogicalExtensionOperator {
  LogicalBasaltAggregate(LogicalOperator& replaced, Lowered what, Device where)
      : lowered(std::move(what)), device(where) {
    replaced.ResolveOperatorTypes();
    result_types = replaced.types;
    types = result_types;
    bindings = replaced.GetColumnBindings();
    SetEstimatedCardinality(1);
  }

  duckdb::PhysicalOperator& CreatePlan(ClientContext&, duckdb::PhysicalPlanGenerator& planner) override {
    return planner.Make<PhysicalBasaltAggregate>(result_types, lowered, device);
  }
  duckdb::vector<duckdb::ColumnBinding> GetColumnBindings() override { return bindings; }
  void ResolveColumnBindings(duckdb::ColumnBindingResolver&, duckdb::vector<duckdb::ColumnBinding>& result) override {
    result = bindings;
  }
  void ResolveTypes() override { types = result_types; }
  duckdb::string GetName() const override { return "BASALT_AGGREGATE"; }
  TextMap ParamsToString() const override { return describe_plan(*lowered, device); }
  duckdb::string GetExtensionName() const override { return "basalt"; }
  bool SupportSerialization() const override { return false; }

  Lowered lowered;
  Device device;
  duckdb::vector<duckdb::LogicalType> result_types;  // of the replaced operator, as are the bindings
  duckdb::vector<duckdb::ColumnBinding> bindings;
};

// --- what stays in DuckDB
// ---------------------------------------------------------------------------------------------

bool is_basalt_scan(const LogicalOperator& node) {
  return node.type == LogicalOperatorType::LOGICAL_GET && is_scan(node.Cast<duckdb::LogicalGet>().function);
}

bool reads_basalt(const LogicalOperator& node) {
  if (is_basalt_scan(node)) return true;
  for (const auto& child : node.children) {
    if (reads_basalt(*child)) return true;
  }
  return false;
}

// The SQL word of an operator worth naming; nullptr for the rest.
const char* sql_word(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_ANY_JOIN:
    case LogicalOperatorType::LOGICAL_ASOF_JOIN:
    case LogicalOperatorType::LOGICAL_DEPENDENT_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
    case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN: return "JOIN";
    case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
      return node.Cast<duckdb::LogicalAggregate>().groups.empty() ? nullptr : "GROUP BY";
    case LogicalOperatorType::LOGICAL_WINDOW: return "WINDOW";
    case LogicalOperatorType::LOGICAL_ORDER_BY: return "ORDER BY";
    case LogicalOperatorType::LOGICAL_TOP_N: return "ORDER BY with LIMIT";
    case LogicalOperatorType::LOGICAL_DISTINCT: return "DISTINCT";
    case LogicalOperatorType::LOGICAL_UNION: return "UNION";
    case LogicalOperatorType::LOGICAL_EXCEPT: return "EXCEPT";
    case LogicalOperatorType::LOGICAL_INTERSECT: return "INTERSECT";
    case LogicalOperatorType::LOGICAL_UNNEST: return "UNNEST";
    default: return nullptr;
  }
}

void log_words(const LogicalOperator& node, StatementLog& log) {
  if (!reads_basalt(node)) return;
  if (const char* word = sql_word(node)) log.add_in_duckdb(word);
  for (const auto& child : node.children) log_words(*child, log);
}

class PlanHook {
 public:
  PlanHook(ClientContext& context, Device device)
      : context_(context), device_(device), log_(StatementLog::of(context)) {}

  void visit(duckdb::unique_ptr<LogicalOperator>& node) {
    if (node->type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY && reads_basalt(*node)) {
      auto& aggregate = node->Cast<duckdb::LogicalAggregate>();
      try {
        auto lowered = lower_aggregate(context_, aggregate);
        if (device_ == Device::kCuda && gpu().backend != nullptr) {
          const std::string reason = gpu().backend->why_not(lowered->pipeline);
          if (!reason.empty()) throw NotLowered("the GPU does not run it: " + reason);
        }
        node = duckdb::make_uniq<LogicalBasaltAggregate>(*node, std::move(lowered), device_);
        return;
      } catch (const NotLowered& reason) {
        if (aggregate.groups.empty()) {
          log_->add_in_duckdb("aggregates without GROUP BY (" + std::string(reason.what()) + ")");
        }
      }
    }
    for (auto& child : node->children) visit(child);
  }

 private:
  ClientContext& context_;
  Device device_;
  std::shared_ptr<StatementLog> log_;
};

}  // namespace

void optimize_plan(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  ClientContext& context = input.context;
  const auto log = StatementLog::of(context);
  if (!reads_basalt(*plan)) {
    if (log->used()) log->add_note("answered from the files' footers");
    return;
  }
  log->mark_used();
  const bool lowering = guarded(context, [&] {
    const Device device = device_setting(context);
    const bool enabled = flag_setting(context, "basalt_lowering");
    if (enabled) PlanHook(context, device).visit(plan);
    return enabled;
  });
  if (!lowering) log->add_note("lowering is switched off");
  if (!reads_basalt(*plan)) return;
  log_words(*plan, *log);
  if (log->snapshot().in_duckdb.empty()) {
    log->add_in_duckdb(lowering ? "no aggregate: rows come from Basalt's scan" : "everything above Basalt's scan");
  }
}

}  // namespace basalt::sql
