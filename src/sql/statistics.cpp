// Footers as DuckDB's statistics. Everything here is a promise that the optimizer acts on, so that what is not exact is
// left unknown. DuckDB sizes tables by the bounds of integers and indexes them by values: that these keep the promise
// is looked at again as they leave the scan, since a footer may lie.
#include "sql/statistics.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/exec/pipeline.h"
#include "core/dispatch.h"
#include "core/distinct_names.h"
#include "duckdb/common/string_util.hpp"
#include "duckdb/storage/statistics/numeric_stats.hpp"
#include "duckdb/storage/statistics/string_stats.hpp"
#include "exec/loops.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/types.h"
#include "utf8proc_wrapper.hpp"

namespace basalt::sql {

using duckdb::BaseStatistics;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

// Opening more files than this for the optimizer alone costs more than its decisions are worth.
constexpr size_t kMaxFilesForStatistics = 64;

bool has_numeric_statistics(const LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
    case LogicalTypeId::UUID: return false;
    default: return BaseStatistics::GetStatsType(type) == duckdb::StatisticsType::NUMERIC_STATS;
  }
}

bool is_text(const std::string& bytes) {
  return duckdb::Utf8Proc::Analyze(bytes.data(), bytes.size()) != duckdb::UnicodeType::INVALID;
}

BaseStatistics string_statistics(const LogicalType& type, const Statistics& stats) {
  auto result = duckdb::StringStats::CreateUnknown(type);
  const bool text = type.id() == LogicalTypeId::VARCHAR;
  if (!stats.min.null && (!text || is_text(stats.min.bytes))) {
    duckdb::StringStats::SetMin(result, duckdb::string_t(stats.min.bytes));
  }
  if (!stats.max.null && (!text || is_text(stats.max.bytes))) {
    duckdb::StringStats::SetMax(result, duckdb::string_t(stats.max.bytes));
  }
  return result;
}

// Statistics that contradict themselves say nothing.
bool has_bounds(const Statistics& stats) {
  return !stats.min.null && !stats.max.null && compare(stats.min, stats.max) <= 0;
}

// Differences whose top bits are clear prove that a value lies inside: of what lies outside, one of the two is
// negative or wraps around. Wide ranges set them for values inside, too, and slots under NULLs may hold anything: then
// all are compared, and only of those outside it is asked whether they are NULL. (Comparing takes 1 ns per BIGINT;
// baseline x86 has no vectors for it.)
template <typename T>
bool all_inside(const Column& column, T low, T high) {
  using U = typename exec::UnsignedOf<T>::type;
  const T* values = column.values.as<T>();
  U outside = 0;
  for (uint64_t row = 0; row < column.length; ++row) {
    const U below = static_cast<U>(static_cast<U>(values[row]) - static_cast<U>(low));
    const U above = static_cast<U>(static_cast<U>(high) - static_cast<U>(values[row]));
    outside = static_cast<U>(outside | below | above);
  }
  if (outside >> (sizeof(T) * 8 - 1) == 0) return true;
  bool any_outside = false;
  for (uint64_t row = 0; row < column.length; ++row) any_outside |= (values[row] < low) | (values[row] > high);
  if (!any_outside) return true;
  for (uint64_t row = 0; row < column.length; ++row) {
    if ((values[row] < low || values[row] > high) && column.is_valid(row)) return false;
  }
  return true;
}

// One file as a partition: DuckDB answers min and max from it where they are exact.
struct FilePartition : duckdb::PartitionRowGroup {
  FilePartition(std::shared_ptr<const File> opened, const duckdb::MultiFileBindData& bind)
      : file(std::move(opened)), bind_data(bind) {}

  int column_of(const duckdb::StorageIndex& index) const {
    const duckdb::idx_t column = index.GetPrimaryIndex();
    if (column >= bind_data.names.size() || comes_from_path(bind_data, column) || index.HasChildren()) return -1;
    const int found = find_column(*file, bind_data.names[column]);
    if (found < 0) return -1;
    const Field& field = file->schema().fields[static_cast<size_t>(found)];
    return to_logical_type(field) == bind_data.types[column] ? found : -1;
  }

  duckdb::unique_ptr<BaseStatistics> GetColumnStatistics(const duckdb::StorageIndex& index) override {
    const int column = column_of(index);
    return column < 0 ? nullptr : column_statistics(*file, static_cast<uint32_t>(column));
  }

  bool MinMaxIsExact(const BaseStatistics& stats, const duckdb::StorageIndex& index) override {
    const int column = column_of(index);
    if (column < 0 || stats.GetStatsType() != duckdb::StatisticsType::NUMERIC_STATS) return false;
    const Statistics& own = file->column(file->schema().fields[static_cast<size_t>(column)].id).stats;
    return own.min_exact && own.max_exact && !own.has_nan && has_bounds(own);
  }

  std::shared_ptr<const File> file;
  const duckdb::MultiFileBindData& bind_data;
};

}  // namespace

int find_column(const File& file, const std::string& name) {
  const auto& fields = file.schema().fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (duckdb::StringUtil::CIEquals(fields[i].name, name)) return static_cast<int>(i);
  }
  // No field is stored under this name: it may have been given to one whose own name is taken.
  const std::vector<std::string> names = distinct_names(fields);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& other) { return duckdb::StringUtil::CIEquals(other, name); });
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

