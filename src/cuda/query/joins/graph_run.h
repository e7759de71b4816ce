// A query whose stages read and look up the rows of several others, stage by stage on the device. Few rows are the
// host's: stages that read nothing else run there.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/query/joins/parked_rows.h"
#include "cuda/query/joins/stage_runner.h"

namespace basalt::cuda {

class GraphRun {
 public:
  GraphRun(StageRunner& stages, const Query& query, const RunOptions& options, std::vector<RunReport>& reports);
  ~GraphRun();
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;
  // The rows of the last stage. Throws Error(kUnsupported) where a stage cannot run on the device.
  StageRows run();

  // A stage as it stands in the query, but for what was done before. Throws Error(kOutOfMemory) where the device's
  // memory does not hold it at once; `tiles`: of its files.
  StageRows run_at_once(const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report);

  // What JoinRun asks for. The rows of an earlier stage.
  std::shared_ptr<const DeviceTable> on_device(uint32_t stage);
  // A stage without steps over a table. Adds to the report.
  StageRows run_over(const Pipeline& stage, const DeviceTable& input, RunReport& report);
  DeviceTable rows_over(const Pipeline& stage, const DeviceTable& input, RunReport& report);
  // The rows that a stage reads: all its columns, or those of files that are `used`, without what its filter drops.
  std::shared_ptr<const DeviceTable> source_of(const Pipeline& stage, size_t place, const TileRange& tiles,
                                               const std::vector<uint32_t>& used, RunReport& report);
  // A stage without steps over files, and why it cannot run, but for its windows.
  std::string why_not(const Pipeline& stage) { return stages_.why_not(stage); }
  StageRows run_over_files(const Pipeline& stage, size_t place, const TileRange& tiles, RunReport& report);

  Table fetch(const DeviceTable& table) { return stages_.fetch(table); }

  // What PartedStage asks for. Rows that it makes wait there.
  ParkedRows parking();
  // The rows of an earlier stage leave the device, and where they are then.
  std::shared_ptr<const File> park(uint32_t stage);
  // A stage that reads rows of earlier ones reads them as files.
  void park_sources(Pipeline& stage, size_t place);
  void forget(const File& file) { stages_.forget(file); }
  // How many bytes the rows of an earlier stage take.
  uint64_t kept_bytes(uint32_t stage) const;
  // Of a parked stage, only these are what others find, until `nothing` is put in their place.
  void show_part(uint32_t stage, std::shared_ptr<const DeviceTable> part) { kept_.at(stage).device = std::move(part); }
  // All columns of a file's rows for which a condition over them holds.
  DeviceTable rows_of(const std::shared_ptr<const File>& file, const std::vector<Field>& fields,
                      const std::optional<Expr>& condition, RunReport& report);

  // Bytes that the running stage has on the device, beside the rows of earlier ones. Throws Error(kOutOfMemory) where
  // all of that is more than the memory.
  void hold(uint64_t bytes);
  // After a run that failed: what it had on the device is gone, and copies of rows that also wait elsewhere leave.
  void release();
  // Bytes of finished parts of a stage, which hold() counts, too.
  void hold_beside(uint64_t bytes) { beside_ = bytes; }
  void check_cancelled() const {
    if (options_.cancel != nullptr) options_.cancel->check();
  }
  cudaStream_t stream() const { return stages_.stream(); }
  const Query& query() const { return query_; }
  uint64_t most_memory() const { return most_; }                                       // of the device
  uint64_t most_bytes() const { return std::min(stages_.memory_limit(), most_) / 4; }  // that pairs of a join may take

 private:
  // Where the rows of a stage are.
  struct Kept {
    std::shared_ptr<const Table> host;
    std::shared_ptr<const DeviceTable> device;
    std::shared_ptr<const File> parked;
    uint64_t rows() const { return parked != nullptr ? parked->rows() : device != nullptr ? device->rows : host->rows; }
  };

  void begin_kernels();
  uint64_t kept_on_device() const;
  void make_room();
  StageRows run_stage(size_t place, RunReport& report);
  DeviceBuffer sorted_rows(const DeviceTable& rows, const std::vector<SortKey>& keys, RunReport& report);
  StageRows with_windows(const Pipeline& stage, DeviceTable rows, RunReport& report);
  std::shared_ptr<const DeviceTable> rows_before(const Pipeline& stage, size_t place);
  std::vector<uint32_t> sources_of(const Pipeline& stage, size_t place) const;
  bool park_others(size_t place);
  void drop(Kept& kept);
  bool belongs_to_host(size_t place) const;
  Table run_on_host(size_t place, RunReport& report);
  void keep(size_t place, StageRows rows);

  StageRunner& stages_;
  const Query& query_;
  const RunOptions& options_;
  uint64_t few_rows_;  // are the host's
  uint64_t most_;
  std::vector<RunReport>& reports_;
  std::vector<Kept> kept_;
  std::vector<uint32_t> readers_;  // of each stage's rows, that are still to come
  uint64_t beside_ = 0;
  std::vector<std::weak_ptr<const File>> parked_files_;
};

}  // namespace basalt::cuda
