// The sink. Every thread turns its rows into tables; where order counts, tables wait until all batches before theirs
// have been handed to the writer, which keeps them without copying. The thread that finds the next ones complete hands
// them over. A thread that is ahead while too many rows wait is suspended; the one at the front never is.
#include "sql/copy_operator.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "basalt/file/writer.h"
#include "duckdb/execution/column_binding_resolver.hpp"
#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/operator/logical_copy_to_file.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"
#include "sql/copy.h"
#include "sql/state.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::ClientContext;
using duckdb::idx_t;
using duckdb::LogicalOperator;
using duckdb::unique_ptr;

namespace {

using BindData = std::shared_ptr<const CopyBindData>;
using TextMap = duckdb::InsertionOrderPreservingMap<duckdb::string>;

enum class Order {
  kNone,     // rows may come in any order
  kSerial,   // rows come in order, from one thread
  kBatches,  // threads read numbered batches
};

struct SinkState : duckdb::GlobalSinkState {
  std::shared_ptr<CancelToken> cancel;
  std::unique_ptr<Writer> writer;
  uint64_t held_limit = 0;
  uint64_t table_bytes = 0;

  // Guarded by Lock().
  std::map<idx_t, std::vector<Table>> waiting;  // complete batches and, at the front, parts of one
  std::atomic<idx_t> first_open{0};             // batches before this one are complete
  std::atomic<bool> handing_over = false;       // a thread is busy with it
  uint64_t rows = 0;
  std::atomic<uint64_t> held{0};  // bytes of tables that wait or are being filled
};

struct ThreadState : duckdb::LocalSinkState {
  ThreadState(const Schema& schema, const duckdb::vector<duckdb::LogicalType>& types) : builder(schema, types) {}
  TableBuilder builder;
  std::vector<Table> full;  // of the same batch
  idx_t batch = 0;
  idx_t taken = 0;       // rows of the present chunk
  uint64_t counted = 0;  // bytes of the builder that are part of `held`
};

class PhysicalBasaltCopy : public duckdb::PhysicalOperator {
 public:
  PhysicalBasaltCopy(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> result_types, idx_t cardinality,
                     BindData bind, std::string path, Order order)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(result_types), cardinality),
        bind_(std::move(bind)),
        path_(std::move(path)),
        order_(order) {}

