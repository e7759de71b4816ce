// One statement's way over the device: planned (plan_run.cpp), loaded and launched (run.cpp), merged (merge.cpp); what
// is known of resident chunks and statements spares most of that (resident_run.cpp).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/backend.h"
#include "cuda/query/compact_groups.h"
#include "cuda/query/device_table.h"
#include "cuda/query/row_arrays.h"
#include "exec/cpu/column_builder.h"
#include "exec/device/generate/file_shapes.h"
#include "exec/evaluate.h"
#include "exec/tile_runs.h"
#include "exec/zone_filter.h"

namespace basalt::cuda {

// One chunk of all columns, after pruning.
struct WorkChunk {
  const File* file = nullptr;  // nullptr: rows that lie on the device
  uint32_t chunk = 0;
  size_t number = 0;  // among all chunks of all files
  uint64_t rows = 0;
  uint64_t first_row = 0;  // in arrays: those of each chunk begin on a multiple of a tile's
  std::vector<exec::TileRun> runs;
  std::vector<ChunkKey> keys;  // per column; nothing for arrays
  uint64_t table_bytes = 0;    // that tables of tests of strings take at most
};

struct Batch {
  size_t first = 0;  // chunks [first, end)
  size_t end = 0;
  std::vector<LoadGroup> groups;
  std::unique_ptr<BatchLoad> load;
  uint64_t bytes = 0;                            // being loaded, and room for tables of tests of strings
  std::vector<std::vector<DeviceChunk>> chunks;  // per chunk, per column: keeps the memory alive until the launch
};

// Tables of tests of strings begin on multiples of this.
constexpr uint64_t aligned_table(uint64_t bytes) { return (bytes + 127) / 128 * 128; }

// Whether groups that have an array can have it within this limit of the memory.
inline bool array_fits(const device::KernelPlan& plan, uint64_t limit) {
  return !plan.groups || plan.groups->array_bytes() <= limit / 2;
}

// Where the values of a column lie that is an array, and which of them there are (0: all).
struct ArrayAddresses {
  uint64_t values = 0;
  uint64_t validity = 0;
};

using AskedChunks = std::set<std::pair<const File*, uint32_t>>;

class StatementRun {
 public:
  // `arrays`: by column, for those that are arrays.
  StatementRun(CudaBackend& backend, const device::DevicePipeline& device, const RunOptions& options, RunReport& report,
               std::vector<ArrayAddresses> arrays = {})
      : backend_(backend),
        device_(device),
        pipeline_(device.pipeline),
        options_(options),
        report_(report),
        arrays_(std::move(arrays)) {}
  // The strings of numbers that the device gave them, of a pipeline that has any.
  void set_texts(std::shared_ptr<const DeviceTexts> texts) { texts_ = std::move(texts); }
  // Where the filter was asked before this run: what became of tiles, and the chunks that statistics left.
  void set_asked(std::optional<TileCounts> tiles, AskedChunks chunks) {
    asked_tiles_ = tiles;
    asked_chunks_ = std::move(chunks);
  }
  // Bytes that the statement has on the device beside what this run takes.
  void set_held(uint64_t bytes) { held_bytes_ = bytes; }

  std::vector<Value> run();
  // Of a sink of groups. `keep`: many of them stay on the device.
  StageRows run_groups(bool keep);
  // Of a sink of rows, as it was given. Nothing if its order was cut and too many rows are equal in what is left.
  std::optional<Table> run_rows(const Pipeline& given);
  // The same, on the device, unless few rows leave; `input`: where its columns are arrays, the table that has them.
  DeviceTable run_rows_to_device(const Pipeline& given, const DeviceTable* input);
  // Of a sink of rows that keeps nothing but their numbers: these, uint64, of `rows`.
  DeviceBuffer run_row_numbers(uint64_t& rows);

