// Statistics decide zones; a scan without a filter leaves all rows.
#include "exec/rows_left.h"

#include <algorithm>

#include "exec/zone_filter.h"

namespace basalt::exec {

uint64_t rows_left(const Pipeline& scan, uint64_t most) {
  ZoneFilter filter(scan.has_filter ? &scan.filter : nullptr);
  std::vector<const ColumnChunkInfo*> columns;
  uint64_t rows = 0;
  for (const auto& file : scan.files) {
    for (uint32_t chunk = 0; chunk < file->chunks().size() && rows <= most; ++chunk) {
      const uint64_t chunk_rows = file->chunks()[chunk].rows;
      columns.clear();
      for (const PipelineColumn& column : scan.columns)
        columns.push_back(&file->column(column.field_id).chunks.at(chunk));
      uint64_t first = 0;
      for (const Decision zone : filter.decide_zones(columns, chunk_rows)) {
        if (zone != Decision::kNone) rows += std::min<uint64_t>(kZoneRows, chunk_rows - first);
        first += kZoneRows;
      }
    }
  }
  return rows;
}

}  // namespace basalt::exec
