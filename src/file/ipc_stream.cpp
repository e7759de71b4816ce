// A .basalt file as an Arrow stream: the bridge from chunks to batches.
#include "basalt/file/ipc.h"

namespace basalt {

void stream_file(std::shared_ptr<const File> file, const std::vector<std::string>& columns, ArrowArrayStream* out) {
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
  auto next = [file = std::move(file), schema, indices, chunk = uint32_t{0}]() mutable -> std::unique_ptr<Table> {
    if (chunk == file->chunks().size()) return nullptr;
    auto table = std::make_unique<Table>();
    table->schema = schema;
    table->rows = file->chunks()[chunk].rows;
    for (const uint32_t index : indices) table->columns.push_back(file->decode_column(index, chunk));
    ++chunk;
    return table;
  };
  export_stream(schema, std::move(next), out);
}

}  // namespace basalt