 private:
  std::string scan_key() const;
  std::string statement_key() const;
  Statement* resident_statement(const std::string& key, std::vector<std::shared_ptr<DeviceBlock>>& blocks);
  // Columns of a file as planning reads them; nullptr for arrays.
  struct FileColumns {
    const File* file = nullptr;
    std::vector<const ColumnInfo*> infos;
    std::vector<const std::vector<ChunkKey>*> keys;
    std::vector<std::shared_ptr<const device::FileShapes>> tested;  // by test of strings
  };
  FileColumns columns_of(const std::shared_ptr<const File>& file) const;
  void plan_chunks();
  void plan_chunk(const FileColumns& columns, uint32_t chunk, exec::ZoneFilter& filter);
  void plan_rows_on_device();
  exec::StatisticsList column_statistics() const;
  bool is_array(size_t column) const { return device_.arrays[column].has_value(); }
  // What lies on the device because of this statement belongs to it alone.
  bool is_remembered() const {
    return arrays_.empty() && !pipeline_.files.empty() && !asks_for_members() && options_.tiles.is_all();
  }
  // Sets of keys belong to one run of a query.
  bool asks_for_members() const {
    const auto is_member = [](const Expr* conjunct) { return conjunct->op == ExprOp::kMember; };
    return pipeline_.has_filter && std::ranges::any_of(exec::conjuncts_of(pipeline_.filter), is_member);
  }
  bool may_end_early() const;
  void plan_batches();
  // The slots that are known of the statement's kernel over its files, of which all point to memory in the cache.
  exec::SlotTable* slot_table();
  bool hold_memory(const exec::SlotTable& slots);
  bool find_resident_chunks();
  void prepare_resident(Batch& batch);
  bool prepare(Batch& batch, bool must_fit);
  void end_transfers();
  void finish_load(Batch& batch);
  void launch(Batch& batch, size_t index);
  void drop_batches(size_t first);
  // A chunk's slot, but for what belongs to the statement: arrays, tables of tests of strings, codes.
  std::vector<uint64_t> slot_words(const WorkChunk& chunk, const std::vector<DeviceChunk>& columns) const;
  void put_slot(const Batch& batch, size_t chunk, uint64_t* words);
  void put_array(size_t column, const WorkChunk& chunk, uint64_t* words) const;
  // Where slots and work lists of all batches lie in the backend's pinned memory, batch after batch.
  void take_pinned_inputs(uint64_t tiles);
  uint64_t* pinned_slots() const { return reinterpret_cast<uint64_t*>(backend_.inputs_.data()); }
  uint32_t* pinned_work() const {
    return reinterpret_cast<uint32_t*>(pinned_slots() + chunks_.size() * plan_->slot_words);
  }
  std::unique_ptr<DeviceBlock> sent(const void* data, size_t bytes, const char* what) const;
  uint64_t table_bytes(const FileColumns& columns, uint32_t chunk) const;
  std::vector<uint64_t> upload_tables(const Batch& batch);
  // The codes of strings that are read by them: addresses of the tables of each chunk's columns, 0 for others.
  std::vector<uint64_t> upload_codes(const Batch& batch);

  // Groups: memory for their states (groups_memory.cpp), and what it holds in the end (groups_run.cpp).
  struct GroupMemory {
    std::unique_ptr<DeviceBlock> states;               // not of wide keys, which have them beside them
    std::vector<std::unique_ptr<DeviceBlock>> tables;  // of hash tables, as many as table_slots_
    std::unique_ptr<DeviceBlock> full;                 // for each table, whether it was too small
    std::unique_ptr<DeviceBlock> taken;                // of the room for runs
  };
  std::vector<int32_t> find_magnitudes();
  std::vector<uint64_t> first_table_slots() const;
  size_t tables_key() const;
  void keep_tables();
  // Which of the tables.
  struct TableTooSmall {
    std::vector<bool> tables;
  };
  void choose_tables();
  void enlarge_tables(const std::vector<bool>& small);
  // What tables of so many slots take.
  uint64_t tile_estimate() const;
  uint64_t run_warps() const;
  uint64_t run_window(uint64_t slots) const;
  uint64_t run_capacity(const std::vector<uint64_t>& table_slots) const;
  uint64_t state_slots(const std::vector<uint64_t>& table_slots) const;
  uint64_t state_bytes(const std::vector<uint64_t>& table_slots) const;
  std::vector<uint64_t> key_table_bytes(const std::vector<uint64_t>& table_slots) const;
  uint64_t group_bytes(const std::vector<uint64_t>& table_slots) const;
  void take_group_memory();
  void clear_groups();
  void put_groups(device::Parameters& parameters) const;
  void check_tables();
  StageRows run_partitions(bool keep);
  void forget_run();
  StageRows finish_groups(bool keep);
  bool stay_on_device(uint64_t groups, bool keep) const;
  CompactGroups wanted_groups();
  DeviceTable groups_on_device(const CompactGroups& groups);
  void put_list(const Expr& expr, DeviceColumn& column) const;
  // Groups that have rows: the words of their keys, which of arrays are their places, and their states.
  struct FoundGroups {
    uint64_t count = 0;
    uint32_t key_words = 1;
    Buffer keys;
    Buffer states;
  };
  GroupStates group_states() const;
  FoundGroups few_groups(const GroupStates& groups) const;
  void fetch_groups(const CompactGroups& compact, FoundGroups& found) const;  // to the host, behind those that it has
  StageRows finish_partitions(const FoundGroups& found, bool keep);
  std::optional<GroupOrder> group_order() const;
  uint64_t codes_behind(size_t key) const;
  void put_keys(size_t index, const FoundGroups& found, exec::ColumnBuilder& column) const;
  // Strings as values of the pipeline's expression, by the numbers that kernels have for them.
  void put_texts(const Expr& expr, const std::vector<std::optional<uint32_t>>& numbers,
                 exec::ColumnBuilder& column) const;
  Table groups_table(const FoundGroups& found);