  duckdb::string GetName() const override { return "BASALT_COPY"; }
  TextMap ParamsToString() const override {
    TextMap text;
    text["File"] = path_;
    return text;
  }
  bool IsSource() const override { return true; }
  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return order_ != Order::kSerial; }
  bool SinkOrderDependent() const override { return order_ != Order::kNone; }
  duckdb::OperatorPartitionInfo RequiredPartitionInfo() const override {
    return duckdb::OperatorPartitionInfo(order_ == Order::kBatches);
  }

  unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(ClientContext& context) const override {
    auto state = duckdb::make_uniq<SinkState>();
    state->writer = open_writer(context, *bind_, path_, state->cancel);
    state->held_limit = sql::held_limit(*state->writer);
    state->table_bytes = table_bytes(context, *state->writer);
    return state;
  }
  unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(duckdb::ExecutionContext&) const override {
    return duckdb::make_uniq<ThreadState>(bind_->schema, bind_->types);
  }

  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    auto& own = input.local_state.Cast<ThreadState>();
    if (order_ == Order::kBatches) {
      own.batch = own.partition_info.batch_index.GetIndex();
      note_first_open(context.client, state, own);
    }
    // Long strings: a chunk of DuckDB's can be hundreds of megabytes, which become tables piece by piece.
    const idx_t rows = chunk.size();
    const idx_t step = std::clamp<idx_t>(rows * state.table_bytes / std::max<uint64_t>(bytes_of(chunk), 1), 1, rows);
    while (own.taken < rows) {
      if (must_wait(state, own)) {
        const auto guard = state.Lock();
        if (must_wait(state, own)) return state.BlockSink(guard, input.interrupt_state);
      }
      append_rows(context.client, state, own, chunk, std::min<idx_t>(step, rows - own.taken));
    }
    own.taken = 0;
    return duckdb::SinkResultType::NEED_MORE_INPUT;
  }

  duckdb::SinkNextBatchType NextBatch(duckdb::ExecutionContext& context,
                                      duckdb::OperatorSinkNextBatchInput& input) const override {
    auto& own = input.local_state.Cast<ThreadState>();
    take_table(own);
    pass_on(context.client, input.global_state.Cast<SinkState>(), own);
    own.batch = own.partition_info.batch_index.GetIndex();
    return duckdb::SinkNextBatchType::READY;
  }

  duckdb::SinkCombineResultType Combine(duckdb::ExecutionContext& context,
                                        duckdb::OperatorSinkCombineInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    auto& own = input.local_state.Cast<ThreadState>();
    take_table(own);
    pass_on(context.client, state, own);
    if (order_ == Order::kBatches) note_first_open(context.client, state, own);
    return duckdb::SinkCombineResultType::FINISHED;
  }

  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&, ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    {
      const auto guard = state.Lock();
      state.first_open = duckdb::NumericLimits<idx_t>::Maximum();
    }
    hand_over(context, state);
    finish_writer(context, *state.writer, path_);
    return duckdb::SinkFinalizeType::READY;
  }

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput&) const override {
    chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(sink_state->Cast<SinkState>().rows)));
    chunk.SetCardinality(1);
    return duckdb::SourceResultType::FINISHED;
  }

 private:
  // Whether too many rows wait and the thread is ahead of others, or, where order does not matter, another one is about
  // to hand over what waits and will wake it.
  bool must_wait(const SinkState& state, const ThreadState& own) const {
    if (state.held.load() <= state.held_limit) return false;
    if (order_ == Order::kBatches) return own.batch > state.first_open.load();
    return order_ == Order::kNone && state.handing_over.load();
  }

  void append_rows(ClientContext& context, SinkState& state, ThreadState& own, duckdb::DataChunk& chunk,
                   idx_t rows) const {
    guarded(context, [&] {
      if (rows == chunk.size()) {
        own.builder.append(chunk);
      } else {
        duckdb::DataChunk piece;
        piece.InitializeEmpty(chunk.GetTypes());
        piece.Slice(chunk, duckdb::SelectionVector(own.taken, rows), rows);
        own.builder.append(piece);
      }
    });
    own.taken += rows;
    const uint64_t bytes = own.builder.plain_bytes();
    state.held += bytes - own.counted;
    own.counted = bytes;
    if (own.builder.rows() < kTableRows && bytes < state.table_bytes) return;
    take_table(own);
    // The batch at the front need not be complete.
    if (order_ != Order::kBatches || own.batch == state.first_open.load()) pass_on(context, state, own);
  }

  // About what the rows will occupy; of nested columns only their outer arrays.
  static uint64_t bytes_of(duckdb::DataChunk& chunk) {
    uint64_t total = 0;
    for (duckdb::Vector& vector : chunk.data) {
      const duckdb::PhysicalType type = vector.GetType().InternalType();
      total += chunk.size() * duckdb::GetTypeIdSize(type);
      if (type != duckdb::PhysicalType::VARCHAR) continue;
      duckdb::UnifiedVectorFormat format;
      vector.ToUnifiedFormat(chunk.size(), format);
      const auto* strings = duckdb::UnifiedVectorFormat::GetData<duckdb::string_t>(format);
      for (idx_t row = 0; row < chunk.size(); ++row) {
        const idx_t index = format.sel->get_index(row);
        if (format.validity.RowIsValid(index)) total += strings[index].GetSize();
      }
    }
    return total;
  }

  static void take_table(ThreadState& own) {
    if (own.builder.rows() > 0) own.full.push_back(own.builder.take());
    own.counted = 0;
  }

  // Puts a thread's tables behind those of their batch that wait already.
  void pass_on(ClientContext& context, SinkState& state, ThreadState& own) const {
    if (own.full.empty()) return;
    {
      const auto guard = state.Lock();
      std::vector<Table>& batch = state.waiting[own.batch];
      for (Table& table : own.full) {
        state.rows += table.rows;
        batch.push_back(std::move(table));
      }
    }
    own.full.clear();
    hand_over(context, state);
  }

  void note_first_open(ClientContext& context, SinkState& state, const ThreadState& own) const {
    const idx_t first = own.partition_info.min_batch_index.GetIndex();
    {
      const auto guard = state.Lock();
      if (first <= state.first_open) return;
      state.first_open = first;
      state.UnblockTasks(guard);
    }
    hand_over(context, state);
  }

  // Hands tables to the writer as long as the next ones in order are there. One thread at a time: it looks again under
  // the lock before it stops, so that nothing is left behind by those that found it busy.
  void hand_over(ClientContext& context, SinkState& state) const {
    auto guard = state.Lock();
    if (state.handing_over) return;
    state.handing_over = true;
    while (!state.waiting.empty()) {
      const auto front = state.waiting.begin();
      if (order_ == Order::kBatches && front->first > state.first_open) break;
      std::vector<Table> tables = std::move(front->second);
      state.waiting.erase(front);
      guard.unlock();
      // After an error the statement is over; the flag stays, so that nobody else hands over what comes later.
      for (Table& table : tables) {
        uint64_t bytes = 0;
        for (const Column& column : table.columns) bytes += column.plain_bytes();
        guarded(context, [&] { state.writer->append(std::move(table)); });
        state.held -= bytes;
      }
      guard.lock();
      state.UnblockTasks(guard);
    }
    state.handing_over = false;
  }

  BindData bind_;
  std::string path_;
  Order order_;
};

