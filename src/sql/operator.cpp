// The operator that runs a lowered query: a source of its rows. Its parents are not rewritten, since it answers with
// the bindings and types of the operator it replaces.
#include "sql/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "basalt/cuda/backend.h"
#include "basalt/exec/pipeline.h"
#include "core/human.h"
#include "duckdb/execution/column_binding_resolver.hpp"
#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_comparison_join.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "exec/device/generate/generate.h"
#include "exec/stage_source.h"
#include "sql/cpu_choice.h"
#include "sql/explain_text.h"
#include "sql/expressions.h"
#include "sql/lower.h"
#include "sql/parameters.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

namespace {

constexpr const char* kOperatorName = "BASALT_QUERY";
constexpr const char* kStrictPrefix = "Basalt's own engine cannot run the whole statement, as --strict asks: ";

using Lowered = std::shared_ptr<const LoweredQuery>;
using TextMap = duckdb::InsertionOrderPreservingMap<duckdb::string>;

// Where an operator set to `auto` would run now.
std::string device_text(const LoweredQuery& lowered, Device device) {
  if (device != Device::kAuto) return to_string(device);
  const std::string reason = why_not_gpu(lowered.query);
  return reason.empty() ? "cuda" : "cpu (" + reason + ")";
}

TextMap describe(const LoweredQuery& lowered) {
  TextMap text;
  text["Files"] = lowered.files;
  text["Operations"] = lowered.aggregates;
  if (!lowered.columns.empty()) text["Columns"] = lowered.columns;
  if (!lowered.filter.empty()) text["Filter"] = lowered.filter;
  return text;
}

// Before it runs.
TextMap describe_plan(const LoweredQuery& lowered, Device device) {
  TextMap text = describe(lowered);
  if (const std::string pruning = pruning_text(lowered.query); !pruning.empty()) text["Pruning"] = pruning;
  text["Device"] = device_text(lowered, device);
  return text;
}

// Rows that a thread takes at once: a row group of DuckDB's tables and Parquet files.
constexpr uint64_t kBatchRows = 60 * STANDARD_VECTOR_SIZE;
// Fewer rows one thread hands on as quickly as several.
constexpr uint64_t kManyRows = 100'000;

// Whether so many rows may leave that several threads are worth it.
bool may_give_many_rows(const LoweredQuery& lowered) {
  if (lowered.is_totals()) return false;
  for (const Pipeline& stage : lowered.query.stages) {
    const bool one_row = stage.sink == Sink::kGroups && stage.keys.empty();
    if (one_row || stage.limit < kManyRows) return false;
  }
  uint64_t rows = 0;
  for (const auto& file : lowered.scan().files) rows += file->rows();
  return rows >= kManyRows;
}

// One thread runs the query while the others are blocked; then all of them take batches of its rows.
// What only the data of a statement shows the GPU to lack, as letters beyond ASCII, the CPU has.
Table run_or_turn_to_cpu(const Query& query, RunOptions options, bool strict, RunReport& report) {
  try {
    return run_query(query, options, &report);
  } catch (const Error& error) {
    const bool joins_need_more = error.code() == ErrorCode::kOutOfMemory && !is_chain(query);
    const bool can_turn = error.code() == ErrorCode::kUnsupported || joins_need_more;
    if (!can_turn || options.device != Device::kCuda || strict) throw;
  }
  options.device = Device::kAuto;
  return run_query(query, options, &report);
}

struct RunState : duckdb::GlobalSourceState {
  RunState(Lowered what, duckdb::idx_t most_threads) : lowered(std::move(what)), threads(most_threads) {}
  duckdb::idx_t MaxThreads() override { return threads; }

  enum class Phase : uint8_t { kNew, kRunning, kDone };
  const Lowered lowered;  // the operator's own query, or the same with other literals
  const duckdb::idx_t threads;
  Phase phase = Phase::kNew;  // under Lock()
  std::atomic<double> progress{0};
  std::shared_ptr<const Table> rows;  // of kDone; nullptr: the query failed
  std::atomic<uint64_t> next_batch{0};
  RunReport report;
};

// Rows [next, end) of the result: what is left of a thread's batch.
struct BatchState : duckdb::LocalSourceState {
  uint64_t batch = 0;
  uint64_t next = 0;
  uint64_t end = 0;
};

class PhysicalBasaltQuery : public duckdb::PhysicalOperator {
 public:
  PhysicalBasaltQuery(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> result_types, Lowered what,
                      Device where)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(result_types), 1),
        lowered_(std::move(what)),
        device_(where),
        many_rows_(may_give_many_rows(*lowered_)) {}

