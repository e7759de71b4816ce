#include "query/table_facts.h"

#include <algorithm>
#include <vector>

#include "basalt/file/reader.h"

namespace basalt {

namespace {

bool never_repeats(const Statistics& stats) {
  const bool ordered = stats.ascending || stats.descending;
  return ordered && stats.strict && stats.null_count == 0 && !stats.has_nan;
}

bool has_bounds(const Statistics& stats) {
  return !stats.min.null && !stats.max.null && stats.min_exact && stats.max_exact;
}

}  // namespace

uint64_t rows_of(const QueryNode& scan) {
  uint64_t rows = 0;
  for (const auto& file : scan.files) rows += file->rows();
  return rows;
}

bool is_unique(const QueryNode& scan, uint32_t column) {
  const uint32_t field = scan.columns.at(column).field_id;
  std::vector<const Statistics*> files;
  for (const auto& file : scan.files) {
    if (file->rows() == 0) continue;
    files.push_back(&file->statistics(field));
    if (!never_repeats(*files.back())) return false;
  }
  if (files.size() < 2) return true;
  if (!std::ranges::all_of(files, [](const Statistics* stats) { return has_bounds(*stats); })) return false;
  std::ranges::sort(files, [](const auto* a, const auto* b) { return compare(a->min, b->min) < 0; });
  for (size_t i = 1; i < files.size(); ++i) {
    if (compare(files[i - 1]->max, files[i]->min) >= 0) return false;
  }
  return true;
}

double bytes_of_value(const QueryNode& scan, uint32_t column) {
  const uint64_t rows = rows_of(scan);
  if (rows == 0) return 0;
  uint64_t bytes = 0;
  for (const auto& file : scan.files) bytes += file->column(scan.columns.at(column).field_id).plain_bytes;
  return static_cast<double>(bytes) / static_cast<double>(rows);
}

}  // namespace basalt
