#include "exec/device/generate/file_shapes.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace basalt::device {

namespace {

void add_reader(std::vector<DeviceReader>& list, const DeviceReader& reader) {
  if (std::find(list.begin(), list.end(), reader) == list.end()) list.push_back(reader);
}

FileShapes find_shapes(const ColumnInfo& column, bool as_codes) {
  FileShapes shapes;
  for (const ColumnChunkInfo& chunk : column.chunks) {
    if (chunk.nodes.empty()) {
      shapes.lacks_values = true;
      return shapes;
    }
    const NodeView root = shape_of(chunk);
    const ChunkReaders readers = readers_of(root, as_codes);
    shapes.chunk_words = std::max(shapes.chunk_words, descriptor_words(root));
    add_reader(shapes.values, readers.values);
    shapes.value_words = std::max(shapes.value_words, descriptor_words(*readers.value_node));
    if (root.type == Physical::kBytes && !as_codes) shapes.texts.push_back(*readers.value_node);
    if (readers.validity_node == nullptr) continue;
    add_reader(shapes.validity, readers.validity);
    shapes.validity_words = std::max(shapes.validity_words, descriptor_words(*readers.validity_node));
  }
  return shapes;
}

class FileShapesCache {
 public:
  using Column = std::pair<uint32_t, bool>;  // field, as codes

  std::shared_ptr<const FileShapes> find(const std::shared_ptr<const File>& file, const Column& column) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(file.get());
    if (found == files_.end() || found->second.file.lock() != file) return nullptr;
    const auto shapes = found->second.columns.find(column);
    return shapes == found->second.columns.end() ? nullptr : shapes->second;
  }
  void put(const std::shared_ptr<const File>& file, const Column& column, std::shared_ptr<const FileShapes> shapes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [](const auto& entry) { return entry.second.file.expired(); });
    Entry& entry = files_[file.get()];
    entry.file = file;
    entry.columns[column] = std::move(shapes);
  }

 private:
  struct Entry {
    std::weak_ptr<const File> file;
    std::map<Column, std::shared_ptr<const FileShapes>> columns;
  };
  std::mutex mutex_;
  std::map<const File*, Entry> files_;
};

}  // namespace

std::shared_ptr<const FileShapes> file_shapes(const std::shared_ptr<const File>& file, uint32_t field_id,
                                              bool as_codes) {
  static FileShapesCache cache;
  if (auto known = cache.find(file, {field_id, as_codes})) return known;
  auto shapes = std::make_shared<const FileShapes>(find_shapes(file->column(field_id), as_codes));
  cache.put(file, {field_id, as_codes}, shapes);
  return shapes;
}

}  // namespace basalt::device
