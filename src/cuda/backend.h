// The CUDA backend: one device, one statement at a time. What it keeps between statements: compiled kernels, encoded
// chunks, pinned slots, what kernels read of chunks that are resident, and for statements whose data is resident
// everything a second run needs.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "basalt/cuda/backend.h"
#include "core/bounded_map.h"
#include "cuda/query/chunk_cache.h"
#include "cuda/query/device_table.h"
#include "cuda/query/staging.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/modules.h"
#include "cuda/runtime/resources.h"
#include "exec/device/generate/generate.h"
#include "exec/device/generate/stage_cache.h"
#include "exec/slot_table.h"
#include "exec/wanted_chunks.h"

namespace basalt::cuda {

struct TextChunk;

// A statement whose chunks were all resident at its end: launched again, it needs no planning and no allocation.
struct Statement {
  std::shared_ptr<const device::KernelPlan> plan;
  const LoadedKernel* kernel = nullptr;
  std::vector<std::weak_ptr<DeviceBlock>> blocks;  // of chunks, and of tables of its tests of strings
  std::unique_ptr<DeviceBlock> slots;
  std::unique_ptr<DeviceBlock> work;
  std::unique_ptr<DeviceBlock> results;  // records, then tile sums
  std::vector<uint32_t> chunk_ends;      // in work items: where each chunk's tiles end
  uint32_t work_count = 0;
  RunReport report;  // rows, tiles, bytes
};

// Hash tables of groups that turned out large enough.
struct GroupTables {
  std::vector<uint64_t> slots;
  uint32_t partitions = 1;
};

class CudaBackend : public GpuBackend {
 public:
  explicit CudaBackend(int device);
  ~CudaBackend() override;

  std::vector<GpuInfo> devices() override;
  GpuBandwidth measure_bandwidth() override;
  std::string why_not(const Pipeline& pipeline) override;
  std::vector<Value> run(const Pipeline& pipeline, const RunOptions& options, RunReport& report) override;
  Table run_stages(const Query& query, const RunOptions& options, std::vector<RunReport>& reports) override;
  Table run_stages_on_device(const Query& query, const RunOptions& options, std::vector<RunReport>& reports,
                             ArrowDeviceArray& out) override;
  std::string kernel_source(const Pipeline& pipeline) override;
  Column decode(const NodeView& root, const DataType& type) override;
  std::string why_not_decode(const NodeView& root) override;
  bool has_precompiled_decoder(const NodeView& node) override;
  DecodeTiming time_decode(std::span<const NodeView> arrays, bool unfused, int rounds) override;
  TunedDecoder tune_decoder(std::span<const NodeView> arrays, bool try_all) override;
  PeerTimings time_nvcomp(const Values& values, int rounds) override;
  TransferTiming time_transfers(std::span<const std::vector<NodeView>> blocks, int rounds) override;
  Node encode(const Values& values, const Tree& tree, Aims aims) override;
  std::string why_not_encode(Physical type, const Tree& tree) override;
  void drop_cache() override;
  uint64_t cached_bytes() override;

 private:
  friend class StatementRun;
  void begin_statement(const RunOptions& options, RunReport& report);
  // The report of one statement, from its name to the memory that it took in the end. The backend is locked.
  class CountedStatement {
   public:
    CountedStatement(CudaBackend& backend, const RunOptions& options, RunReport& report) : report_(report) {
      backend.begin_statement(options, report);
    }
    ~CountedStatement() { report_.device_bytes = device_memory().most(); }
    CountedStatement(const CountedStatement&) = delete;
    CountedStatement& operator=(const CountedStatement&) = delete;