  duckdb::string GetName() const override { return kOperatorName; }
  TextMap ParamsToString() const override { return describe_plan(*lowered_, device_); }
  bool IsSource() const override { return true; }
  duckdb::OrderPreservationType SourceOrder() const override { return duckdb::OrderPreservationType::FIXED_ORDER; }

  bool ParallelSource() const override { return true; }
  bool SupportsPartitioning(const duckdb::OperatorPartitionInfo& info) const override {
    return !info.RequiresPartitionColumns() && (many_rows_ || !info.RequiresBatchIndex());
  }
  duckdb::OperatorPartitionData GetPartitionData(duckdb::ExecutionContext&, duckdb::DataChunk&,
                                                 duckdb::GlobalSourceState&, duckdb::LocalSourceState& local,
                                                 const duckdb::OperatorPartitionInfo&) const override {
    return duckdb::OperatorPartitionData(local.Cast<BatchState>().batch);
  }

  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(ClientContext& context) const override {
    const auto threads = duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads();
    Lowered bound = StatementLog::of(context)->take_bound();
    return duckdb::make_uniq<RunState>(bound != nullptr ? std::move(bound) : lowered_,
                                       many_rows_ ? static_cast<duckdb::idx_t>(threads) : 1);
  }
  duckdb::unique_ptr<duckdb::LocalSourceState> GetLocalSourceState(duckdb::ExecutionContext&,
                                                                   duckdb::GlobalSourceState&) const override {
    return duckdb::make_uniq<BatchState>();
  }

  // Shown by EXPLAIN ANALYZE.
  TextMap ExtraSourceParams(duckdb::GlobalSourceState& state, duckdb::LocalSourceState&) const override {
    const RunState& run = state.Cast<RunState>();
    const RunReport& report = run.report;
    TextMap text = describe(*run.lowered);
    text["Device"] = report.device_name;
    text["Encodings"] = encodings_text(run.lowered->query, report.ran_on);
    put_tile_counts(report.tiles, text);
    for (size_t i = 0; i < report.steps.size(); ++i) text[fmt::format("Step {}", i + 1)] = step_text(report.steps[i]);
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
    {
      auto held = state.Lock();
      if (state.phase == RunState::Phase::kRunning) return state.BlockSource(held, input.interrupt_state);
      if (state.phase == RunState::Phase::kNew) {
        state.phase = RunState::Phase::kRunning;
        held.unlock();
        const EndOfRun end{state};
        guarded(context.client, [&] { run(context.client, state); });
      }
    }
    return guarded(context.client, [&] {
      give_rows(state, input.local_state.Cast<BatchState>(), chunk);
      // A batch's number counts only for rows of which more may follow.
      return chunk.size() > 0 ? duckdb::SourceResultType::HAVE_MORE_OUTPUT : duckdb::SourceResultType::FINISHED;
    });
  }

 private:
  // Whatever comes of the query, nobody waits for it any longer.
  struct EndOfRun {
    RunState& state;
    ~EndOfRun() {
      const auto held = state.Lock();
      state.phase = RunState::Phase::kDone;
      state.UnblockTasks(held);
    }
  };

  // Rows of the thread's batch, or of the next one that nobody has taken.
  static void give_rows(RunState& state, BatchState& batch, duckdb::DataChunk& chunk) {
    if (state.rows == nullptr) return;
    const uint64_t rows = state.rows->rows;
    if (batch.next == batch.end) {
      batch.batch = state.next_batch.fetch_add(1);
      batch.next = std::min(rows, batch.batch * kBatchRows);
      batch.end = std::min(rows, batch.next + kBatchRows);
      if (batch.next == batch.end) return;
    }
    const uint64_t end = std::min<uint64_t>(batch.end, batch.next + STANDARD_VECTOR_SIZE);
    for (size_t i = 0; i < state.rows->columns.size(); ++i) {
      refer_to_rows(state.rows, i, batch.next, end, chunk.data[i]);
    }
    chunk.SetCardinality(end - batch.next);
    batch.next = end;
  }

