// See ZipflowFiles in bench_zipflow.h.
#include <fmt/format.h>

#include <algorithm>

#include "basalt/file/writer.h"
#include "cli/bench_zipflow.h"
#include "core/output_file.h"

namespace basalt::cli {
namespace {

Column column_of(const gen::ZipflowColumn& from, uint64_t begin, uint64_t end) {
  const Values values = from.values(begin, end);
  Column out;
  out.type = values.type == Physical::kBytes ? DataType::varchar() : DataType::bigint();
  out.length = values.count;
  if (values.type != Physical::kBytes) {
    out.values.append(values.data, values.count * sizeof(int64_t));
    return out;
  }
  for (uint64_t i = 0; i <= values.count; ++i) out.offsets.push(values.offsets[i] - values.offsets[0]);
  out.bytes.append(values.bytes + values.offsets[0],
                   static_cast<size_t>(values.offsets[values.count] - values.offsets[0]));
  return out;
}

}  // namespace

ZipflowFiles::ZipflowFiles(std::span<const gen::ZipflowColumn> columns, uint32_t threads)
    : folder_(PrivateFolder::unused_name(temporary_folder(), "basalt-zipflow")) {
  std::map<std::string, std::vector<const gen::ZipflowColumn*>> tables;
  for (const gen::ZipflowColumn& column : columns) tables[column.plan().table].push_back(&column);
  for (const auto& [name, members] : tables) {
    const uint64_t all_rows = members.front()->rows();
    if (all_rows == 0) continue;
    Schema schema;
    for (const gen::ZipflowColumn* column : members) {
      Field& field = schema.fields.emplace_back();
      field.name = column->plan().column;
      field.type = column_of(*column, 0, 0).type;
      field.nullable = false;
    }
    WriteOptions options;
    options.threads = threads;
    options.purpose = Purpose::kDisk;
    options.wrap_small = false;
    options.durable = false;
    const std::string path = fmt::format("{}/{}.basalt", folder_.path(), name);
    Writer writer(path, schema, options);
    for (uint64_t begin = 0; begin < all_rows; begin += kMaxChunkRows) {
      Table rows{schema, std::min<uint64_t>(kMaxChunkRows, all_rows - begin), {}};
      for (const gen::ZipflowColumn* column : members)
        rows.columns.push_back(column_of(*column, begin, begin + rows.rows));
      writer.append(std::move(rows));
    }
    writer.finish();
    files_[name] = File::open(path);
  }
}

ZipflowFiles::StoredColumn ZipflowFiles::read(const gen::ZipflowPlan& plan) const {
  const File& file = *files_.at(plan.table);
  const uint32_t field = file.find_column(plan.column);
  const ColumnInfo& info = file.column(field);
  StoredColumn out;
  out.trees = fmt::format("{}", fmt::join(info.encodings, "; "));
  out.bytes = info.encoded_bytes - info.shared_bytes;
  out.chunks = file.read_chunks(field, 0, static_cast<uint32_t>(info.chunks.size()));
  return out;
}

}  // namespace basalt::cli
