// A .basalt file as an Arrow stream: the bridge from chunks to batches.
#include "basalt/file/ipc.h"

#include "file/decoded_size.h"

namespace basalt {

namespace {

std::vector<Column> decode_chunk(const File& file, const std::vector<uint32_t>& columns, uint32_t chunk,
                                 DecodeLimits left) {
  std::vector<Column> out;
  for (const uint32_t column : columns) {
    out.push_back(file.decode_column(column, chunk, left));
    take_decoded(left, file, file.schema().fields[column], chunk, out.back());
  }
  return out;
}

}  // namespace

void stream_file(std::shared_ptr<const File> file, const std::vector<std::string>& columns, ArrowArrayStream* out,
                 const DecodeLimits& limits) {
  Schema schema;
  std::vector<uint32_t> indices;
  if (columns.empty()) {
    schema = file->schema();
    for (uint32_t i = 0; i < schema.fields.size(); ++i) indices.push_back(i);
  }
  for (const std::string& name : columns) {
    indices.push_back(file->find_column(name));
    schema.fields.push_back(file->schema().fields[indices.back()]);
  }
  auto next = [file = std::move(file), schema, indices, limits,
               chunk = uint32_t{0}]() mutable -> std::unique_ptr<Table> {
    if (chunk == file->chunks().size()) return nullptr;
    auto table = std::make_unique<Table>();
    table->schema = schema;
    table->rows = file->chunks()[chunk].rows;
    table->columns = decode_chunk(*file, indices, chunk++, limits);
    return table;
  };
  export_stream(schema, std::move(next), out);
}

}  // namespace basalt
