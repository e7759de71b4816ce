// Chunks read and checked piece by piece, as they are on their way to the device: the same view as the reader's own,
// and the same refusal of a damaged byte, wherever it lies.
#include "file/load_chunk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "exec/tables.h"

namespace basalt::test {
namespace {

Column numbers(uint64_t rows) {
  Column column;
  column.type = {TypeKind::kInt64, 0, 0, TimeUnit::kMicro};
  column.length = rows;
  column.values.resize(rows * sizeof(int64_t));
  for (uint64_t i = 0; i < rows; ++i) column.values.as<uint64_t>()[i] = i * 0x9E3779B97F4A7C15ull >> 8;
  return column;
}

void expect_same(const NodeView& a, const NodeView& b) {
  ASSERT_EQ(a.streams.size(), b.streams.size());
  for (size_t i = 0; i < a.streams.size(); ++i) {
    ASSERT_EQ(a.streams[i].size(), b.streams[i].size());
    EXPECT_EQ(std::memcmp(a.streams[i].data(), b.streams[i].data(), a.streams[i].size()), 0);
  }
  ASSERT_EQ(a.children.size(), b.children.size());
  for (size_t i = 0; i < a.children.size(); ++i) expect_same(a.children[i], b.children[i]);
}

TEST(LoadChunk, GivesWhatTheReaderGives) {
  // Regions of several blocks, of one, and of less.
  for (const uint64_t rows : {uint64_t{400'000}, uint64_t{131'072}, uint64_t{10}}) {
    const TestTable table = write_table(
        [&] {
          std::vector<Column> columns;
          for (int i = 0; i < 3; ++i) columns.push_back(numbers(rows));
          return columns;
        }(),
        {"plain", "packed", "rle(packed, packed)"});
    for (const PipelineColumn& column : table.pipeline_columns()) {
      const auto& chunks = table.file->column(column.field_id).chunks;
      for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
        Buffer region(static_cast<size_t>(chunks[chunk].region.length));
        std::vector<Buffer> shared;
        const NodeView loaded = load_chunk(*table.file, column.field_id, chunk, region.data(), shared);
        expect_same(loaded, table.file->read_chunk(column.field_id, chunk).root);
      }
    }
  }
}

TEST(LoadChunk, RefusesADamagedByteInEveryBlock) {
  std::vector<Column> columns;
  columns.push_back(numbers(400'000));
  const TestTable table = write_table(std::move(columns), {"plain"});
  const ColumnChunkInfo info = table.file->column(0).chunks[0];
  for (uint64_t at = 5; at < 400'000 * 8; at += 300'000) {
    std::fstream file(table.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(info.region.offset + at));
    const int byte = file.get();
    const auto put = [&](int value) {
      file.seekp(static_cast<std::streamoff>(info.region.offset + at));
      file.put(static_cast<char>(value));
      file.flush();
    };
    put(byte ^ 1);
    Buffer region(static_cast<size_t>(info.region.length));
    std::vector<Buffer> shared;
    EXPECT_THROW(load_chunk(*table.file, 0, 0, region.data(), shared), Error) << at;
    put(byte);
    EXPECT_NO_THROW(load_chunk(*table.file, 0, 0, region.data(), shared)) << at;
  }
}

}  // namespace
}  // namespace basalt::test
