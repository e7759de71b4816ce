// A query whose stages read and look up the rows of several others, stage by stage on the device. Few rows are the
// host's: stages that read nothing else run there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/query/joins/stage_runner.h"

namespace basalt::cuda {

class GraphRun {
 public:
  GraphRun(StageRunner& stages, const Query& query, const RunOptions& options, std::vector<RunReport>& reports);
  // The rows of the last stage. Throws Error(kUnsupported) where a stage cannot run on the device.
  StageRows run();

  // What JoinRun asks for. The rows of an earlier stage.
  std::shared_ptr<const DeviceTable> on_device(uint32_t stage);
  // A stage without steps over a table. Adds to the report.
  StageRows run_over(const Pipeline& stage, const DeviceTable& input, RunReport& report);
  DeviceTable rows_over(const Pipeline& stage, const DeviceTable& input, RunReport& report);
  // The rows that a stage reads: all its columns, or those of files that are `used`, without what its filter drops.
  // `stage`: as it stands in the query, but for a filter of files that asks more.
  std::shared_ptr<const DeviceTable> source_of(const Pipeline& stage, size_t place, const std::vector<uint32_t>& used,
                                               RunReport& report);
  // A stage without steps over files, and why it cannot run, but for its windows.
  std::string why_not(const Pipeline& stage) { return stages_.why_not(stage); }
  StageRows run_over_files(const Pipeline& stage, size_t place, RunReport& report);

  Table fetch(const DeviceTable& table) { return stages_.fetch(table); }

  // Bytes that the running stage has on the device, beside the rows of earlier ones.
  void hold(uint64_t bytes);
  void check_cancelled() const {
    if (options_.cancel != nullptr) options_.cancel->check();
  }
  cudaStream_t stream() const { return stages_.stream(); }
  const Query& query() const { return query_; }
  uint64_t most_bytes() const { return stages_.memory_limit() / 4; }  // that pairs of one join may take

 private:
  struct Kept {
    std::shared_ptr<const Table> host;
    std::shared_ptr<const DeviceTable> device;
    uint64_t rows() const { return device != nullptr ? device->rows : host->rows; }
  };

  void begin_kernels();
  StageRows run_stage(size_t place, RunReport& report);
  DeviceBuffer sorted_rows(const DeviceTable& rows, const std::vector<SortKey>& keys, RunReport& report);
  StageRows with_windows(const Pipeline& stage, DeviceTable rows, RunReport& report);
  std::shared_ptr<const DeviceTable> rows_before(size_t place);
  bool belongs_to_host(size_t place) const;
  Table run_on_host(size_t place, RunReport& report);
  void keep(size_t place, StageRows rows);

  StageRunner& stages_;
  const Query& query_;
  const RunOptions& options_;
  uint64_t few_rows_;  // are the host's
  std::vector<RunReport>& reports_;
  std::vector<Kept> kept_;
  std::vector<uint32_t> readers_;  // of each stage's rows, that are still to come
};

}  // namespace basalt::cuda
