// Keys of chunks on a device: whatever the metadata says of an array is part of them, so that no file can pass its
// chunks off as those of another one under the same name, place and checksums.
#include "exec/chunk_key.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "exec/tables.h"
#include "support/crafted_file.h"

namespace basalt::test {
namespace {

std::shared_ptr<File> open(const std::vector<std::byte>& bytes) {
  Buffer buffer;
  buffer.append(bytes.data(), bytes.size());
  return File::open(memory_source(std::move(buffer), "one name"));
}

std::vector<std::byte> bytes_of_table(const TestTable& table) {
  std::ifstream in(table.path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
  return bytes_of(chars);
}

TestTable words() {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back("text " + std::to_string(i % 700));
  std::vector<Column> columns;
  columns.push_back(make_strings(texts));
  return write_table(std::move(columns), {"dict(packed, strings(packed, plain))"});
}

TEST(ChunkKeys, HoldCountsParametersAndLengths) {
  const std::vector<std::byte> bytes = bytes_of_table(words());
  const auto file = open(bytes);
  const exec::ChunkKey key = exec::key_of(*file, 0, 0);
  EXPECT_EQ(key, exec::key_of(*open(bytes), 0, 0));
  const size_t nodes = CraftedFile(bytes).columns[0].metadata.arrays->nodes.size();
  ASSERT_EQ(nodes, 5u);
  for (size_t node = 1; node < nodes; ++node) {
    CraftedFile crafted(bytes);
    format::Node& record = crafted.columns[0].metadata.arrays->nodes[node];
    record = format::Node(record.count() - 1, record.param_bytes(), record.stream_count());
    const std::vector<std::byte> other = crafted.seal();
    ASSERT_EQ(other.size(), CraftedFile(bytes).seal().size());
    EXPECT_FALSE(exec::key_of(*open(CraftedFile(bytes).seal()), 0, 0) == exec::key_of(*open(other), 0, 0)) << node;
  }
}

TEST(ChunkKeys, OfDictionariesHoldEverythingThatDescribesTheirEntries) {
  const TestTable table = words();
  const ColumnChunkInfo& info = table.file->column(0).chunks[0];
  const auto key = exec::dictionary_key(info);
  ASSERT_TRUE(key);
  const std::vector<std::pair<const char*, std::function<void(ColumnChunkInfo&)>>> changes = {
      {"count", [](auto& i) { ++i.nodes[2].count; }},
      {"count of a child", [](auto& i) { ++i.nodes[4].count; }},
      {"codec", [](auto& i) { i.nodes[3].codec_name = "plain"; }},
      {"version", [](auto& i) { ++i.nodes[3].codec_version; }},
      {"type", [](auto& i) { i.nodes[3].type = Physical::kU64; }},
      {"parameters", [](auto& i) { i.nodes[4].params.push_back(std::byte{1}); }},
      {"length", [](auto& i) { ++i.nodes[4].streams[1].length; }},
      {"checksum", [](auto& i) { ++i.checksums.back(); }},
      {"where a name ends",
       [](auto& i) {
         i.nodes[3].codec_name += "x";
         i.nodes[3].params.push_back(std::byte{0});
       }},
  };
  for (const auto& [name, change] : changes) {
    ColumnChunkInfo other = info;
    change(other);
    EXPECT_FALSE(exec::dictionary_key(other) == key) << name;
  }
  // The same entries at another place are the same entries.
  ColumnChunkInfo moved = info;
  for (NodePlace& node : moved.nodes) {
    for (StreamPlace& stream : node.streams) stream.offset += 4096;
  }
  EXPECT_TRUE(exec::dictionary_key(moved) == key);
}

}  // namespace
}  // namespace basalt::test
