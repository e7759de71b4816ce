// The scan of a pipeline's files on the CPU: parallel over chunks, or over parts of chunks where a table has few of
// them. Statistics decide chunks and zones, the filter runs tile by tile, and what passes goes to the sink that the
// thread was lent.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "basalt/file/remote_source.h"
#include "exec/cpu/sink.h"

namespace basalt::exec {

// A part of a chunk: whole zones of it.
struct Part {
  const File* file = nullptr;
  uint32_t chunk = 0;
  uint32_t first_tile = 0;
  uint32_t end_tile = 0;
  uint64_t first_row = 0;         // of the chunk, in all files
  SharedChunk* shared = nullptr;  // where the chunk has several parts
};

class PartScan {
 public:
  // Both must outlive this object.
  PartScan(const Pipeline& pipeline, const RunOptions& options);

  // In the order of rows; parts of a chunk follow each other.
  const std::vector<Part>& parts() const { return parts_; }
  uint64_t rows() const { return rows_; }
  // Puts every part to a sink and gives back the sinks that were made. Adds to the report.
  std::vector<std::unique_ptr<TileSink>> run(const std::function<std::unique_ptr<TileSink>()>& make, RunReport& report);

 private:
  void add(const File& file, uint32_t chunk, const TileRange& read, uint64_t first_row, uint64_t wanted);
  std::shared_ptr<const RemoteSource::Plan> plan_file(const File& file) const;

  const Pipeline& pipeline_;
  const RunOptions& options_;
  uint64_t threads_ = 1;
  uint64_t rows_ = 0;
  std::vector<Part> parts_;
  std::vector<size_t> order_;  // of being started
  std::vector<std::unique_ptr<SharedChunk>> shared_;
};

}  // namespace basalt::exec