   private:
    RunReport& report_;
  };
  friend class TextsRun;
  friend class TextFetch;
  friend class BackendStages;
  // The rows that the first stages leave (stages_run.cpp), as many of these as can run there. `keep_last`: many of
  // the query's last one stay on the device.
  StageRows run_first_stages(const Query& query, bool keep_last, const RunOptions& options,
                             std::vector<RunReport>& reports);
  StageRows run_query(const Query& query, bool keep_last, const RunOptions& options, std::vector<RunReport>& reports);
  // Of the last stage of a query that is no chain.
  StageRows run_graph(const Query& query, const RunOptions& options, std::vector<RunReport>& reports);
  // A stage's rows. `keep`: many of them stay on the device, for the next one.
  StageRows first_stage(const Pipeline& stage, bool keep, const RunOptions& options, RunReport& report);
  // Nothing if it cannot run there.
  std::optional<StageRows> later_stage(const Pipeline& stage, const DeviceTable& input, bool keep,
                                       const RunOptions& options, RunReport& report);
  void use_device() const { check(cudaSetDevice(device_), "choosing the device"); }
  // The kernel of a statement that has nothing on its way: while it is compiled, by this thread or another, the
  // backend is unlocked and others run.
  const LoadedKernel& statement_kernel(const std::string& source, bool& waited);
  ThreadPool& threads(uint32_t wanted);
  // Identities of a column's chunks; hashing them again for every run of a statement would cost more than its kernel.
  const std::vector<ChunkKey>& chunk_keys(const std::shared_ptr<const File>& file, uint32_t field_id);
  // What the device has free, and this process. The driver takes longer to say so than a statement has that runs again:
  // that goes by the last answer. Others ask once for all their stages, and again when a kernel was compiled in
  // between.
  void read_free_memory();
  void forget_free_memory() { knows_free_memory_ = false; }
  uint64_t memory_limit(const RunOptions& options) const;  // for encoded chunks on the device
  // Throws where arrays cannot be timed together: Error(kUnsupported) if a tree has no reader.
  void require_timed(std::span<const NodeView> arrays);
  DeviceBuffer decode_fixed(const NodeView& node);
  Buffer decode_fixed_rows(const NodeView& node);  // the same on the host
  // Chunks of strings on the device, loaded where they are not there yet. `run`, `limit`: as ChunkCache has them.
  std::vector<TextChunk> load_chunks(const std::vector<exec::ChunkToLoad>& wanted, uint64_t run, uint64_t limit,
                                     const RunOptions& options, RunReport& report);
  // The rows on the host.
  Table fetch_table(const DeviceTable& table, ThreadPool& threads);
  // The rows as an Arrow array, which has them from then on (export_table.cpp).
  void export_table(DeviceTable&& table, ArrowDeviceArray& out);

  struct FileKeys {
    std::weak_ptr<const File> file;
    std::map<uint32_t, std::vector<ChunkKey>> columns;
  };

  int device_ = 0;
  std::string name_;
  double memory_gbs_ = 0;
  std::mutex mutex_;
  std::array<Stream, 2> copies_;  // used in turns: one fills the gap between two copies of the other
  Stream compute_;
  Modules modules_;
  device::StageCache stages_;
  ChunkCache cache_;
  SharedAlphabets alphabets_;
  std::unique_ptr<ThreadPool> threads_;
  std::unique_ptr<PinnedSlots> slots_;
  PinnedBuffer results_;  // where records and tile sums arrive
  PinnedBuffer inputs_;   // from where slots and work lists leave
  static constexpr size_t kMostStatements = 64;
  BoundedMap<Statement> statements_{kMostStatements};
  static constexpr size_t kMostSlotTables = 512;
  BoundedMap<exec::SlotTable> slot_tables_{kMostSlotTables};  // of kernels over files
  std::unordered_map<size_t, GroupTables> group_tables_;
  std::map<const File*, FileKeys> file_keys_;
  uint64_t runs_ = 0;
  uint64_t free_memory_ = 0;
  bool knows_free_memory_ = false;  // since the statement began
  uint64_t held_bytes_ = 0;         // by queries with joins, for rows between their stages
  Event transfer_begin_;
  Event transfer_end_;
  std::vector<std::unique_ptr<Event>> kernel_events_;
};

}  // namespace basalt::cuda