duckdb::unique_ptr<BaseStatistics> column_statistics(const File& file, uint32_t column) {
  const Field& field = file.schema().fields.at(column);
  if (!field.children.empty()) return nullptr;
  const Statistics& stats = file.column(field.id).stats;
  const LogicalType type = to_logical_type(field);
  duckdb::unique_ptr<BaseStatistics> result;
  if (field.type.kind == TypeKind::kUtf8 || field.type.kind == TypeKind::kBinary) {
    result = string_statistics(type, stats).ToUnique();
  } else if (has_numeric_statistics(type)) {
    auto numeric = duckdb::NumericStats::CreateUnknown(type);
    if (!needs_rescale(field.type) && has_bounds(stats)) {
      duckdb::NumericStats::SetMin(numeric, to_duckdb_value(stats.min, type));
      // NaN is above everything in SQL, and not part of our maximum.
      if (!stats.has_nan) duckdb::NumericStats::SetMax(numeric, to_duckdb_value(stats.max, type));
    }
    result = numeric.ToUnique();
  } else {
    result = BaseStatistics::CreateUnknown(type).ToUnique();
  }
  result->Set(duckdb::StatsInfo::CAN_HAVE_NULL_AND_VALID_VALUES);
  if (stats.null_count == 0) {
    result->Set(duckdb::StatsInfo::CANNOT_HAVE_NULL_VALUES);
  } else if (stats.null_count == file.rows()) {
    result->Set(duckdb::StatsInfo::CANNOT_HAVE_VALID_VALUES);
  }
  if (stats.distinct > 0) result->SetDistinctCount(std::min(stats.distinct, file.rows()));
  return result;
}

void check_promises(const File& file, const Field& field, const Column& column) {
  if (!field.children.empty() || column.length == 0) return;
  const Statistics& stats = file.statistics(field.id);
  bool kept = (stats.null_count != 0 || column.null_count == 0) &&
              (stats.null_count != file.rows() || column.null_count == column.length);
  const Physical physical = physical_of(field.type);
  if (is_integer(physical) && field.type.kind != TypeKind::kBool && has_bounds(stats)) {
    kept = kept && dispatch_typed(physical, [&](auto tag) {
             using T = decltype(tag);
             if constexpr (std::is_floating_point_v<T>) {
               return true;
             } else {
               return all_inside<T>(column, static_cast<T>(stats.min.integer), static_cast<T>(stats.max.integer));
             }
           });
  }
  if (kept) return;
  throw Error(ErrorCode::kCorrupt,
              file.name() + ": column " + field.name +
                  ": its values break the statistics in the footer; basalt verify says where the file is damaged");
}

std::vector<std::shared_ptr<const File>> open_files(duckdb::ClientContext& context,
                                                    const duckdb::MultiFileBindData& bind_data, size_t limit) {
  const auto& own = bind_data.bind_data->Cast<ScanBindData>();
  if (own.opened_list == bind_data.file_list) {
    return own.opened.size() > limit ? std::vector<std::shared_ptr<const File>>{} : own.opened;
  }
  if (bind_data.file_list->GetTotalFileCount() > limit) return {};
  std::vector<std::shared_ptr<const File>> files;
  for (const auto& file : bind_data.file_list->GetAllFiles()) files.push_back(FileCache::open(context, file.path));
  own.opened = files;
  own.opened_list = bind_data.file_list;
  return files;
}

bool comes_from_path(const duckdb::MultiFileBindData& bind_data, duckdb::idx_t column) {
  const auto& bind = bind_data.reader_bind;
  if (bind.filename_idx.IsValid() && bind.filename_idx.GetIndex() == column) return true;
  for (const auto& partition : bind.hive_partitioning_indexes) {
    if (partition.index == column) return true;
  }
  return false;
}

duckdb::unique_ptr<BaseStatistics> scan_statistics(duckdb::ClientContext& context,
                                                   const duckdb::FunctionData* function_data, duckdb::column_t column) {
  const auto& bind_data = function_data->Cast<duckdb::MultiFileBindData>();
  if (duckdb::IsVirtualColumn(column) || comes_from_path(bind_data, column)) return nullptr;
  return guarded(context, [&]() -> duckdb::unique_ptr<BaseStatistics> {
    duckdb::unique_ptr<BaseStatistics> merged;
    for (const auto& file : open_files(context, bind_data, kMaxFilesForStatistics)) {
      const int found = find_column(*file, bind_data.names[column]);
      if (found < 0) return nullptr;
      auto stats = column_statistics(*file, static_cast<uint32_t>(found));
      if (!stats || stats->GetType() != bind_data.types[column]) return nullptr;
      if (merged) {
        merged->Merge(*stats);
      } else {
        merged = std::move(stats);
      }
    }
    return merged;
  });
}

duckdb::vector<duckdb::PartitionStatistics> scan_partition_statistics(duckdb::ClientContext& context,
                                                                      duckdb::GetPartitionStatsInput& input) {
  const auto& bind_data = input.bind_data->Cast<duckdb::MultiFileBindData>();
  // Footers tell of all rows.
  if (!bind_data.bind_data->Cast<ScanBindData>().options->all_rows()) return {};
  return guarded(context, [&] {
    duckdb::vector<duckdb::PartitionStatistics> partitions;
    for (auto& file : open_files(context, bind_data, kMaxFilesForStatistics)) {
      duckdb::PartitionStatistics partition;
      partition.count = file->rows();
      partition.count_type = duckdb::CountType::COUNT_EXACT;
      partition.partition_row_group = duckdb::make_shared_ptr<FilePartition>(std::move(file), bind_data);
      partitions.push_back(std::move(partition));
    }
    return partitions;
  });
}

}  // namespace basalt::sql