  void run(ClientContext& context, RunState& state) const {
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
    const bool strict = flag_setting(context, "basalt_strict");
    const LoweredQuery& lowered = *state.lowered;
    auto rows = std::make_shared<const Table>(run_or_turn_to_cpu(lowered.query, options, strict, report));
    state.progress.store(1);
    log->add_run(report);
    log->add_in_basalt(lowered.aggregates + " over " + lowered.files);
    if (device_ != Device::kCpu && report.ran_on != Device::kCuda) {
      log->set_why_cpu(report.why_cpu.empty() ? why_not_gpu(lowered.query) : report.why_cpu);
    }
    state.rows = std::move(rows);
  }

  Lowered lowered_;
  Device device_;
  bool many_rows_;
};

struct LogicalBasaltQuery : duckdb::LogicalExtensionOperator {
  LogicalBasaltQuery(LogicalOperator& replaced, Lowered what, Device where) : lowered(std::move(what)), device(where) {
    replaced.ResolveOperatorTypes();
    result_types = replaced.types;
    types = result_types;
    bindings = replaced.GetColumnBindings();
    if (lowered->is_totals()) {
      SetEstimatedCardinality(1);
    } else if (replaced.has_estimated_cardinality) {
      SetEstimatedCardinality(replaced.estimated_cardinality);
    }
  }

  duckdb::PhysicalOperator& CreatePlan(ClientContext&, duckdb::PhysicalPlanGenerator& planner) override {
    return planner.Make<PhysicalBasaltQuery>(result_types, lowered, device);
  }
  duckdb::vector<duckdb::ColumnBinding> GetColumnBindings() override { return bindings; }
  void ResolveColumnBindings(duckdb::ColumnBindingResolver&, duckdb::vector<duckdb::ColumnBinding>& result) override {
    result = bindings;
  }
  void ResolveTypes() override { types = result_types; }
  duckdb::string GetName() const override { return kOperatorName; }
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

bool is_basalt_query(const LogicalOperator& node) { return dynamic_cast<const LogicalBasaltQuery*>(&node) != nullptr; }

// Whether DuckDB scans .basalt files in this plan.
bool scans_basalt(const LogicalOperator& node) {
  return is_basalt_scan(node) ||
         std::ranges::any_of(node.children, [](const auto& child) { return scans_basalt(*child); });
}

// Whether there are .basalt files below, whoever reads them.
bool reads_basalt(const LogicalOperator& node) {
  return is_basalt_scan(node) || is_basalt_query(node) ||
         std::ranges::any_of(node.children, [](const auto& child) { return reads_basalt(*child); });
}

bool has_equal_keys(const duckdb::LogicalComparisonJoin& join) {
  return std::ranges::any_of(join.conditions, [](const duckdb::JoinCondition& condition) {
    return condition.comparison == duckdb::ExpressionType::COMPARE_EQUAL ||
           condition.comparison == duckdb::ExpressionType::COMPARE_NOT_DISTINCT_FROM;
  });
}

// The SQL word of an operator worth naming; nullptr for the rest.
const char* sql_word(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
      return has_equal_keys(node.Cast<duckdb::LogicalComparisonJoin>()) ? "JOIN" : "JOIN without equal keys";
    case LogicalOperatorType::LOGICAL_ANY_JOIN: return "JOIN without equal keys";
    case LogicalOperatorType::LOGICAL_ASOF_JOIN: return "ASOF JOIN";
    case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN: return "POSITIONAL JOIN";
    case LogicalOperatorType::LOGICAL_DEPENDENT_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT: return "JOIN";
    case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
      return node.Cast<duckdb::LogicalAggregate>().groups.empty() ? "aggregates without GROUP BY" : "GROUP BY";
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

// Whether an operator begins a query that could be lowered, if everything below it can.
bool begins_query(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_GET:
    case LogicalOperatorType::LOGICAL_FILTER:
    case LogicalOperatorType::LOGICAL_PROJECTION:
    case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
    case LogicalOperatorType::LOGICAL_DISTINCT:
    case LogicalOperatorType::LOGICAL_ORDER_BY:
    case LogicalOperatorType::LOGICAL_TOP_N:
    case LogicalOperatorType::LOGICAL_LIMIT:
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
    case LogicalOperatorType::LOGICAL_ANY_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
    case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
    case LogicalOperatorType::LOGICAL_WINDOW:
    case LogicalOperatorType::LOGICAL_UNION:
    case LogicalOperatorType::LOGICAL_EXCEPT:
    case LogicalOperatorType::LOGICAL_INTERSECT: return true;
    default: return false;
  }
}

// Operators that only hand the rows of a query on, to a file, a table or the one who asked.
bool hands_rows_on(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_EXPLAIN:
    case LogicalOperatorType::LOGICAL_COPY_TO_FILE:
    case LogicalOperatorType::LOGICAL_INSERT:
    case LogicalOperatorType::LOGICAL_CREATE_TABLE:
    case LogicalOperatorType::LOGICAL_PREPARE:
    case LogicalOperatorType::LOGICAL_EXECUTE:
    case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR: return true;
    default: return false;
  }
}