struct LogicalBasaltCopy : duckdb::LogicalExtensionOperator {
  LogicalBasaltCopy(duckdb::LogicalCopyToFile& replaced, BindData what)
      : bind(std::move(what)), path(replaced.file_path), preserve_order(replaced.preserve_order) {
    replaced.ResolveOperatorTypes();
    result_types = replaced.types;
    types = result_types;
    bindings = replaced.GetColumnBindings();
    children = std::move(replaced.children);
    SetEstimatedCardinality(1);
  }

  duckdb::PhysicalOperator& CreatePlan(ClientContext& context, duckdb::PhysicalPlanGenerator& planner) override {
    auto& child = planner.CreatePlan(*children[0]);
    bool ordered = duckdb::PhysicalPlanGenerator::PreserveInsertionOrder(context, child);
    if (preserve_order == duckdb::PreserveOrderType::PRESERVE_ORDER) ordered = true;
    if (preserve_order == duckdb::PreserveOrderType::DONT_PRESERVE_ORDER) ordered = false;
    const bool numbered = duckdb::PhysicalPlanGenerator::UseBatchIndex(context, child);
    const Order order = !ordered ? Order::kNone : numbered ? Order::kBatches : Order::kSerial;
    const std::string target = duckdb::FileSystem::GetFileSystem(context).ExpandPath(path);
    auto& copy = planner.Make<PhysicalBasaltCopy>(result_types, estimated_cardinality, bind, target, order);
    copy.children.push_back(child);
    return copy;
  }
  duckdb::vector<duckdb::ColumnBinding> GetColumnBindings() override { return bindings; }
  void ResolveTypes() override { types = result_types; }
  duckdb::string GetName() const override { return "BASALT_COPY"; }
  duckdb::string GetExtensionName() const override { return "basalt"; }
  bool SupportSerialization() const override { return false; }

  BindData bind;
  std::string path;
  duckdb::PreserveOrderType preserve_order;
  duckdb::vector<duckdb::LogicalType> result_types;  // of the replaced operator, as are the bindings
  duckdb::vector<duckdb::ColumnBinding> bindings;
};

bool is_plain_copy(const duckdb::LogicalCopyToFile& copy) {
  return copy.function.copy_to_bind == copy_function().copy_to_bind &&
         copy.return_type == duckdb::CopyFunctionReturnType::CHANGED_ROWS && !copy.per_thread_output &&
         !copy.file_size_bytes.IsValid() && !copy.rotate && !copy.partition_output && copy.partition_columns.empty() &&
         copy.write_empty_file;
}

void replace_copies(unique_ptr<LogicalOperator>& node) {
  for (auto& child : node->children) replace_copies(child);
  if (node->type != duckdb::LogicalOperatorType::LOGICAL_COPY_TO_FILE) return;
  auto& copy = node->Cast<duckdb::LogicalCopyToFile>();
  if (!is_plain_copy(copy)) return;
  auto bind = std::make_shared<CopyBindData>(copy.bind_data->Cast<CopyBindData>());
  bind->options.append = bind->options.append || copy.overwrite_mode == duckdb::CopyOverwriteMode::COPY_APPEND;
  node = duckdb::make_uniq<LogicalBasaltCopy>(copy, std::move(bind));
}

}  // namespace

void optimize_copy(duckdb::OptimizerExtensionInput&, unique_ptr<LogicalOperator>& plan) { replace_copies(plan); }

}  // namespace basalt::sql
