#include "exec/wanted_chunks.h"

#include "basalt/core/error.h"

namespace basalt::exec {

namespace {

constexpr uint64_t kBytesPerDecodedRow = 80;

}  // namespace

const ColumnChunkInfo& ChunkToLoad::info() const {
  const ColumnInfo& column = file->column(field_id);
  if (chunk >= column.chunks.size() || column.chunks[chunk].rows != file->chunks().at(chunk).rows) {
    throw Error(ErrorCode::kCorrupt, file->name() + ": column " + column.path + " has other rows than its table");
  }
  return column.chunks[chunk];
}

std::string ChunkToLoad::name() const {
  return file->name() + ": column " + file->path(field_id) + ": chunk " + std::to_string(chunk);
}

std::vector<WantedChunk> wanted_chunks(const FileList& files, const std::vector<uint32_t>& fields,
                                       const std::vector<uint64_t>& firsts, const std::vector<uint64_t>& below) {
  std::vector<WantedChunk> out;
  for (size_t column = 0; column < fields.size(); ++column) {
    size_t place = 0;
    for (const auto& file : files) {
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk, ++place) {
        const uint64_t count = below.at(place + 1) - below.at(place);
        if (count == 0) continue;
        out.push_back({{file, fields[column], chunk}, column, firsts.at(place), below.at(place), count});
      }
    }
  }
  return out;
}

uint64_t bytes_to_decode(const ColumnChunkInfo& info) { return info.plain_bytes + info.rows * kBytesPerDecodedRow; }

std::vector<size_t> batch_ends(const std::vector<uint64_t>& bytes, uint64_t most) {
  std::vector<size_t> ends;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (sum > 0 && (bytes[i] > most || sum > most - bytes[i])) {
      ends.push_back(i);
      sum = 0;
    }
    sum += bytes[i];
  }
  if (!bytes.empty()) ends.push_back(bytes.size());
  return ends;
}

}  // namespace basalt::exec