// Whether so few rows leave that a kernel reads what the filter and the order need, and no other column.
bool gives_few_rows(const Pipeline& stage) { return stage.sink == Sink::kRows && stage.limit <= device::kFewRows; }

// Of a stage's own columns; those of the tables that it is joined with come behind them.
std::set<uint32_t> kernel_columns(const Pipeline& stage) {
  std::set<uint32_t> columns;
  if (gives_few_rows(stage) && stage.steps.empty() && stage.windows.empty()) {
    if (stage.has_filter) exec::add_columns(stage.filter, columns);
    for (const SortKey& key : stage.order) exec::add_columns(stage.rows[key.column], columns);
  } else {
    for (uint32_t i = 0; i < stage.columns.size(); ++i) columns.insert(i);
  }
  return columns;
}

// Whether a kernel over these columns is compiled in about a second: each encoding of each column is code of its own.
bool compiles_quickly(const Pipeline& stage) {
  constexpr size_t kMostShapes = 16;
  size_t shapes = 0;
  for (const uint32_t place : kernel_columns(stage)) {
    const PipelineColumn& column = stage.columns[place];
    std::set<std::string> trees;
    for (const auto& file : stage.files) {
      for (const Tree& tree : file->column(column.field_id).shapes) trees.insert(basalt::to_string(tree));
    }
    shapes += trees.size();
  }
  return shapes <= kMostShapes;
}

// What is left to DuckDB without a word, unless something else is left to it as well.
constexpr const char* kRowsOfScan = "no aggregate: rows come from Basalt's scan";
constexpr const char* kManyRowsLeave = "DuckDB orders rows of which all leave";
constexpr const char* kGroupedFaster = "DuckDB is measured faster with these groups on the CPU";
constexpr const char* kFasterTotals = "on the CPU, DuckDB runs DISTINCT, FILTER and aggregates of strings";
constexpr const char* kJoinedFaster = "DuckDB joins faster on the CPU";
constexpr const char* kLongToCompile = "its kernels would be compiled for long";

// Why a query with joins is not the GPU's; empty: it is. Rows that all leave take longer on their way than DuckDB takes
// to join them; and where nobody asked for the GPU, DuckDB has joined few rows before several kernels are compiled.
std::string why_joins_stay(const Query& query, Device device) {
  constexpr uint64_t kManyJoinRows = 8 << 20;
  uint64_t rows = 0;
  bool gives_few = false;
  bool quick = true;
  for (const Pipeline& stage : query.stages) {
    for (const auto& file : stage.files) rows += file->rows();
    gives_few = gives_few || stage.sink != Sink::kRows || stage.limit != kAllRows;
    quick = quick && compiles_quickly(stage);
  }
  if (!gives_few) return "rows of joins that all leave";
  if (device == Device::kCuda) return {};
  if (rows < kManyJoinRows) return "DuckDB is quick with joins of few rows";
  return quick ? "" : kLongToCompile;
}

// Why a query that could be lowered is left to DuckDB; empty: it is not. Totals run here on any device. Groups do on
// the GPU where it can, and on the CPU where that is faster; rows where few of them are looked for; and both where
// nothing else is allowed.
std::string why_left(const LoweredQuery& lowered, Device device, bool strict) {
  const auto refused = [](const std::string& reason) { return "the GPU does not run it: " + reason; };
  if (!strict && !is_chain(lowered.query)) {
    if (device == Device::kCpu) return kJoinedFaster;
    std::string reason = why_joins_stay(lowered.query, device);
    if (!reason.empty()) return reason;
    reason = why_not_gpu(lowered.query);
    return reason.empty() ? "" : refused(reason);
  }
  const Pipeline& scan = lowered.scan();
  const bool looks_for_few = gives_few_rows(scan) && (scan.has_filter || !scan.order.empty());
  // The GPU is asked last, since its answer takes a kernel's plan.
  if (!strict && scan.sink == Sink::kRows && !looks_for_few) return scan.order.empty() ? kRowsOfScan : kManyRowsLeave;
  const std::string reason = device == Device::kCpu ? "the CPU was asked for" : why_not_gpu(lowered.query);
  if (device == Device::kCuda && !reason.empty()) return refused(reason);
  if (strict || lowered.is_totals()) return {};
  if (!reason.empty()) {
    if (groups_run_faster_here(lowered.query)) return {};
    return scan.keys.empty() ? kFasterTotals : kGroupedFaster;
  }
  return device == Device::kCuda || compiles_quickly(scan) ? "" : kLongToCompile;
}

