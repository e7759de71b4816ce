#include "exec/planned_reads.h"

#include <algorithm>

#include "exec/zone_filter.h"
#include "file/planned_reads.h"

namespace basalt::exec {

namespace {

bool may_pass(ZoneFilter& filter, const File& file, const std::vector<PipelineColumn>& columns, uint32_t chunk) {
  std::vector<const ColumnChunkInfo*> known;
  for (const PipelineColumn& column : columns) known.push_back(&file.column(column.field_id).chunks.at(chunk));
  const std::vector<Decision>& zones = filter.decide_zones(known, file.chunks()[chunk].rows);
  return std::any_of(zones.begin(), zones.end(), [](Decision zone) { return zone != Decision::kNone; });
}

}  // namespace

std::shared_ptr<const RemoteSource::Plan> plan_reads(const File& file, std::vector<uint32_t> columns,
                                                     const Expr* filter,
                                                     const std::vector<PipelineColumn>& filter_columns,
                                                     uint64_t first_row, uint64_t end_row) {
  if (!is_remote(file)) return nullptr;
  for (const PipelineColumn& column : filter_columns) columns.push_back(column.field_id);
  ZoneFilter zones(filter);
  std::vector<uint32_t> chunks;
  for (uint32_t chunk = 0; chunk < file.chunks().size(); ++chunk) {
    const ChunkInfo& rows = file.chunks()[chunk];
    if (rows.first_row + rows.rows <= first_row || rows.first_row >= end_row) continue;
    if (filter == nullptr || may_pass(zones, file, filter_columns, chunk)) chunks.push_back(chunk);
  }
  return plan_chunks(file, columns, chunks);
}

}  // namespace basalt::exec
