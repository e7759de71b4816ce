// What a scan will read of a file that is far away: statistics leave out the chunks of which no row can pass.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "basalt/file/remote_source.h"

namespace basalt::exec {

// As plan_chunks(). `columns`: field ids. `filter` refers to `filter_columns`; nullptr: all rows pass. Rows [first_row,
// end_row) of the file are read.
std::shared_ptr<const RemoteSource::Plan> plan_reads(const File& file, std::vector<uint32_t> columns,
                                                     const Expr* filter,
                                                     const std::vector<PipelineColumn>& filter_columns,
                                                     uint64_t first_row = 0, uint64_t end_row = ~uint64_t{0});

// Of a file: made when the first of its chunks is read, since it needs the metadata of columns.
struct PlannedFile {
  std::once_flag once;
  std::shared_ptr<const RemoteSource::Plan> plan;
};

}  // namespace basalt::exec
