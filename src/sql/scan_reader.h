// A .basalt file as DuckDB's multi-file reader scans it: a chunk, or a part of one where there are few, is the unit of
// work of a thread. Pushed filters run inside Basalt as far as they can be lowered, there with zone statistics and tile
// by tile; DuckDB evaluates the rest on the rows that are left.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/planner/table_filter_state.hpp"
#include "exec/planned_reads.h"
#include "sql/scan.h"
#include "sql/state.h"

namespace basalt::sql {

constexpr const char* kRowNumber = "file_row_number";

struct ScanGlobalState : duckdb::GlobalTableFunctionState {
  // Of the current file; guarded by the multi-file reader's lock.
  uint32_t next_chunk = 0;
  std::deque<ChunkPart> parts;  // of the chunk before, not yet given out
  uint64_t wanted_parts = 1;    // of all files together
  uint64_t files = 1;
  bool prune = true;
  std::shared_ptr<CancelToken> cancel;
  DecodeLimits limits;
  std::shared_ptr<Kept> kept;
  std::unique_ptr<ColumnCache::Use> cache;  // in what is kept; nullptr: nothing is
  std::shared_ptr<StatementLog> log;
  const duckdb::MultiFileBindData* bind_data = nullptr;
  const duckdb::MultiFileGlobalState* outer = nullptr;  // which knows the columns that leave the scan
  mutable std::mutex tiles_mutex;
  TileCounts tiles;
};

// A filter that DuckDB evaluates after the scan.
struct ResidualFilter {
  duckdb::idx_t column;  // in the scan's chunk
  duckdb::TableFilter* filter;
  duckdb::unique_ptr<duckdb::TableFilterState> state;
};

// A column that the reader must convert before its filter can run (union_by_name with different types).
struct Conversion {
  duckdb::idx_t column;
  duckdb::Expression* expression;
  duckdb::unique_ptr<duckdb::ExpressionExecutor> executor;
  duckdb::DataChunk input;
};

struct ScanLocalState : duckdb::LocalTableFunctionState {
  uint32_t chunk = 0;
  ChunkPart part;
  std::unique_ptr<ChunkScan> scan;
  Table rows;
  const void* reader = nullptr;  // whose filters and conversions these are
  std::vector<ResidualFilter> residual;
  std::deque<Conversion> conversions;  // in place: chunks cannot move
  std::vector<bool> left_out;          // columns that only filters read, and these inside Basalt
  std::vector<duckdb::buffer_ptr<duckdb::VectorChildBuffer>> dictionaries;  // of the chunk, by column of the scan
  duckdb::SelectionVector selection{STANDARD_VECTOR_SIZE};
};

class BasaltReader : public duckdb::BaseFileReader {
 public:
  BasaltReader(duckdb::ClientContext& context, const duckdb::OpenFileInfo& info, const ScanOptions& options);

  duckdb::string GetReaderType() const override { return "Basalt"; }
  void AddVirtualColumn(duckdb::column_t column) override;
  duckdb::shared_ptr<duckdb::BaseUnionData> GetUnionData(duckdb::idx_t file_index) override;
  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           const duckdb::string& name) override;

  bool TryInitializeScan(duckdb::ClientContext&, duckdb::GlobalTableFunctionState& global,
                         duckdb::LocalTableFunctionState& local) override;
  void FinishFile(duckdb::ClientContext&, duckdb::GlobalTableFunctionState& global) override;
  void PrepareScan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState& global,
                   duckdb::LocalTableFunctionState& local) override;
  duckdb::AsyncResult Scan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState& global,
                           duckdb::LocalTableFunctionState& local, duckdb::DataChunk& output) override;
  double GetProgressInFile(duckdb::ClientContext&) override;

  std::shared_ptr<const File> basalt_file;

 private:
  void add_columns(duckdb::ClientContext& context);
  bool is_wanted(const ChunkInfo& chunk) const;
  bool is_row_number(duckdb::idx_t local_column) const { return local_column >= basalt_file->schema().fields.size(); }
  const Field& field_of(duckdb::idx_t local_column) const { return basalt_file->schema().fields[local_column]; }

  void start_chunk(duckdb::ClientContext& context, const ScanGlobalState& global, ScanLocalState& state);

  // Once for the file: what hints rule out later is fetched with its neighbours, or not at all.
  void plan_requests(const std::vector<uint32_t>& wanted, const Expr* filter,
                     const std::vector<PipelineColumn>& filter_columns);
  void note_changes(const std::vector<uint32_t>& wanted, StatementLog& log) const;

  // A column that was filtered here and that nobody asks for afterwards is not decoded.
  void find_left_out(const ScanGlobalState& global, ScanLocalState& state);
  static bool leaves_scan(const ScanGlobalState& global, const std::string& name);
  void prepare_conversions(duckdb::ClientContext& context, ScanLocalState& state);
  void add_filter(duckdb::ClientContext& context, duckdb::idx_t index, duckdb::TableFilter& filter, bool lower,
                  bool new_reader, ScanLocalState& state, std::vector<Expr>& parts,
                  std::vector<PipelineColumn>& filter_columns);
  bool read_batch(ScanLocalState& state, duckdb::DataChunk& output);
  static void fill(ScanLocalState& state, size_t number, Column& rows, const Field& field, duckdb::Vector& target);
  static Conversion* find_conversion(ScanLocalState& state, duckdb::idx_t column);
  static void apply_residual(ScanLocalState& state, duckdb::DataChunk& output);

  ScanOptions options_;
  std::atomic<uint64_t> rows_done_{0};
  std::mutex plan_mutex_;
  std::shared_ptr<const RemoteSource::Plan> plan_;
};

}  // namespace basalt::sql