  // Rows (rows_run.cpp): counted, written and put in order, batch after batch.
  struct RowsRun {
    uint64_t budget = 0;           // bytes that rows may take
    uint64_t taken = 0;            // bytes that they do
    uint64_t found = 0;            // rows that passed so far, in the order of the table
    std::vector<RowArrays> parts;  // of each batch
    // Of an order with a limit: room for the first rows, how many there are so far, whether they are in order, and the
    // largest first word that may still be among them.
    RowArrays first;
    uint64_t kept = 0;
    bool in_order = false;
    uint64_t threshold = ~uint64_t{0};
  };
  uint64_t rows_wanted() const;
  bool has_enough_rows() const;
  bool keeps_numbers() const;
  uint64_t bytes_of_row() const;
  RowArrays take_rows(uint64_t rows);
  void give_rows_back(uint64_t rows);
  DeviceBuffer row_outputs(const RowArrays& arrays) const;
  void launch_rows(device::Parameters& parameters);
  void write_rows(device::Parameters& parameters);
  void find_threshold(const device::Parameters& parameters);
  void set_threshold(uint64_t word);
  uint64_t append_rows(device::Parameters& parameters, const RowArrays& arrays, uint64_t kept);
  void append_first_rows(device::Parameters& parameters);
  uint64_t rows_kept() const;
  void keep_first(uint64_t rows);
  RowArrays finish_rows();
  std::optional<std::vector<uint64_t>> late_numbers();
  std::optional<std::vector<uint64_t>> numbers_with_ties();
  DeviceColumn row_column(const Field& field, const device::RowsSources::Source& source, const RowArrays& rows,
                          const DeviceTable* input);

  void start_kernel(const device::Parameters& parameters);
  void launch_kernel(const DeviceBlock& slots, const DeviceBlock& work, uint32_t work_count, uint64_t* records,
                     double* tile_sums, Event& begin, Event& end);
  void plan_once();
  void make_kernel();
  void read_limit();
  std::vector<Value> run_cold(const std::string& key);
  std::vector<Value> run_resident(Statement& statement);
  void remember(const std::string& key);
  void fetch_results(const DeviceBlock& results, size_t bytes);
  std::vector<Value> merge(const std::vector<uint32_t>& chunk_ends, size_t launches);
  Event& kernel_event(size_t index);
  uint32_t record_words() const {
    return device::kRecordHead + device::kRecordAggregate * static_cast<uint32_t>(plan_->results.size());
  }
  void check_cancelled() const {
    if (options_.cancel != nullptr) options_.cancel->check();
  }

  CudaBackend& backend_;
  const device::DevicePipeline& device_;
  const Pipeline& pipeline_;
  const RunOptions& options_;
  RunReport& report_;
  std::vector<ArrayAddresses> arrays_;
  std::shared_ptr<const DeviceTexts> texts_;
  std::optional<TileCounts> asked_tiles_;
  AskedChunks asked_chunks_;
  uint64_t held_bytes_ = 0;
  uint64_t limit_ = 0;
  uint64_t run_ = 0;
  uint64_t groups_ = 0;   // loaded so far, which take turns in the streams of copies
  uint64_t pending_ = 0;  // bytes of batches that are loaded but not launched: not yet in the cache
  std::shared_ptr<const device::KernelPlan> own_plan_;
  const device::KernelPlan* plan_ = nullptr;
  const LoadedKernel* kernel_ = nullptr;
  std::vector<WorkChunk> chunks_;
  uint64_t next_row_ = 0;   // where the next chunk's rows begin in arrays
  size_t next_number_ = 0;  // of the next chunk
  std::string scan_key_;
  exec::SlotTable* slots_ = nullptr;  // nullptr: none is kept
  // Every chunk has its slot there. Its memory is held until the launch.
  bool resident_ = false;
  std::vector<std::shared_ptr<DeviceBlock>> held_blocks_;
  std::vector<Batch> batches_;
  std::vector<uint32_t> chunk_ends_;  // of launched chunks, in work items
  std::vector<std::weak_ptr<DeviceBlock>> blocks_;
  std::unique_ptr<DeviceBlock> results_;
  std::vector<std::unique_ptr<DeviceBlock>> batch_inputs_;  // slots, work, for each launch
  std::vector<DeviceBuffer> lists_;                         // of literals, as the plan has them
  GroupMemory groups_memory_;
  // Slots of hash tables: of groups where these have one, then of each DISTINCT argument; of runs those of their table,
  // then the room for the others. Empty: not chosen yet.
  std::vector<uint64_t> table_slots_;
  uint64_t runs_taken_ = 0;     // of the room for runs, when they were written
  uint64_t groups_budget_ = 0;  // bytes that states and tables of groups may take
  // Of the hashes of keys: as many runs, each of the groups of one. 0: not chosen yet.
  uint32_t partitions_ = 0;
  uint32_t partition_ = 0;
  RowsRun rows_;
};

}  // namespace basalt::cuda