class PlanHook {
 public:
  PlanHook(ClientContext& context, Device device, bool strict)
      : context_(context), device_(device), strict_(strict), log_(StatementLog::of(context)) {}

  // From the root down: the largest queries that can be lowered and are worth it.
  void visit(duckdb::unique_ptr<LogicalOperator>& node) {
    const size_t reasons_above = reasons_.size();
    if (reads_basalt(*node) && !hands_rows_on(*node)) {
      if (take(node)) return;
      if (is_basalt_scan(*node)) explain_scan(node->Cast<duckdb::LogicalGet>());
    }
    for (auto& child : node->children) visit(child);
    reasons_.resize(reasons_above);
  }

 private:
  // Whether our own operator stands in the node's place now; else it is told why not.
  bool take(duckdb::unique_ptr<LogicalOperator>& node) {
    std::string reason;
    try {
      if (!begins_query(*node)) throw NotLowered(operator_text(*node) + " does not run in Basalt");
      auto lowered = lower_query(context_, *node);
      reason = why_left(*lowered, device_, strict_);
      if (reason.empty()) {
        node = duckdb::make_uniq<LogicalBasaltQuery>(*node, std::move(lowered), device_);
        return true;
      }
    } catch (const NotLowered& refusal) {
      reason = refusal.what();
    }
    if (strict_) throw Error(ErrorCode::kUnsupported, kStrictPrefix + reason);
    const bool says_more = reason != kRowsOfScan && !(is_basalt_scan(*node) && !reasons_.empty());
    if (!says_more) return false;
    log_->add_why_duckdb(reason);
    if (std::ranges::find(reasons_, reason) == reasons_.end()) reasons_.push_back(reason);
    return false;
  }

  // For EXPLAIN.
  void explain_scan(duckdb::LogicalGet& get) const {
    auto& scan = get.bind_data->Cast<duckdb::MultiFileBindData>().bind_data->Cast<ScanBindData>();
    scan.why_in_duckdb = fmt::format("{}", fmt::join(reasons_, "; "));
  }

  ClientContext& context_;
  Device device_;
  bool strict_;
  std::shared_ptr<StatementLog> log_;
  std::vector<std::string> reasons_;  // of the operators above and of this one, for each once
};

}  // namespace

bool would_run(ClientContext& context, const LoweredQuery& lowered) {
  return why_left(lowered, device_setting(context), flag_setting(context, "basalt_strict")).empty();
}

void optimize_plan(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  ClientContext& context = input.context;
  const auto log = StatementLog::of(context);
  if (log->stands_for != nullptr) {
    plan =
        duckdb::make_uniq<LogicalBasaltQuery>(*plan, std::exchange(log->stands_for, nullptr), device_setting(context));
    return;
  }
  if (log->plans_shape || log->leaves_plans || has_parameters(*plan)) return;
  if (!reads_basalt(*plan)) {
    if (log->used()) log->add_note("answered from the files' footers");
    return;
  }
  log->mark_used();
  const bool lowering = guarded(context, [&] {
    const Device device = device_setting(context);
    const bool enabled = flag_setting(context, "basalt_lowering");
    if (enabled) PlanHook(context, device, flag_setting(context, "basalt_strict")).visit(plan);
    return enabled;
  });
  if (!lowering) log->add_note("lowering is switched off");
  log->sources.left_in_duckdb = scans_basalt(*plan);
  log->sources.whole = is_basalt_query(*plan);
  log_words(*plan, *log);
  const StatementLog::Snapshot told = log->snapshot();
  if (log->sources.left_in_duckdb && told.in_duckdb.empty() && told.why_duckdb.empty()) {
    log->add_in_duckdb(lowering ? kRowsOfScan : "everything above Basalt's scan");
  }
}

}  // namespace basalt::sql
